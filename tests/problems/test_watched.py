"""Problems that tell how far a learner has come."""

import numpy as np
import pytest
from graph_toys import BITS, scorer, treebank

from arbora._core import MulticlassExamples, Weights
from arbora.interfaces import Listing, Query
from arbora.learners._candidates import wrong_candidates
from arbora.learners.stage import Watched
from arbora.problems import GraphProblem, MulticlassProblem
from arbora.registry import learners


def classes():
    """Twenty examples of two features each, with four classes."""
    rng = np.random.default_rng(6)
    columns = np.sort(rng.permuted(np.tile(np.arange(12), (20, 1)), axis=1)[:, :2]).reshape(-1)
    offsets = np.arange(0, 41, 2)
    examples = MulticlassExamples(offsets, columns, np.ones(40, np.float32), 12, 0.0)
    costs = 1.0 - np.eye(4)
    return MulticlassProblem(examples, rng.integers(0, 4, 20).astype(np.int32), costs)


def test_it_tells_how_many_were_asked():
    made, encoded = scorer(treebank(15, seed=3), order=1)
    asked = []
    problem = Watched(GraphProblem(made, encoded), asked.append)
    assert (len(problem), problem.size) == (15, 1 << BITS)
    assert Query.KBEST in problem.queries
    assert not isinstance(problem, Listing)
    w = Weights(problem.size)
    problem.answer(3, w, Query.ARGMAX)
    assert len(problem.candidates(3, w, 4)) == 4
    problem.total(np.arange(7), w, Query.COST_AUGMENTED)
    assert asked == [1, 1, 7]


@pytest.mark.parametrize("k", [2, 4])
def test_the_short_way_to_wrong_candidates_is_taken(k):
    asked, bare = [], classes()
    problem = Watched(bare, asked.append)
    assert isinstance(problem, Listing)
    w = Weights(problem.size)
    for i in range(len(problem)):
        mine, theirs = wrong_candidates(problem, i, w, k), bare.wrong_candidates(i, w, k)
        assert type(mine) is type(theirs)
        assert np.array_equal(mine.losses, theirs.losses)
    assert asked == [1] * len(problem)


@pytest.mark.parametrize("name", ["mira", "spv"])
def test_learners_find_the_same_weights(name):
    asked, bare = [], classes()
    learner = learners.create(name, epochs=2)
    watched = learner.fit(Watched(bare, asked.append)).averaged
    assert np.array_equal(watched, learner.fit(bare).averaged)
    assert sum(asked) == 2 * len(bare)
