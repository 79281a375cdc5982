"""The native forward pass of networks against plain NumPy, over sizes, batches and threads."""

import numpy as np
import pytest
from network_toys import (
    LABELS,
    LENGTHS,
    OUTPUTS,
    TAGS,
    network,
    reference,
    scores_from,
    sentences,
    tensors,
    without_words,
)

from arbora.errors import InputError


def answers(native, given, heads, threads=1):
    return answers_from(native, native.encode(**given, threads=threads), heads, threads)


def answers_from(native, states, heads, threads=1):
    arcs, labels = native.arcs(states, threads), native.labels(states, heads, threads)
    tags = [native.outputs(states, i, threads) for i in range(len(OUTPUTS))]
    return arcs, labels, tags, native.siblings(states, threads) if native.has_siblings else []


SIZES = {"tiny": (4, 1, 3, 2), "odd": (21, 2, 33, 10), "small": (128, 2, 128, 64), "deep": (48, 3, 70, 31)}
PARTS = {"plain": {}, "tags": {"tag_columns": 2}, "all": {"tag_columns": 1, "rank": 5}}


def assert_equal_the_definition(weights, native, given):
    lengths = given["lengths"].tolist()
    heads = np.concatenate([np.arange(n)[::-1] for n in lengths]).astype(np.int32)
    assert_equal(native, answers(native, given, heads), reference(weights, given, heads))


def assert_equal(native, found_answers, references):
    arcs, labels, tags, siblings = found_answers
    at = 0
    for i, (own, expected) in enumerate(zip(arcs, references, strict=True)):
        end = at + len(own) - 1
        np.testing.assert_allclose(own, expected[0], atol=1e-4)
        np.testing.assert_allclose(labels[at:end], expected[1], atol=1e-4)
        for found, of_column in zip(tags, expected[2], strict=True):
            np.testing.assert_allclose(found[at:end], of_column, atol=1e-4)
        if native.has_siblings:
            np.testing.assert_allclose(siblings[i], expected[3], atol=1e-4)
            assert siblings[i].dtype == np.float64
        at = end


