"""Bugs that were found, as tests."""

import numpy as np
import pytest
from oracle.enumerate_trees import enumerate_forest

from arbora import inference


@pytest.mark.parametrize("gap", [10.0, 20.0, 30.0, 36.0])
@pytest.mark.parametrize("pair", [(1, 2), (2, 3), (3, 4), (1, 4)])
def test_single_root_sums_do_not_take_the_root_out_again(gap, pair):
    # A pivot summed with the root's weight and then less it: what two words that prefer each other leave is lost.
    scores = np.zeros((5, 5))
    scores[pair] = scores[pair[::-1]] = scores[0, list(pair)] = gap
    trees = enumerate_forest(scores, trees="nonprojective", roots="single")
    assert inference.log_partition(scores) == pytest.approx(trees.log_partition, rel=1e-13)
    np.testing.assert_allclose(inference.marginals(scores), trees.marginals(), atol=1e-13)
