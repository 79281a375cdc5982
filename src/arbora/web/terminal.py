"""Draw a dependency tree as text: one word per line, heads to the left of their dependents.

Every word with dependents owns a *spine*, a vertical line from the topmost to the lowest of the word and its
dependents. The line of a word starts at the spine of its head and runs right, across its own spine, to its
form. A spine stands to the right of its head's, in the first column that is free on these lines, so
projective trees have no crossings. A line that meets a foreign spine does not touch it (`─│─`).

    ╭───  the topmost dependent on a spine      ──┬──  a word with dependents below it
    ├───  one in the middle                     ──┼──  above and below it
    ╰───  the lowest                            ──┴──  above it
    ╌╌╌╌  the line of a word with an uncertain head

If the lines do not fit, spines move together, then texts are clipped; if no room to read is left, words are
listed with the numbers of their heads. O(n²) time at worst, about two cells of width per level of depth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from arbora.data.tree import Tree, top_down
from arbora.errors import InputError
from arbora.web import THRESHOLD
from arbora.web.writing import cells, clusters, runs_right_to_left, safe_in_terminal

GAP = "  "
ASCII = str.maketrans("─│╭├╰┼┬┴╌", "-|,|'+,'~")
DASHED = str.maketrans("─", "╌")
LEFT_TO_RIGHT = "\u200e"  # an invisible mark
LEAST_CELLS = 7  # Texts are never clipped below this width
INDENT = "  "
END = "\x1b[0m"
LINE, DOUBT, CROSSING, FORM = "\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[1m"


def draw(
    tree: Tree,
    forms: Sequence[str],
    *,
    notes: Sequence[str] | None = None,
    probabilities: Sequence[float | None] | None = None,
    threshold: float = THRESHOLD,
    every_probability: bool = False,
    width: int | None = None,
    ascii_only: bool = False,
    colour: bool = False,
) -> str:
    r"""Draw `tree` as lines of text, one for each word with its form, its label and its note.

    `forms`, `notes` and `probabilities` (of the heads) have one entry per word. If a head is less probable
    than `threshold`, the line is dashed and the number is shown with a `?`; `every_probability` shows all.
    No line is longer than `width` cells. `ascii_only` draws plain ASCII lines (forms stay as they are),
    `colour` adds escape codes. Characters that could harm a terminal are escaped.

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
    columns = [forms, *(each for each in (tree.labels, notes) if each is not None)]
    if probabilities is not None:
        in_doubt = [p is not None and p < threshold for p in probabilities]
        shown = [p if d or every_probability else None for p, d in zip(probabilities, in_doubt, strict=True)]
        marks = zip(shown, in_doubt, strict=True)
        columns.append(["" if p is None else f"{p:.2f} ?" if d else f"{p:.2f}" for p, d in marks])
    texts = [[safe_in_terminal(text) for text in column] for column in columns]
    ellipsis = "." if ascii_only else "…"
    fitted = _fit(tree, texts, in_doubt, width, ellipsis)
    if fitted is None:
        assert width is not None
        rows = _list_words(tree, texts, "<-" if ascii_only else "←")
        return "\n".join(line for row in rows for line in _wrap(row, width, ellipsis))
    branches, padded = fitted
    if ascii_only:
        branches = [line.translate(ASCII) for line in branches]
    colours: list[tuple[str, str] | None] = [None] * len(tree)
    if colour:
        crossing = tree.nonprojective_arcs()[1:].tolist()
        plain = [(CROSSING if crosses else LINE, "") for crosses in crossing]
        colours = [(DOUBT, DOUBT) if d else each for d, each in zip(in_doubt, plain, strict=True)]
    return "\n".join(map(_join, branches, zip(*padded, strict=True), colours))


def _fit(
    tree: Tree, texts: list[list[str]], in_doubt: Sequence[bool], width: int | None, ellipsis: str
) -> tuple[list[str], list[list[str]]] | None:
    """The branches and padded columns of text within the width; None if nothing readable fits."""
    widths = [max(map(cells, column), default=0) for column in texts]
    for step in (2, 1):
        branches = _branches(tree, in_doubt, step)
        taken = max(map(len, branches), default=0) + 1 + len(GAP) * (len(texts) - 1)
        fitting = _shrink(widths, None if width is None else width - taken, clip=step == 1)
        if fitting is not None:
            columns = zip(texts, fitting, strict=True)
            return branches, [[_pad(text, to, ellipsis) for text in column] for column, to in columns]
    return None


