"""Given heads that no tree has."""

from itertools import product

import numpy as np
import pytest
from oracle.enumerate_trees import head_matrix

from arbora.search.given_heads import conflict


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("trees", ["nonprojective", "projective"])
def test_conflicts_are_found_among_all_trees(trees, roots):
    n = 4
    forest = head_matrix(n, trees, roots)[:, 1:]
    for given in product(range(-1, n + 1), repeat=n):
        heads = np.array(given)
        if any(head == word for word, head in enumerate(given, start=1)):
            continue
        fitting = np.all((forest == heads) | (heads < 0), axis=1).any()
        found = conflict(given, trees, roots)
        if fitting:
            assert not found, given
        elif trees == "nonprojective":
            assert found, given  # every conflict has two roots or a cycle
