"""Checks the prose of README and guide: python scripts/prose.py [PAGE...]

Sentence length on the first pages, phrases that scripts/prose.toml rejects, and proselint's checks if it is
installed. Code, tables and links' addresses are not prose. Prints `page:line: problem`; exit status 1 if any.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STYLE = tomllib.loads((ROOT / "scripts" / "prose.toml").read_text(encoding="utf-8"))
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")
GENERATED = "docs/api"
CODE = re.compile(r"^```.*?^```|^<!--.*?-->", re.MULTILINE | re.DOTALL)
CHECKED = (0, 1)
"""Exit statuses of proselint: nothing found, something found; others are failures of its own."""
SENTENCE_END = re.compile(r"(?<=[.!?:])[\"')*]*\s+(?=[A-Z*`(\"0-9])|\n\s*\n|\n(?=\s*(?:[-*#]|\d+\.)\s)")


def prose_of(text: str) -> str:
    """The prose of a page, every line in its place."""
    text = CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = re.sub(r"^ *\|.*$", "", text, flags=re.MULTILINE)  # tables
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)  # formulas
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`[^`]*`", "X", text)


def sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Each sentence with the line that it starts on."""
    start = 0
    for end in [*SENTENCE_END.finditer(prose), None]:
        stop = len(prose) if end is None else end.start()
        part = prose[start:stop]
        if words := part.split():
            yield prose.count("\n", 0, start + len(part) - len(part.lstrip())) + 1, " ".join(words)
        start = stop if end is None else end.end()


def problems(page: Path) -> Iterator[tuple[int, str]]:
    """The style errors of a page."""
    prose = prose_of(page.read_text(encoding="utf-8"))
    limit = STYLE["words"] if str(page.relative_to(ROOT)) in STYLE["first"] else None
    for line, sentence in sentences(prose):
        count = len(sentence.split())
        if limit is not None and count > limit:
            yield line, f"{count} words in a sentence, expected at most {limit}: {sentence[:60]}..."
    for number, line_text in enumerate(prose.splitlines(), start=1):
        for phrase, advice in STYLE["phrases"].items():
            if match := re.search(phrase, line_text):
                yield number, f"{match[0]!r}: write {advice}"


def proselint(pages: list[Path]) -> Iterator[tuple[Path, int, str]]:
    """The errors that proselint finds on the pages."""
    if find_spec("proselint") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps({"checks": STYLE["proselint"]}))
        copies = {}
        for number, page in enumerate(pages):
            copy = Path(folder) / f"{number}.txt"
            copy.write_text(prose_of(page.read_text(encoding="utf-8")), encoding="utf-8")
            copies[copy.name] = page
        command = [
            sys.executable,
            "-m",
            "proselint",
            "check",
            "--config",
            f"{folder}/config.json",
            "-o",
            "compact",
        ]
        done = subprocess.run([*command, *copies], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in CHECKED or done.stderr.strip():
            sys.exit(f"prose: proselint failed with exit status {done.returncode}: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            if match := re.match(r"(.*?):(\d+):\d+: (.*)", line):
                yield copies[Path(match[1]).name], int(match[2]), match[3]


def main() -> None:
    """Check the pages that are named, or all."""
    named = [Path(each).resolve() for each in sys.argv[1:]]
    pages = named or [page for pattern in PAGES for page in sorted(ROOT.glob(pattern))]
    pages = [page for page in pages if not str(page.relative_to(ROOT)).startswith(GENERATED)]
    found = [(page, *each) for page in pages for each in problems(page)] + [*proselint(pages)]
    for page, line, what in sorted(found):
        print(f"{page.relative_to(ROOT)}:{line}: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
