"""Every dependency tree of a short sentence, listed one by one: the judge of all inference tests.

What: all trees of the four families {projective, nonprojective} x {single, multi} for n <= 6
words, their scores under first- and second-order parts, and from that list the best tree, the
whole k-best list, log Z, marginals, entropy, KL and risk.
Idea: list all head vectors with itertools, keep the trees, score each; sums are taken over the
list in extended precision after a shift by the maximum. Nothing here knows a parsing algorithm,
and nothing here may import arbora: numpy and itertools only.
Time and space: O(n^n) to list (cached per n and family), O(trees * n) per score array.
Conventions: `scores[head, dep]` or `scores[head, dep, label]`, node 0 is the root, column 0 and
the diagonal are ignored, -inf forbids. A head vector has n + 1 entries and starts with -1.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np

FAMILIES = tuple(itertools.product(("projective", "nonprojective"), ("single", "multi")))
LONGEST = 6


def is_tree(heads: np.ndarray, trees: str = "nonprojective", roots: str = "multi") -> bool:
    """Tell whether one head vector is a tree of the family."""
    matrix = np.asarray(heads, dtype=np.int64)[None]
    if matrix[0, 0] != -1 or np.any(matrix[0, 1:] < 0) or np.any(matrix >= matrix.shape[1]):
        return False
    return bool(_member(matrix, trees, roots)[0])


@functools.cache
def head_matrix(n: int, trees: str, roots: str) -> np.ndarray:
    """List the family's trees over n words: int array (trees, n + 1), in lexicographic order."""
    if n > LONGEST:
        raise ValueError(f"enumeration is meant for n <= {LONGEST}, got {n}")
    if n == 0:
        return np.array([[-1]])
    choices = [[head for head in range(n + 1) if head != dep] for dep in range(1, n + 1)]
    words = np.array(list(itertools.product(*choices)))
    heads = np.concatenate([np.full((len(words), 1), -1), words], axis=1)
    heads = heads[_member(heads, trees, roots)]
    heads.setflags(write=False)
    return heads


def _member(heads: np.ndarray, trees: str, roots: str) -> np.ndarray:
    keep = _reaches_root(heads)
    if roots == "single" and heads.shape[1] > 1:
        keep &= np.sum(heads == 0, axis=1) == 1
    if trees == "projective":
        keep[keep] = _is_projective(heads[keep])
    return keep


def _reaches_root(heads: np.ndarray) -> np.ndarray:
    up = np.where(heads < 0, 0, heads)  # the root is its own parent
    position = np.tile(np.arange(heads.shape[1]), (len(heads), 1))
    for _ in range(heads.shape[1]):
        position = np.take_along_axis(up, position, axis=1)
    return np.all(position == 0, axis=1)


def dominates(heads: np.ndarray) -> np.ndarray:
    """Give the bool array (trees, n+1, n+1): [t, a, b] says that a is b or an ancestor of b."""
    size = heads.shape[1]
    up = np.where(heads < 0, 0, heads)
    result = np.zeros((len(heads), size, size), dtype=bool)
    rows = np.arange(len(heads))[:, None]
    below = np.arange(size)[None, :]
    position = np.tile(np.arange(size), (len(heads), 1))
    for _ in range(size + 1):
        result[rows, position, below] = True
        position = np.take_along_axis(up, position, axis=1)
    return result


def _is_projective(heads: np.ndarray) -> np.ndarray:
    """No arc spans a word that its head does not dominate."""
    above = dominates(heads)
    rows = np.arange(len(heads))
    words = np.arange(heads.shape[1])
    fine = np.ones(len(heads), dtype=bool)
    for dep in range(1, heads.shape[1]):
        head = heads[:, dep]
        low, high = np.minimum(head, dep)[:, None], np.maximum(head, dep)[:, None]
        spanned = (low < words) & (words < high)
        fine &= np.all(~spanned | above[rows, head], axis=1)
    return fine


def siblings_of(heads: np.ndarray) -> np.ndarray:
    """Give each word's adjacent sibling towards the head, or the head itself where there is none.

    heads (trees, n + 1) -> the same shape; entry 0 is -1.
    """
    result = heads.copy()
    for dep, other in itertools.product(range(1, heads.shape[1]), repeat=2):
        head = heads[:, dep]
        shares = heads[:, other] == head
        right = shares & (head < other) & (other < dep)  # ascending loop: the last one is nearest
        left = shares & (dep < other) & (other < head) & (result[:, dep] == head)
        result[:, dep] = np.where(right | left, other, result[:, dep])
    return result


def grandparents_of(heads: np.ndarray) -> np.ndarray:
    """Give head(head(word)), -1 where the head is the root; heads (trees, n + 1) -> same shape."""
    return np.where(heads > 0, np.take_along_axis(heads, np.maximum(heads, 0), axis=1), -1)


