import itertools
import json

import numpy as np
import pytest
from errors import rejects
from scipy.stats import binomtest
from treebanks import random_treebank, spoil_all

from arbora.errors import InputError
from arbora.evaluation.attachment import evaluate
from arbora.evaluation.significance import (
    TESTS,
    approximate_randomization,
    coin_flips,
    compare,
    paired_bootstrap,
    sign_test,
)

FIRST = np.array([5, 7, 3, 9, 4])
SECOND = np.array([4, 7, 4, 6, 2])
TOKENS = np.array([6, 10, 5, 9, 8])


def outcomes(better, worse, tied=0):
    """Counts per sentence with so many better, worse and equal ones, for ten-word sentences."""
    first = np.repeat([6, 5, 5], [better, worse, tied])
    second = np.repeat([5, 6, 5], [better, worse, tied])
    return first, second, np.full(better + worse + tied, 10)


@pytest.mark.parametrize(("better", "worse"), [(448, 343), (500, 383)])
def test_the_sign_test_of_the_paper(better, worse):
    """Koo et al. 2007, note 7: 2,472 sentences, both results significant with p <= 0.001."""
    result = sign_test(*outcomes(better, worse, 2472 - better - worse))
    assert (result.better, result.worse, result.tied) == (better, worse, 2472 - better - worse)
    assert 0 < result.p_value <= 0.001


def test_the_sign_test_by_hand():
    # Nine heads or more, or one or fewer, in ten flips: 2 (1 + 10) / 1024.
    assert sign_test(*outcomes(9, 1)).p_value == pytest.approx(22 / 1024)
    assert sign_test(*outcomes(3, 3)).p_value == pytest.approx(1)
    assert sign_test(*outcomes(0, 0, 5)).p_value == 1


@pytest.mark.parametrize("flips", [1, 2, 7, 40, 791, 2001, 20_000, 1_000_000])
def test_coin_flips_against_scipy(flips):
    for share in (0.0, 0.1, 0.3, 0.45, 0.49, 0.499, 0.5):
        heads = int(share * flips)
        expected = binomtest(heads, flips, 0.5).pvalue
        assert coin_flips(heads, flips - heads) == pytest.approx(expected, rel=1e-7, abs=1e-300)
        assert coin_flips(flips - heads, heads) == coin_flips(heads, flips - heads)


def tolerance(p_value, samples):
    return 4 * np.sqrt(p_value * (1 - p_value) / samples) + 1 / samples


def test_randomization_against_all_swaps():
    gains = FIRST - SECOND
    swaps = np.array(list(itertools.product([-1, 1], repeat=len(gains))))
    exact = (np.abs(swaps @ gains) >= abs(gains.sum())).mean()
    assert 0.05 < exact < 0.95
    result = approximate_randomization(FIRST, SECOND, TOKENS, samples=20_000, seed=1)
    assert result.p_value == pytest.approx(exact, abs=tolerance(exact, 20_000))
    assert result.difference == pytest.approx(100 * 5 / 38)
    assert (result.better, result.worse, result.tied) == (3, 1, 1)


def test_bootstrap_against_all_samples():
    drawn = np.array(list(itertools.product(range(5), repeat=5)))
    differences = (FIRST - SECOND)[drawn].sum(axis=1) / TOKENS[drawn].sum(axis=1)
    observed = (FIRST - SECOND).sum() / TOKENS.sum()
    exact = (np.abs(differences - observed) >= abs(observed) - 1e-12).mean()
    assert 0.01 < exact < 0.95
    result = paired_bootstrap(FIRST, SECOND, TOKENS, samples=20_000, seed=1)
    assert result.p_value == pytest.approx(exact, abs=tolerance(exact, 20_000))
    expected = np.percentile(100 * differences, [2.5, 97.5])
    assert result.interval == pytest.approx(expected, abs=1.0)


def sampled(name, samples, seed):
    return {} if name == "sign" else {"samples": samples, "seed": seed}


@pytest.mark.parametrize("name", sorted(TESTS))
def test_every_test_sees_a_clear_difference_and_no_difference(name):
    rng = np.random.default_rng(0)
    tokens = rng.integers(5, 40, size=500)
    first = rng.binomial(tokens, 0.9)
    worse = rng.binomial(tokens, 0.8)
    same = rng.permutation([*range(250), *range(250)])  # only the order is used
    assert TESTS[name](first, worse, tokens, **sampled(name, 2000, 0)).p_value < 0.01
    assert TESTS[name](first, first, tokens, **sampled(name, 2000, 0)).p_value == 1
    # A gain in half of the sentences and the same loss in the others is no difference.
    step = np.where(same % 2 == 0, 1, 0)
    balanced = (np.full(500, 2), np.full(500, 2) + 1 - 2 * step)
    assert TESTS[name](*balanced, np.full(500, 5), **sampled(name, 2000, 0)).p_value > 0.9


@pytest.mark.parametrize("name", sorted(TESTS))
def test_sides_swap_and_seeds_repeat(name):
    there = TESTS[name](FIRST, SECOND, TOKENS, **sampled(name, 3000, 7))
    back = TESTS[name](SECOND, FIRST, TOKENS, **sampled(name, 3000, 7))
    assert there == TESTS[name](FIRST, SECOND, TOKENS, **sampled(name, 3000, 7))
    assert back.difference == -there.difference
    assert (back.better, back.worse) == (there.worse, there.better)
    assert back.p_value == pytest.approx(there.p_value)
    assert json.loads(json.dumps(there.to_json()))["p_value"] == there.p_value


def test_block_size_does_not_change_results(monkeypatch):
    monkeypatch.setattr("arbora.evaluation.significance.BLOCK", 7)
    small = paired_bootstrap(FIRST, SECOND, TOKENS, samples=5000, seed=3)
    monkeypatch.undo()
    large = paired_bootstrap(FIRST, SECOND, TOKENS, samples=5000, seed=3)
    assert small == large


def test_compare_by_name_of_test_and_measure():
    gold = random_treebank(0, sentences=60)
    good = evaluate(gold, spoil_all(gold, 1, share=0.05))
    bad = evaluate(gold, spoil_all(gold, 2, share=0.4))
    for metric in ("uas", "las"):
        for test in TESTS:
            result = compare(good.all, bad.all, metric=metric, test=test, samples=999)
            expected = getattr(good.all, metric) - getattr(bad.all, metric)
            assert result.difference == pytest.approx(expected)
            assert result.p_value < 0.01
    assert compare(good.nopunct, bad.nopunct).tied < 60
    with rejects(InputError, field="test"):
        compare(good.all, bad.all, test="t")
    with rejects(InputError, field="metric"):
        compare(good.all, bad.all, metric="clas")
    with rejects(InputError, field="compare"):
        compare(good.all, bad.nopunct)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([1, 2], [1], [3, 3]), "second"),
        (([1.5], [1], [3]), "first"),
        (([4], [1], [3]), "first"),
        (([0], [0], [0]), "tokens"),
        (([], [], []), "tokens"),
    ],
)
def test_bad_counts_are_rejected(arguments, field):
    with rejects(InputError, field=field):
        sign_test(*arguments)


def test_bad_options_are_rejected():
    with rejects(InputError, field="samples"):
        paired_bootstrap(FIRST, SECOND, TOKENS, samples=0)
    with rejects(InputError, field="seed"):
        approximate_randomization(FIRST, SECOND, TOKENS, seed=-1)
