"""One array gives one answer and a list gives a list, for type checkers as when it runs.

`make lint` checks this file: `assert_type` is what mypy must find, and `runs_as` what is there.
"""

from typing import Any, TypeAlias, assert_type, get_args, get_origin

import numpy as np
import pytest
from numpy.typing import NDArray

from arbora import inference
from arbora.inference import Best, Marginals
from arbora.inference.distribution import TreeDistribution

Array: TypeAlias = NDArray[np.float64]

ONE: Array = np.zeros((3, 3))
LIST: list[Array] = [ONE, ONE, ONE]
PAIR: tuple[Array, Array] = (ONE, ONE)
HEADS: NDArray[np.int32] = np.array([-1, 0, 1], dtype=np.int32)


def runs_as(value: object, expected: Any) -> bool:
    """Whether `value` is an `expected`, down through lists."""
    if get_origin(expected) is list:
        (inner,) = get_args(expected)
        return isinstance(value, list) and all(runs_as(each, inner) for each in value)
    plain = get_origin(expected) or expected
    # From Python 3.12 on, NumPy's NDArray is an alias that has its type as __value__.
    plain = getattr(plain, "__value__", plain)
    return isinstance(value, get_origin(plain) or plain)


def test_trees() -> None:
    assert runs_as(assert_type(inference.argmax(ONE, roots="multi"), Best), Best)
    assert runs_as(assert_type(inference.argmax(LIST, threads=2), list[Best]), list[Best])
    assert runs_as(assert_type(inference.argmax(PAIR), list[Best]), list[Best])
    assert runs_as(assert_type(inference.minimum_risk(ONE), Best), Best)
    assert runs_as(assert_type(inference.minimum_risk(LIST), list[Best]), list[Best])


def test_lists_of_trees() -> None:
    assert runs_as(assert_type(inference.kbest(ONE, 2), list[Best]), list[Best])
    assert runs_as(assert_type(inference.kbest(LIST, 2), list[list[Best]]), list[list[Best]])
    assert runs_as(assert_type(inference.sample(ONE, 2, seed=1), list[Best]), list[Best])
    distinct = assert_type(inference.sample(LIST, 2, replacement=False), list[list[Best]])
    assert runs_as(distinct, list[list[Best]])


def test_numbers() -> None:
    for number in (
        assert_type(inference.log_partition(ONE), float),
        assert_type(inference.log_prob(ONE, HEADS), float),
        assert_type(inference.entropy(ONE), float),
        assert_type(inference.kl_divergence(ONE, ONE), float),
        assert_type(inference.expected_wrong_heads(ONE, HEADS), float),
    ):
        assert type(number) is float
    each_heads = [HEADS] * len(LIST)
    for numbers in (
        assert_type(inference.log_partition(LIST), Array),
        assert_type(inference.log_prob(LIST, each_heads), Array),
        assert_type(inference.entropy(LIST), Array),
        assert_type(inference.kl_divergence(LIST, LIST), Array),
        assert_type(inference.expected_wrong_heads(LIST, each_heads), Array),
    ):
        assert numbers.shape == (len(LIST),)


def test_marginals() -> None:
    """Arrays where arcs are the only parts; otherwise it depends on which parts are not None."""
    assert runs_as(assert_type(inference.marginals(ONE, trees="projective"), Array), Array)
    assert runs_as(assert_type(inference.marginals(LIST), list[Array]), list[Array])
    siblings: Array = np.zeros((3, 3, 3))
    found = assert_type(inference.marginals(ONE, trees="projective", siblings=siblings), Array | Marginals)
    assert runs_as(found, Marginals)
    each = inference.marginals(LIST, trees="projective", siblings=[siblings] * len(LIST))
    assert_type(each, list[Array] | list[Marginals])
    assert runs_as(each, list[Marginals])


@pytest.mark.parametrize("scores", [ONE, LIST])
def test_one_or_a_list_gives_one_or_a_list(scores: Array | list[Array]) -> None:
    best = assert_type(inference.argmax(scores), Best | list[Best])
    assert isinstance(best, list) is isinstance(scores, list)


def test_distributions() -> None:
    trees = TreeDistribution(ONE)
    assert runs_as(assert_type(trees.best, Best), Best)
    assert runs_as(assert_type(trees.kbest(2), list[Best]), list[Best])
    assert runs_as(assert_type(trees.log_partition, float), float)