@pytest.mark.parametrize("shape", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_scores_equal_the_definition(shape, parts):
    weights = tensors(*shape, **parts)
    native = network(weights)
    assert native.has_siblings == ("rank" in parts)
    given = sentences(LENGTHS, tag_columns=parts.get("tag_columns", 0))
    assert_equal_the_definition(weights, native, given)


@pytest.mark.parametrize("size", [4, 21, 48])
def test_scores_from_given_states_equal_the_definition(size):
    weights = without_words(tensors(size, 1, 33, 10, rank=3), 2 * size)
    native, rng = network(weights), np.random.default_rng(1)
    rows = rng.normal(size=(sum(LENGTHS), 2 * size)).astype(np.float32)
    heads = np.concatenate([np.arange(n)[::-1] for n in LENGTHS]).astype(np.int32)
    states = native.given(np.array(LENGTHS, np.int32), rows)
    bounds = np.cumsum(LENGTHS)[:-1]
    sentences = zip(np.split(rows, bounds), np.split(heads, bounds), strict=True)
    expected = [scores_from(weights, [np.vstack([weights["root"], own])], arcs) for own, arcs in sentences]
    assert_equal(native, answers_from(native, states, heads), expected)
    quantized = network(weights, quantized=True)
    again = answers_from(quantized, quantized.given(np.array(LENGTHS, np.int32), rows), heads)
    np.testing.assert_allclose(again[0][-1], expected[-1][0], atol=0.05 * np.abs(expected[-1][0]).max())


def test_states_that_do_not_fit_are_rejected():
    of_words = network(tensors(4, 1, 3, 2))
    native = network(without_words(tensors(4, 1, 3, 2), 8))
    two = np.array([2], np.int32)
    for lengths, shape in ((two, (2, 7)), (two, (3, 8)), (two + 1, (2, 8)), (-two, (2, 8))):
        with pytest.raises(InputError):
            native.given(lengths, np.zeros(shape, np.float32))
    with pytest.raises(InputError):
        of_words.given(two, np.zeros((2, 8), np.float32))
    with pytest.raises(InputError):
        native.encode(**sentences([2]), threads=1)
    with pytest.raises(InputError):
        of_words.arcs(native.given(two, np.zeros((2, 8), np.float32)), 1)
    assert native.arcs(native.given(two[:0], np.zeros((0, 8), np.float32)), 1) == []


@pytest.mark.parametrize("threads", [2, 5])
def test_scores_do_not_depend_on_threads(threads):
    native = network(tensors(21, 2, 33, 10, rank=3))
    given = sentences([5, 30, 1] * 70)
    heads = np.zeros(given["lengths"].sum(), np.int32)
    one, several = answers(native, given, heads), answers(native, given, heads, threads)
    assert np.array_equal(one[1], several[1])
    for i in (0, 2, 3):
        assert all(map(np.array_equal, one[i], several[i]))


def test_scores_do_not_depend_on_other_sentences():
    native, given = network(tensors(21, 2, 33, 10)), sentences(LENGTHS)
    together = native.arcs(native.encode(**given, threads=1), 1)
    ends = np.cumsum(LENGTHS)
    for i, end in enumerate(ends.tolist()):
        alone = {
            **given,
            "lengths": given["lengths"][i : i + 1],
            "types": given["types"][end - LENGTHS[i] : end],
        }
        assert np.array_equal(native.arcs(native.encode(**alone, threads=1), 1)[0], together[i])


def test_no_sentences_have_no_scores():
    native = network(tensors(4, 1, 3, 2))
    arcs, labels, tags, _ = answers(native, sentences([]), np.zeros(0, np.int32))
    assert arcs == []
    assert labels.shape == (0, LABELS)
    assert [each.shape for each in tags] == [(0, count) for count in OUTPUTS.values()]


@pytest.mark.parametrize("name", sorted(tensors(4, 1, 3, 2, rank=2)))
@pytest.mark.parametrize("fault", ["missing", "empty", "flat", "longer", "nan"])
def test_tensors_that_do_not_fit_are_rejected(name, fault):
    """Except for tensors whose presence says what the network has, and first axes, which any size fits."""
    weights = tensors(4, 1, 3, 2, rank=2)
    array = weights.pop(name)
    optional = name in ("labels.weight", "sibling_head.weight")
    free = {"word", "character"}
    match fault:
        case "missing" if optional:
            return
        case "empty":
            weights[name] = array[:0]
        case "flat":
            weights[name] = array.reshape(1, -1, 1, 1)
        case "longer" if name in free:
            return
        case "longer":
            weights[name] = np.concatenate([array, array[:1]])
        case "nan":
            weights[name] = array.copy()
            weights[name].flat[-1] = np.nan
    with pytest.raises(InputError):
        network(weights)


@pytest.mark.parametrize("name", ["types", "words", "vectors", "characters", "ends", "lengths"])
@pytest.mark.parametrize("value", [-1, 10_000])
def test_input_that_names_missing_rows_is_rejected(name, value):
    given = sentences(LENGTHS)
    given[name][-1] = value
    with pytest.raises(InputError):
        network(tensors(4, 1, 3, 2)).encode(**given, threads=1)


@pytest.mark.parametrize("columns", [[], [[0] * 3], [[0] * 4, [0] * 4], [[TAGS] * 4], [[-1] * 4]])
def test_tags_that_do_not_fit_are_rejected(columns):
    given = {**sentences([4]), "tags": [np.array(column, np.int32) for column in columns]}
    with pytest.raises(InputError):
        network(tensors(4, 1, 3, 2, tag_columns=1)).encode(**given, threads=1)


@pytest.mark.parametrize("heads", [[0, 1], [0, 1, 2, 5], [0, 1, 2, -1]])
def test_heads_outside_the_sentence_are_rejected(heads):
    native = network(tensors(4, 1, 3, 2))
    states = native.encode(**sentences([4]), threads=1)
    with pytest.raises(InputError):
        native.labels(states, np.array(heads, np.int32), 1)
