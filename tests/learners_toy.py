"""A small parsing problem in plain Python, trees by enumeration: what learners are tested on."""

import numpy as np
from oracle.enumerate_trees import head_matrix

from arbora._core import SparseVector
from arbora.interfaces import Answer, Query

TAGS = 4
NEAR = 2 * TAGS  # direction and tag, of neighbours
SIZE = (TAGS + 1) * TAGS + NEAR
EVERY = frozenset({Query.ARGMAX, Query.KBEST, Query.COST_AUGMENTED})


def arc_features(tags, head, dep):
    """Tags of both ends; for neighbours, the direction and the tag."""
    above = TAGS if head == 0 else tags[head - 1]
    features = [above * TAGS + tags[dep - 1]]
    if head and abs(head - dep) == 1:
        features.append((TAGS + 1) * TAGS + 2 * tags[dep - 1] + (head > dep))
    return features


class ToyProblem:
    """Sentences of random tags; hidden weights say which trees are right, unless noise does.

    Blurred features have no ties; else which of two equally good trees is best may hang on rounding.
    """

    def __init__(self, examples=12, seed=0, noise=0.0, blur=0.0, queries=EVERY):
        rng = np.random.default_rng(seed)
        self.queries = queries
        self.size = SIZE
        self.asked = 0
        hidden = rng.integers(-3, 4, SIZE) + 0.01 * rng.normal(size=SIZE)
        trees = {n: head_matrix(n, "nonprojective", "single")[:, 1:] for n in (2, 3)}
        self.features, self.costs = [], []
        for _ in range(examples):
            n = int(rng.integers(2, 4))
            tags = rng.integers(0, TAGS, n)
            features = np.zeros((len(trees[n]), SIZE))
            for row, heads in zip(features, trees[n], strict=True):
                for dep, head in enumerate(heads, 1):
                    np.add.at(row, arc_features(tags, head, dep), 1.0)
            features += blur * rng.normal(size=features.shape)
            gold = int(np.argmax(features @ hidden))
            if rng.random() < noise:
                gold = int(rng.integers(len(features)))
            heads = trees[n]
            self.features.append(features[gold] - features)  # differences: gold minus each tree
            self.costs.append((heads != heads[gold]).sum(axis=1).astype(float))

    def __len__(self):
        return len(self.features)

    def _ranked(self, i, w, augmented):
        values = np.asarray(w.values(), dtype=np.float64) if not isinstance(w, np.ndarray) else w
        margins = self.features[i] @ values
        return np.argsort(margins - augmented * self.costs[i], kind="stable"), margins

    def _answer(self, i, tree, margins):
        difference = SparseVector(np.arange(SIZE), self.features[i][tree])
        return Answer(float(self.costs[i][tree]), float(margins[tree]), difference)

    def answer(self, i, w, query):
        assert query in self.queries
        self.asked += 1
        ranked, margins = self._ranked(i, w, query is Query.COST_AUGMENTED)
        return self._answer(i, ranked[0], margins)

    def candidates(self, i, w, k):
        assert Query.KBEST in self.queries
        ranked, margins = self._ranked(i, w, False)
        return [self._answer(i, tree, margins) for tree in ranked[:k]]

    def total(self, indices, w, query):
        answers = [self.answer(int(i), w, query) for i in indices]
        difference = SparseVector([], [])
        for answer in answers:
            difference = difference + answer.difference
        return Answer(sum(a.loss for a in answers), sum(a.margin for a in answers), difference)

    def mistakes(self, values):
        """Wrong heads of the best trees at these weights."""
        values = np.asarray(values, dtype=np.float64)
        return sum(self.costs[i][self._ranked(i, values, False)[0][0]] for i in range(len(self)))

    def mean_hinge(self, values):
        values = np.asarray(values, dtype=np.float64)
        worst = [np.max(c - f @ values) for f, c in zip(self.features, self.costs, strict=True)]
        return float(np.mean(worst))
