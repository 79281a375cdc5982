"""Calls that a newcomer makes: each says what to do instead, and what was answered stays as it was."""

import numpy as np
import pytest
from errors import rejects

import arbora
from arbora import TreeDistribution, inference
from arbora.data.synthetic import generate
from arbora.errors import InputError

SCORES = np.arange(16.0).reshape(4, 4)


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        (np.zeros(3), {}),
        (SCORES * np.nan, {}),
        (SCORES, {"trees": "x"}),
        (SCORES, {"required": [(9, 1)]}),
        ("x", {}),
        (None, {}),
    ],
)
def test_a_distribution_is_checked_when_it_is_made(scores, options):
    with pytest.raises(InputError):
        TreeDistribution(scores, **options)


def test_what_a_distribution_answered_cannot_be_overwritten():
    trees = TreeDistribution(SCORES)
    for array in (trees.arc_marginals, trees.marginals, trees.best.heads):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        trees.entropy = 5.0


def test_a_tree_is_given_by_its_heads():
    for query in (inference.log_prob, inference.expected_wrong_heads):
        with rejects(InputError, field="heads"):
            query(SCORES, inference.argmax(SCORES))
        with rejects(InputError, field="heads"):
            query(SCORES, [[0, 1], [2]])


def test_a_partial_tree_may_be_a_plain_list():
    assert inference.argmax(SCORES, required=[-1, 0, -1, 1]).heads.tolist()[1::2] == [0, 1]


def test_sentences_are_not_paths_and_trees_are_not_lists(tmp_path):
    sentence = next(iter(generate(1, seed=1)))
    with rejects(InputError, field="gold"):
        arbora.evaluate("gold.conllu", "parsed.conllu")
    with rejects(InputError, field="write"):
        arbora.write(sentence, tmp_path / "one.conllu")
    assert not list(tmp_path.iterdir())
    with rejects(InputError, field="tree"):
        arbora.projectivize([2, 0])
    with pytest.raises(InputError):
        TreeDistribution(SCORES).kl_divergence(SCORES)