def _shrink(widths: list[int], room: int | None, *, clip: bool) -> list[int] | None:
    """Clip the widest columns until they fit; None if they do not."""
    if room is None or sum(widths) <= room:
        return widths
    if not clip or sum(min(each, LEAST_CELLS) for each in widths) > room:
        return None
    shrunk = [min(each, room) for each in widths]
    while sum(shrunk) > room:
        shrunk[shrunk.index(max(shrunk))] -= 1
    return shrunk


def _pad(text: str, width: int, ellipsis: str) -> str:
    """Clip or pad a text to a width."""
    if cells(text) > width:
        pieces = list(clusters(text))
        ends = accumulate(map(cells, pieces))
        kept = [piece for piece, end in zip(pieces, ends, strict=True) if end < width]
        text = "".join(kept) + ellipsis if width else ""
    return text + " " * (width - cells(text))


def _join(branches: str, row: Sequence[str], colours: tuple[str, str] | None) -> str:
    """One line, in the colours of lines and notes. Marks keep right-to-left text from moving the rest."""
    form, *rest = [text + LEFT_TO_RIGHT if runs_right_to_left(text) else text for text in row]
    after = GAP.join(rest).rstrip()
    form = form if after else form.rstrip()
    if colours is not None:
        line_colour, note_colour = colours
        branches, form = f"{line_colour}{branches}{END}", f"{FORM}{form}{END}"
        after = f"{note_colour}{after}{END}" if note_colour and after else after
    mark = LEFT_TO_RIGHT if any(map(runs_right_to_left, row)) else ""
    return f"{mark}{branches} {form}{GAP}{after}" if after else f"{mark}{branches} {form}"


class _Spine(NamedTuple):
    column: int
    top: int
    bottom: int


def _branches(tree: Tree, in_doubt: Sequence[bool], step: int) -> list[str]:
    """The lines before each word: strings of one length, spines `step` cells apart."""
    heads = tree.heads.tolist()
    spines = _spines(heads)
    columns = 1 + max((spine.column for spine in spines.values()), default=0)
    lines = []
    for word in range(1, len(heads)):
        cells = [" "] * (step * (columns - 1) + 2)
        start = step * spines[heads[word]].column
        cells[start:] = ("╌" if in_doubt[word - 1] else "─") * (len(cells) - start)
        for node, spine in spines.items():
            if spine.top <= word <= spine.bottom:
                joint = _joint(spine, word, node, heads[word])
                cells[step * spine.column] = joint.translate(DASHED) if in_doubt[word - 1] else joint
        lines.append("".join(cells))
    return lines


def _spines(heads: list[int]) -> dict[int, _Spine]:
    """The spine of every node with dependents; that of node 0 spans only the roots."""
    dependents: defaultdict[int, list[int]] = defaultdict(list)
    for dep, head in enumerate(heads[1:], start=1):
        dependents[head].append(dep)
    taken: defaultdict[int, list[_Spine]] = defaultdict(list)  # by column
    spines: dict[int, _Spine] = {}
    for node in top_down(heads):
        if node not in dependents:
            continue
        ends = [*dependents[node], *([node] if node else [])]
        column = spines[heads[node]].column + 1 if node else 0
        spine = _Spine(column, min(ends), max(ends))
        while any(each.top <= spine.bottom and spine.top <= each.bottom for each in taken[column]):
            column += 1
        spines[node] = spine._replace(column=column)
        taken[column].append(spines[node])
    return spines


def _joint(spine: _Spine, row: int, owner: int, head: int) -> str:
    above, below = spine.top < row, row < spine.bottom
    if row == owner:
        return "┼" if above and below else "┴" if above else "┬"
    if owner == head:
        return "├" if above and below else "╰" if above else "╭" if below else "─"
    return "│"


def _list_words(tree: Tree, texts: list[list[str]], arrow: str) -> Iterator[str]:
    """Words with their numbers and the numbers of their heads."""
    heads = tree.heads.tolist()[1:]
    for word, (head, (form, *rest)) in enumerate(zip(heads, zip(*texts, strict=True), strict=True), start=1):
        mark = LEFT_TO_RIGHT if runs_right_to_left(form) else ""
        yield " ".join(filter(None, (f"{mark}{word}", form + mark, f"{arrow} {head}", *rest)))


def _wrap(text: str, width: int, ellipsis: str) -> list[str]:
    """Break text into lines of at most `width` cells, at spaces if possible."""
    import wcwidth  # takes long to import

    fitting = "".join(each if cells(each) <= width else ellipsis for each in clusters(text))
    indent = INDENT if width > 4 * len(INDENT) else ""
    return wcwidth.wrap(fitting, width, subsequent_indent=indent, break_on_hyphens=False)
