"""Why no tree has the heads that are given: native searches over arcs check this themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from arbora.data.tree import find_cycle
from arbora.errors import NoTreeError
from arbora.interfaces import Roots, Trees
from arbora.types import Ints


def conflict(heads: Sequence[int], trees: Trees, roots: Roots) -> str:
    """The words whose given heads (n,), -1 for unknown, no tree can have together; empty if none are found.

    O(n), and O(n²) for projective trees, of which some conflicts of three arcs are not found.
    """
    given = [0, *heads]
    words = [word for word in range(1, len(given)) if given[word] >= 0]
    first, *more = [word for word in words if given[word] == 0] or [0]
    if more and roots == "single":
        return (
            f"words {first} and {more[0]} are both given as roots, but the trees of this parser have one; "
            "unpin one of them"
        )
    if cycle := find_cycle([max(0, head) for head in given]):
        return f"the given heads form a cycle: {' -> '.join(map(str, cycle))}; unpin one of them"
    for one, other in combinations(words, 2) if trees == "projective" else ():
        (a, b), (c, d) = sorted(tuple(sorted((word, given[word]))) for word in (one, other))
        if a < c < b < d:
            return (
                f"the arcs given to words {one} and {other} cross, but the trees of this parser are "
                "projective; unpin one of them, or use a parser of non-projective trees"
            )
    return ""


def require_tree(sentences: Sequence[Ints], trees: Trees, roots: Roots) -> None:
    """NoTreeError if no tree has the given heads of a sentence."""
    for number, heads in enumerate(sentences):
        if reason := conflict(heads.tolist(), trees, roots):
            raise NoTreeError(reason if len(sentences) == 1 else f"sentence {number}: {reason}")