@dataclass(frozen=True)
class Forest:
    """The allowed trees with their scores, in lexicographic order of (heads, labels)."""

    heads: np.ndarray  # (trees, n + 1)
    labels: np.ndarray | None  # (trees, n + 1), -1 at 0
    scores: np.ndarray  # (trees,) extended precision, all finite
    shapes: dict[str, tuple[int, ...]]  # shapes of the score arrays, by part

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def best_score(self) -> float:
        """The highest score; NaN when no tree is allowed."""
        return float(self.scores.max()) if len(self) else float("nan")

    def ranked(self) -> np.ndarray:
        """All scores, highest first, as float64."""
        return np.sort(self.scores)[::-1].astype(np.float64)

    @functools.cached_property
    def log_partition(self) -> float:
        """log of the sum of exp(score)."""
        top = self.scores.max()
        return float(top + np.log(np.sum(np.exp(self.scores - top))))

    @functools.cached_property
    def probabilities(self) -> np.ndarray:
        """(trees,) probability of each tree."""
        weights = np.exp(self.scores - self.scores.max())
        return weights / weights.sum()

    @property
    def log_probabilities(self) -> np.ndarray:
        """(trees,) log probability of each tree, good to the last digit for unlikely ones too."""
        shifted = self.scores - self.scores.max()
        return shifted - np.log(np.sum(np.exp(shifted)))

    @property
    def entropy(self) -> float:
        """Shannon entropy in nats."""
        return float(-np.sum(self.probabilities * self.log_probabilities))

    def marginals(self, part: str = "arcs") -> np.ndarray:
        """Expected count of every part, in the shape of its score array."""
        result = np.zeros(self.shapes[part], dtype=np.longdouble)
        for dep in range(1, self.heads.shape[1]):
            index, present = self._part_index(part, dep)
            np.add.at(result, tuple(i[present] for i in index), self.probabilities[present])
        return result.astype(np.float64)

    def head_marginals(self) -> np.ndarray:
        """(n + 1, n + 1): probability of each arc, labels summed out."""
        arcs = self.marginals()
        return arcs.sum(axis=2) if arcs.ndim == 3 else arcs

    def _part_index(self, part: str, dep: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        head = self.heads[:, dep]
        word = np.full(len(self), dep)
        if part == "arcs":
            labels = () if self.labels is None else (self.labels[:, dep],)
            return (head, word, *labels), np.ones(len(self), dtype=bool)
        sibling = siblings_of(self.heads)[:, dep]
        grandparent = grandparents_of(self.heads)[:, dep]
        index = {
            "siblings": (head, word, sibling),
            "grandparents": (grandparent, head, word),
            "grandsiblings": (grandparent, head, word, sibling),
        }[part]
        return index, np.ones(len(self), dtype=bool) if part == "siblings" else head > 0

    def find(self, heads: np.ndarray, labels: np.ndarray | None = None) -> int:
        """Index of a tree in the list; ValueError when it is not there."""
        same = np.all(self.heads == np.asarray(heads), axis=1)
        if self.labels is not None:
            same &= np.all(self.labels == np.asarray(labels), axis=1)
        where = np.flatnonzero(same)
        if len(where) != 1:
            raise ValueError(f"{heads} (labels {labels}) is in the list {len(where)} times")
        return int(where[0])

    def most_expected_correct(self) -> float:
        """The largest expected number of correct heads over all allowed trees."""
        arcs = self.head_marginals()
        words = np.arange(1, self.heads.shape[1])
        return float(arcs[self.heads[:, 1:], words].sum(axis=1).max())

    def kl_divergence(self, other: Forest) -> float:
        """KL(self || other), where both list the same trees."""
        if len(self) != len(other):
            raise ValueError("the two forests list different trees")
        difference = self.log_probabilities - other.log_probabilities
        return float(np.sum(self.probabilities * difference))


def enumerate_forest(
    scores: np.ndarray,
    trees: str = "nonprojective",
    roots: str = "single",
    *,
    required: np.ndarray | None = None,
    siblings: np.ndarray | None = None,
    grandparents: np.ndarray | None = None,
    grandsiblings: np.ndarray | None = None,
) -> Forest:
    """List and score every allowed tree; `required` is a head vector with -1 where free."""
    n = len(scores) - 1
    heads = head_matrix(n, trees, roots)
    if required is not None:
        asked = np.asarray(required)
        fixed = (asked >= 0) & (np.arange(n + 1) > 0)
        heads = heads[np.all(heads[:, fixed] == asked[fixed], axis=1)]
    heads, labels = _with_labels(heads, scores.shape[2] if scores.ndim == 3 else None)
    parts = {
        "arcs": scores,
        "siblings": siblings,
        "grandparents": grandparents,
        "grandsiblings": grandsiblings,
    }
    shapes = {name: array.shape for name, array in parts.items() if array is not None}
    unscored = Forest(heads, labels, np.zeros(len(heads)), shapes)
    totals = np.zeros(len(heads), dtype=np.longdouble)
    for name, dep in itertools.product(shapes, range(1, n + 1)):
        index, present = unscored._part_index(name, dep)
        totals[present] += parts[name][tuple(i[present] for i in index)].astype(np.longdouble)
    allowed = totals > -np.inf
    kept = None if labels is None else labels[allowed]
    return Forest(heads[allowed], kept, totals[allowed], shapes)


def _with_labels(heads: np.ndarray, count: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Cross every tree with every labelling of its words."""
    if count is None:
        return heads, None
    n = heads.shape[1] - 1
    words = list(itertools.product(range(count), repeat=n))
    labellings = np.array(words, dtype=np.int64).reshape(len(words), n)
    labels = np.concatenate([np.full((len(words), 1), -1), labellings], axis=1)
    return np.repeat(heads, len(labels), axis=0), np.tile(labels, (len(heads), 1))
