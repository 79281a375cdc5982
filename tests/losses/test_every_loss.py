"""What every registered loss promises, against lists of all trees and finite differences."""

import itertools

import numpy as np
import pytest
from oracle.enumerate_trees import head_matrix

from arbora.costs import TreeCost
from arbora.interfaces import GoldTree, PartKind
from arbora.registry import families, losses

WORDS, LABELS = 3, 2
COST = TreeCost(head=1.0, label=0.5)
FAMILIES = list(itertools.product(("projective", "nonprojective", "projective_sibling"), ("single", "multi")))
EACH = [
    (name, family, roots, labelled)
    for name, (family, roots), labelled in itertools.product(losses, FAMILIES, (False, True))
    if not (name == "risk" and family == "projective_sibling")  # first order only
]
each_loss = pytest.mark.parametrize(("name", "family", "roots", "labelled"), EACH)


def random_scores(family, labelled, seed):
    rng = np.random.default_rng([seed, labelled])
    n = WORDS + 1
    scores = {kind: rng.normal(size=(n,) * kind.axes) for kind in family.parts}
    if labelled:
        scores[PartKind.LABEL] = rng.normal(size=(n, n, LABELS))
    return scores


def gold_tree(family, seed, unknown=()):
    rng = np.random.default_rng(seed)
    trees = head_matrix(WORDS, family.trees, family.roots)
    heads = np.array(trees[rng.integers(len(trees))], dtype=np.int32)
    labels = np.append(-1, rng.integers(0, LABELS, WORDS)).astype(np.int32)
    heads[list(unknown)] = labels[list(unknown)] = -1
    return GoldTree(heads, labels)


def sibling(heads, dep):
    head = heads[dep]
    step = 1 if dep < head else -1
    return next((word for word in range(dep + step, head, step) if heads[word] == head), head)


def all_trees(family, scores):
    """Heads, labels and score of every (labelled) tree, from the definition of parts."""
    labelled = PartKind.LABEL in scores
    for heads in head_matrix(WORDS, family.trees, family.roots):
        for labels in itertools.product(range(LABELS), repeat=WORDS) if labelled else [None]:
            total = 0.0
            for dep in range(1, WORDS + 1):
                total += scores[PartKind.ARC][heads[dep], dep]
                if PartKind.SIBLING in scores:
                    total += scores[PartKind.SIBLING][heads[dep], dep, sibling(heads, dep)]
                if labelled:
                    total += scores[PartKind.LABEL][heads[dep], dep, labels[dep - 1]]
            yield heads, None if labels is None else np.array([-1, *labels]), total


def agrees(gold, heads, labels):
    known = gold.heads >= 0
    return np.array_equal(heads[known], gold.heads[known]) and (
        labels is None or np.array_equal(labels[known], gold.labels[known])
    )


def by_definition(name, family, scores, gold):
    """The loss from a list of all trees; None where it does not look at trees."""
    trees = list(all_trees(family, scores))
    totals = np.array([total for _, _, total in trees])
    right = np.array([agrees(gold, heads, labels) for heads, labels, _ in trees])
    costs = np.array([COST(gold, heads, labels) for heads, labels, _ in trees])
    if name == "crf":
        return np.logaddexp.reduce(totals) - np.logaddexp.reduce(totals[right])
    if name == "hinge":
        return max(0.0, np.max(totals + costs) - np.max(totals[right]))
    if name == "risk":
        return float(np.exp(totals - np.logaddexp.reduce(totals)) @ costs)
    return None


@each_loss
@pytest.mark.parametrize("unknown", [(), (2,)], ids=["whole", "partial"])
def test_values_and_gradients(name, family, roots, labelled, unknown):
    loss, trees = losses.create(name), families.create(family, roots=roots)
    for seed in range(3):
        scores, gold = random_scores(trees, labelled, seed), gold_tree(trees, seed, unknown)
        value, gradient = loss(scores, gold, trees, COST)
        expected = by_definition(name, trees, scores, gold)
        assert value >= 0.0
        if expected is not None:
            assert value == pytest.approx(expected, abs=1e-9)
        assert gradient.keys() == scores.keys()
        for kind, array in scores.items():
            for index in np.ndindex(array.shape):
                if index[1] == 0 or index[0] == index[1]:
                    continue
                slope, step, before = 0.0, 1e-6, array[index]
                for sign in (1.0, -1.0):
                    array[index] = before + sign * step
                    slope += sign * loss(scores, gold, trees, COST)[0] / (2 * step)
                array[index] = before
                assert gradient[kind][index] == pytest.approx(slope, abs=2e-6), (kind, index)


def test_the_local_loss_is_a_softmax_per_word():
    trees = families.create("projective")
    scores, gold = random_scores(trees, True, 1), gold_tree(trees, 1)
    expected = 0.0
    for dep in range(1, WORDS + 1):
        heads = [head for head in range(WORDS + 1) if head != dep]
        arcs = scores[PartKind.ARC][heads, dep][:, None] + scores[PartKind.LABEL][heads, dep]
        own = scores[PartKind.ARC][gold.heads[dep], dep]
        own += scores[PartKind.LABEL][gold.heads[dep], dep, gold.labels[dep]]
        expected += np.logaddexp.reduce(arcs, axis=None) - own
    assert losses.create("local")(scores, gold, trees, COST)[0] == pytest.approx(expected, abs=1e-9)


@each_loss
def test_scores_are_not_changed(name, family, roots, labelled):
    trees = families.create(family, roots=roots)
    scores = random_scores(trees, labelled, 0)
    for array in scores.values():
        array.setflags(write=False)
    losses.create(name)(scores, gold_tree(trees, 0), trees, COST)
