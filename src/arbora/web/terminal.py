"""Draw a dependency tree as text: one word per line, heads to the left of their dependents.

Idea: every word with dependents owns a *spine*, a vertical line from the topmost to the lowest of the
word and its dependents. A word's line starts at its head's spine and runs right, across its own spine,
to its form. A spine stands to the right of its head's, in the first column where no spine of the same
lines stands, so projective trees have no crossings. Where a line of a non-projective tree meets a spine
that is not its own, the spine is drawn through (`─│─`) and the two do not touch.

    ╭───  the topmost dependent on a spine      ──┬──  a word with dependents below it
    ├───  one in the middle                     ──┼──  above and below it
    ╰───  the lowest                            ──┴──  above it
    ╌╌╌╌  the line of a word whose head is uncertain

Where the lines do not fit the width, spines move together; where that is not enough, texts are clipped;
and where even that leaves no room to read, words are listed with the numbers of their heads.
O(n²) time in the worst case, O(n · columns) space; about two characters of width per level of depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arbora.data.tree import Tree, top_down
from arbora.errors import InputError
from arbora.web import THRESHOLD
from arbora.web.writing import cells, clusters, runs_right_to_left, safe_in_terminal

GAP = "  "
ASCII = str.maketrans("─│╭├╰┼┬┴╌", "-|,|'+,'~")
DASHED = str.maketrans("─", "╌")
LEFT_TO_RIGHT = "\u200e"  # a mark without width
LEAST_CELLS = 7
"""A text of this width can still be read when the rest of it is clipped."""
INDENT = "  "
END = "\x1b[0m"
LINE, DOUBT, CROSSING, FORM = "\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[1m"


def draw(
    tree: Tree,
    forms: Sequence[str],
    *,
    notes: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    threshold: float = THRESHOLD,
    every_probability: bool = False,
    width: int | None = None,
    ascii_only: bool = False,
    colour: bool = False,
) -> str:
    r"""Draw `tree` as lines of text, one for each word with its form, its label and its note.

    `forms`, `notes` and `probabilities` (those of the words' heads) have one entry per word. Where a head
    is less probable than `threshold`, the word's line is dashed and the number is shown with a `?`; with
    `every_probability` all are shown. No line is longer than `width` cells. With `ascii_only` the lines
    (not the forms) are plain ASCII; with `colour` there are codes for a terminal around them. The result has
    no newline at its end; characters that could harm a terminal are shown as escapes. Wide characters and
    emoji count two cells.

    >>> tree = Tree.from_heads([2, 0, 2], labels=["nsubj", "root", "obj"])
    >>> print(draw(tree, ["dogs", "chase", "cats"], probabilities=[0.97, 0.99, 0.6]))
      ╭─ dogs   nsubj
    ──┼─ chase  root
      ╰╌ cats   obj    0.60 ?
    """
    for name, column in (("forms", forms), ("notes", notes), ("probabilities", probabilities)):
        if column is not None and len(column) != len(tree):
            raise InputError(f"{name}: expected one per word ({len(tree)}), got {len(column)}")
    if width is not None and width < 1:
        raise InputError(f"width: expected at least 1, got {width}")
    if not 0.0 <= threshold <= 1.0:
        raise InputError(f"threshold: expected a number within [0, 1], got {threshold!r}")
    in_doubt = [False] * len(tree)
    columns = [list(forms), *(list(each) for each in (tree.labels, notes) if each is not None)]
    if probabilities is not None:
        in_doubt = [each < threshold for each in probabilities]
        columns.append(_numbers(probabilities, in_doubt, every_probability=every_probability))
    texts = [[safe_in_terminal(text) for text in column] for column in columns]
    ellipsis = "." if ascii_only else "…"
    lines = _fitted(tree, texts, in_doubt, width, ellipsis)
    if lines is None:
        assert width is not None
        rows = _listed(tree, texts, "<-" if ascii_only else "←")
        return "\n".join(line for row in rows for line in _wrapped(row, width, ellipsis))
    crossing = tree.nonprojective_arcs()[1:].tolist() if colour else in_doubt
    return "\n".join(
        _joined(branches, row, _codes(doubt, crosses) if colour else None, ascii_only=ascii_only)
        for (branches, row), doubt, crosses in zip(lines, in_doubt, crossing, strict=True)
    )


def _numbers(
    probabilities: Sequence[float], in_doubt: Sequence[bool], *, every_probability: bool
) -> list[str]:
    return [
        f"{each:.2f} ?" if doubt else f"{each:.2f}" if every_probability else ""
        for each, doubt in zip(probabilities, in_doubt, strict=True)
    ]


def _fitted(
    tree: Tree, texts: list[list[str]], in_doubt: Sequence[bool], width: int | None, ellipsis: str
) -> list[tuple[str, list[str]]] | None:
    """Each word's branches and padded texts, within the width; None if nothing readable fits."""
    widths = [max(map(cells, column), default=0) for column in texts]
    for step in (2, 1):
        branches = _branches(tree, in_doubt, step)
        taken = max(map(len, branches), default=0) + 1 + len(GAP) * (len(texts) - 1)
        fitting = _shrunk(widths, None if width is None else width - taken, clip=step == 1)
        if fitting is not None:
            columns = [_padded(column, to, ellipsis) for column, to in zip(texts, fitting, strict=True)]
            return list(zip(branches, map(list, zip(*columns, strict=True)), strict=True))
    return None


def _shrunk(widths: list[int], room: int | None, *, clip: bool) -> list[int] | None:
    """The widths of columns within the room, the widest clipped first; None if they do not fit."""
    if room is None or sum(widths) <= room:
        return widths
    if not clip or sum(min(each, LEAST_CELLS) for each in widths) > room:
        return None
    shrunk = [min(each, room) for each in widths]
    while sum(shrunk) > room:
        shrunk[shrunk.index(max(shrunk))] -= 1
    return shrunk


class _Codes(NamedTuple):
    line: str
    form: str
    rest: str


def _codes(in_doubt: bool, crosses: bool) -> _Codes:
    return _Codes(DOUBT if in_doubt else CROSSING if crosses else LINE, FORM, DOUBT if in_doubt else "")


def _joined(branches: str, row: list[str], codes: _Codes | None, *, ascii_only: bool) -> str:
    """One line; text that runs right to left is kept from moving what stands around it."""
    lines = branches.translate(ASCII) if ascii_only else branches
    turned = any(map(runs_right_to_left, row))
    form, *rest = [text + LEFT_TO_RIGHT if runs_right_to_left(text) else text for text in row]
    after = GAP.join(rest).rstrip()
    form = form if after else form.rstrip()
    if codes is not None:
        lines, form = f"{codes.line}{lines}{END}", f"{codes.form}{form}{END}"
        after = f"{codes.rest}{after}{END}" if codes.rest and after else after
    line = f"{lines} {form}{GAP}{after}" if after else f"{lines} {form}"
    return LEFT_TO_RIGHT + line if turned else line


class _Spine(NamedTuple):
    column: int
    top: int
    bottom: int

    def covers(self, row: int) -> bool:
        return self.top <= row <= self.bottom


def _branches(tree: Tree, in_doubt: Sequence[bool], step: int) -> list[str]:
    """What stands before each word: strings of one length, spines `step` cells apart."""
    heads = tree.heads.tolist()
    spines = _spines(heads)
    columns = 1 + max((spine.column for spine in spines.values()), default=0)
    lines = []
    for word in range(1, len(heads)):
        cells = [" "] * (step * (columns - 1) + 2)
        start = step * spines[heads[word]].column
        cells[start:] = ("╌" if in_doubt[word - 1] else "─") * (len(cells) - start)
        for node, spine in spines.items():
            if spine.covers(word):
                joint = _joint(spine, word, node, heads[word])
                cells[step * spine.column] = joint.translate(DASHED) if in_doubt[word - 1] else joint
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


def _padded(column: list[str], width: int, ellipsis: str) -> list[str]:
    shown = [_clipped(text, width, ellipsis) for text in column]
    return [text + " " * (width - cells(text)) for text in shown]


def _clipped(text: str, width: int, ellipsis: str) -> str:
    """At most so many cells, the last an ellipsis where some text is left out."""
    if cells(text) <= width:
        return text
    kept, room = "", width - 1
    for cluster in clusters(text):
        room -= cells(cluster)
        if room < 0:
            break
        kept += cluster
    return kept + ellipsis if width else ""


def _listed(tree: Tree, texts: list[list[str]], arrow: str) -> Iterator[str]:
    """Words with their numbers and those of their heads."""
    heads = tree.heads.tolist()[1:]
    for word, (head, (form, *rest)) in enumerate(zip(heads, zip(*texts, strict=True), strict=True), start=1):
        mark = LEFT_TO_RIGHT if runs_right_to_left(form) else ""
        yield " ".join(filter(None, (f"{mark}{word}", form + mark, f"{arrow} {head}", *rest)))


def _wrapped(text: str, width: int, ellipsis: str) -> Iterator[str]:
    """The text in lines of at most so many cells, broken at spaces where it can be."""
    line, indent = "", INDENT if width > 4 * len(INDENT) else ""
    for word in text.split(" "):
        if line.strip() and cells(line) + 1 + cells(word) > width:
            yield line
            line = indent
        line += " " if line.strip() else ""
        for cluster in clusters(word):
            size = cells(cluster)
            if cells(line) + size > width and line.strip():
                yield line
                line = indent
            line += cluster if size <= width else ellipsis
    yield line
