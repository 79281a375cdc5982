"""Writes the measured tables of the guide from stored results.

    python scripts/tables.py                  write all tables into their pages
    python scripts/tables.py --check          exit status 1 where a page is not up to date
    COMMAND | python scripts/tables.py --store NAME --command 'COMMAND'

A result is docs/results/NAME.json: the command that printed it, the columns, and the rows. A page shows it
between `<!-- table: NAME -->` and `<!-- end -->`. `--store` reads a Markdown table, or a JSON list of objects
with the same keys, from standard input.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(<!-- table: ([\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"[-+–]?[\d.,]+( ?[%×a-zA-Z/]+)?")


def parse_markdown(text: str) -> tuple[list[str], list[list[str]]]:
    """Read the first Markdown table of a text: columns, rows."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    if len(lines) < 3:
        sys.exit("tables: expected a Markdown table on standard input, got none")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    columns, rows = cells[0], cells[2:]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns):
            sys.exit(f"tables: row {number}: expected {len(columns)} cells, got {len(row)}")
    return columns, rows


def store(name: str, command: str, text: str) -> None:
    """Store a table under a name."""
    if text.lstrip().startswith("["):
        objects = json.loads(text)
        columns = list(objects[0])
        rows = [["" if each[key] is None else str(each[key]) for key in columns] for each in objects]
    else:
        columns, rows = parse_markdown(text)
    result = {"command": command, "columns": columns, "rows": rows}
    path = DOCS / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def render(result: dict[str, Any]) -> str:
    """Draw a table in Markdown; columns of numbers are aligned to the right."""
    columns, rows = result["columns"], result["rows"]
    rights = [
        all(NUMBER.match(row[at]) for row in rows if row[at] not in ("", "–")) and at > 0
        for at in range(len(columns))
    ]
    lines = [columns, ["---:" if right else "---" for right in rights], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def write(page: Path, *, check: bool) -> bool:
    """Write the tables of a page; whether it was up to date."""
    text = page.read_text(encoding="utf-8")

    def table(match: re.Match[str]) -> str:
        result = json.loads((DOCS / "results" / f"{match[2]}.json").read_text(encoding="utf-8"))
        return match[1] + render(result) + match[3]

    made = BLOCK.sub(table, text)
    if made != text and not check:
        page.write_text(made, encoding="utf-8")
    return made == text


def main() -> None:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--check", action="store_true", help="write nothing; exit status 1 if a page is out of date"
    )
    options.add_argument("--store", metavar="NAME", help="store the table on standard input under this name")
    options.add_argument("--command", default="", help="the command that printed it")
    given = options.parse_args()
    if given.store:
        store(given.store, given.command, sys.stdin.read())
    pages = [*sorted(DOCS.glob("**/*.md")), DOCS.parent / "README.md"]
    old = [page for page in pages if not write(page, check=given.check)]
    if given.check and old:
        sys.exit(f"tables: not up to date: {', '.join(page.name for page in old)}; run scripts/tables.py")


if __name__ == "__main__":
    main()
