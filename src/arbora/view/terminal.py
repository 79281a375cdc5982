"""Draw a dependency tree as text: one word per line, heads to the left of their dependents.

Idea: every word with dependents owns a *spine*, a vertical line from the topmost to the lowest of the
word and its dependents. A word's line starts at its head's spine and runs right, across its own spine,
to its form. A spine stands to the right of its head's, in the first column where no spine of the same
lines stands, so projective trees have no crossings. Where a line of a non-projective tree meets a spine
that is not its own, the spine is drawn through (`─│─`) and the two do not touch.

    ╭───  the topmost dependent on a spine      ──┬──  a word with dependents below it
    ├───  one in the middle                     ──┼──  above and below it
    ╰───  the lowest                            ──┴──  above it

O(n²) time in the worst case, O(n · columns) space; about two characters of width per level of depth.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from arbora.data.tree import Tree, top_down
from arbora.errors import InputError

GAP = "  "
ASCII = str.maketrans("─│╭├╰┼┬┴", "-|,|'+,'")
# Control characters, surrogates and line breaks could do anything to a terminal; so could text
# that changes its direction.
UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
DIRECTION_CHANGES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def draw(
    tree: Tree,
    forms: Sequence[str],
    *,
    notes: Sequence[str] | None = None,
    width: int | None = None,
    ascii_only: bool = False,
) -> str:
    r"""Draw `tree` as n lines of text, each with a word's form, its label and its note.

    `forms` and `notes` have one entry per word. Lines longer than `width` cells end in `…`; with
    `ascii_only` the lines (not the forms) are plain ASCII. The result has no colour and no newline at
    its end; characters that could harm a terminal are shown as escapes. Wide characters count two cells.

    >>> tree = Tree.from_heads([2, 0, 2], labels=["nsubj", "root", "obj"])
    >>> print(draw(tree, ["dogs", "chase", "cats"]))
      ╭─ dogs   nsubj
    ──┼─ chase  root
      ╰─ cats   obj
    """
    columns = [("forms", forms), ("labels", tree.labels), ("notes", notes)]
    texts = []
    for name, column in columns:
        if column is None:
            continue
        if len(column) != len(tree):
            raise InputError(f"{name}: expected one per word ({len(tree)}), got {len(column)}")
        texts.append(_padded([_shown(text) for text in column]))
    if width is not None and width < 1:
        raise InputError(f"width: expected at least 1, got {width}")
    lines = []
    for branches, *cells in zip_longest(_branches(tree), *texts):
        drawn = branches.translate(ASCII) if ascii_only else branches
        line = f"{drawn} {GAP.join(cells)}".rstrip()
        lines.append(line if width is None else _cropped(line, width, "..." if ascii_only else "…"))
    return "\n".join(lines)


class _Spine(NamedTuple):
    column: int
    top: int
    bottom: int

    def covers(self, row: int) -> bool:
        return self.top <= row <= self.bottom


def _branches(tree: Tree) -> list[str]:
    """What stands before each word: strings of one length."""
    heads = tree.heads.tolist()
    spines = _spines(heads)
    columns = 1 + max((spine.column for spine in spines.values()), default=0)
    lines = []
    for word in range(1, len(heads)):
        cells = [" "] * (2 * columns)
        start = 2 * spines[heads[word]].column
        cells[start:] = "─" * (len(cells) - start)
        for node, spine in spines.items():
            if spine.covers(word):
                cells[2 * spine.column] = _joint(spine, word, node, heads[word])
        lines.append("".join(cells))
    return lines


def _spines(heads: list[int]) -> dict[int, _Spine]:
    """The spine of every node that has dependents; that of node 0 spans the roots alone."""
    dependents: dict[int, list[int]] = {}
    for dep in range(1, len(heads)):
        dependents.setdefault(heads[dep], []).append(dep)
    taken: list[list[_Spine]] = []  # by column
    spines: dict[int, _Spine] = {}
    for node in top_down(heads):
        if node not in dependents:
            continue
        ends = [*dependents[node], *([node] if node else [])]
        column = spines[heads[node]].column + 1 if node else 0
        spine = _Spine(column, min(ends), max(ends))
        while column < len(taken) and any(_overlap(spine, other) for other in taken[column]):
            column += 1
        if column == len(taken):
            taken.append([])
        spines[node] = spine._replace(column=column)
        taken[column].append(spines[node])
    return spines


def _overlap(one: _Spine, other: _Spine) -> bool:
    return one.top <= other.bottom and other.top <= one.bottom


def _joint(spine: _Spine, row: int, owner: int, head: int) -> str:
    above, below = spine.top < row, row < spine.bottom
    if row == owner:
        return "┼" if above and below else "┴" if above else "┬"
    if owner == head:
        return "├" if above and below else "╰" if above else "╭" if below else "─"
    return "│"


def _shown(text: str) -> str:
    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode("ascii")
        if unicodedata.category(character) in UNSAFE_CATEGORIES or character in DIRECTION_CHANGES
        else character
        for character in text
    )


def _cells(text: str) -> int:
    """Width in a terminal: wide East Asian characters take two cells, combining ones none."""
    return sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(column: list[str]) -> list[str]:
    widest = max(map(_cells, column), default=0)
    return [text + " " * (widest - _cells(text)) for text in column]


def _cropped(line: str, width: int, ending: str) -> str:
    if _cells(line) <= width:
        return line
    ending = ending[:width]
    kept, room = "", width - len(ending)
    for character in line:
        room -= _cell(character)
        if room < 0:
            break
        kept += character
    return kept + ending
