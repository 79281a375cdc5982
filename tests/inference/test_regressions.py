"""Bugs that were found, as tests."""

import numpy as np
import pytest
from oracle import exact

from arbora import inference


@pytest.mark.parametrize("gap", [20, 40, 50])
@pytest.mark.parametrize("pair", [(9, 10), (10, 11), (11, 12)])
def test_single_root_sums_do_not_take_the_root_out_again(gap, pair):
    # A pivot was summed with the root's weight and then had it subtracted: what two words that prefer
    # each other leave to the rest was lost. It took more words than a vector has lanes.
    powers = [[0] * 13 for _ in range(13)]
    first, second = pair
    powers[first][second] = powers[second][first] = powers[0][first] = powers[0][second] = gap
    scores = exact.to_scores(powers)
    expected = exact.log_partition(powers, "nonprojective", "single")
    assert inference.log_partition(scores) == pytest.approx(expected, rel=1e-13)
    wanted = exact.marginals(powers, "nonprojective", "single")
    np.testing.assert_allclose(inference.marginals(scores), wanted, atol=1e-12)
