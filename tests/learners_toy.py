"""A small parsing problem in plain Python, trees by enumeration: what learners are tested on."""

import numpy as np
from oracle.enumerate_trees import head_matrix

from arbora._core import SparseVector
from arbora.interfaces import Answer, Query

TAGS = 4
NEAR = 2 * TAGS  # direction and tag, of neighbours
SIZE = (TAGS + 1) * TAGS + NEAR
EVERY = frozenset(
    {
        Query.ARGMAX,
        Query.KBEST,
        Query.COST_AUGMENTED,
        Query.MARGINALS,
        Query.ARC_MARGINALS,
        Query.LOSS,
    }
)


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
        # Features of arcs; which tree has which arc; which tree is right.
        self.arcs, self.members, self.gold = [], [], []
        for _ in range(examples):
            n = int(rng.integers(2, 4))
            tags = rng.integers(0, TAGS, n)
            pairs = [(head, dep) for dep in range(1, n + 1) for head in range(n + 1) if head != dep]
            arcs = np.zeros((len(pairs), SIZE))
            for row, (head, dep) in zip(arcs, pairs, strict=True):
                np.add.at(row, arc_features(tags, head, dep), 1.0)
            arcs += blur * rng.normal(size=arcs.shape)
            heads = trees[n]
            members = np.array([[tree[dep - 1] == head for head, dep in pairs] for tree in heads], float)
            features = members @ arcs
            gold = int(np.argmax(features @ hidden))
            if rng.random() < noise:
                gold = int(rng.integers(len(features)))
            self.features.append(features[gold] - features)  # differences: gold minus each tree
            self.costs.append((heads != heads[gold]).sum(axis=1).astype(float))
            self.arcs.append(arcs)
            self.members.append(members)
            self.gold.append(gold)

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
        if query is Query.MARGINALS:
            log_partition, probabilities = normalized(-margins)
            difference = SparseVector(np.arange(SIZE), probabilities @ self.features[i])
            return Answer(log_partition, float(probabilities @ margins), difference)
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

    def gradient(self, indices, w, query):
        assert query in self.queries
        self.asked += len(indices)
        loss, gradient = 0.0, np.zeros(SIZE)
        for i in indices:
            log_partition, probabilities = normalized(-self._ranked(i, w, False)[1])
            loss += log_partition
            gradient -= probabilities @ self.features[i]
        return loss, gradient

    def arc_scores(self, i, w):
        assert Query.ARC_MARGINALS in self.queries
        self._ranked(i, w, False)
        return self.arcs[i] @ np.asarray(w.values(), dtype=np.float64)

    def arc_gold(self, i):
        return self.members[i][self.gold[i]]

    def arc_marginals(self, i, scores):
        log_partition, probabilities = normalized(self.members[i] @ scores)
        return log_partition, probabilities @ self.members[i]

    def arc_features(self, i, coefficients):
        return SparseVector(np.arange(SIZE), coefficients @ self.arcs[i])

    def mistakes(self, values):
        """Wrong heads of the best trees at these weights."""
        values = np.asarray(values, dtype=np.float64)
        return sum(self.costs[i][self._ranked(i, values, False)[0][0]] for i in range(len(self)))

    def mean_hinge(self, values):
        values = np.asarray(values, dtype=np.float64)
        worst = [np.max(c - f @ values) for f, c in zip(self.features, self.costs, strict=True)]
        return float(np.mean(worst))


def normalized(scores):
    """The log of the sum of all exp(score), and each one's share of it."""
    largest = scores.max()
    weights = np.exp(scores - largest)
    return float(largest + np.log(weights.sum())), weights / weights.sum()
