"""The native forward pass of networks against plain NumPy, over sizes, batches and threads."""

import numpy as np
import pytest

from arbora._core import Network
from arbora.errors import InputError

WORDS, CHARACTERS, VECTORS, VECTOR_SIZE = 50, 40, 30, 11
LABELS, OUTPUTS, TAGS = 7, {"upos": 5, "feats": 37}, 6
SLOPE = 0.1


def tensors(size, layers, arc, label, *, tag_columns=0, seed=0):
    """Random weights of a network, as a model file holds them."""
    rng = np.random.default_rng(seed)

    def some(*shape, scale=0.3):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    made = {"word": some(WORDS, 23), "character": some(CHARACTERS, 9), "projection": some(13, VECTOR_SIZE)}
    for i, width in enumerate((3, 5)):
        made[f"convolution{i}.weight"], made[f"convolution{i}.bias"] = some(7, 9, width), some(7)
    inputs = 23 + 14 + 13
    for i in range(tag_columns):
        made[f"tag{i}"] = some(TAGS, 10)
        inputs += 10
    made["root"] = some(inputs)
    for layer in range(layers):
        for side in ("forward", "backward"):
            name = f"lstm{layer}.{side}"
            made[f"{name}.input"] = some(4 * size, inputs if layer == 0 else 2 * size, scale=size**-0.5)
            made[f"{name}.recurrent"] = some(4 * size, size, scale=size**-0.5)
            made[f"{name}.bias"] = some(4 * size)
    outputs = {f"output.{name}": count for name, count in OUTPUTS.items()}
    hidden = {"arc_head": arc, "arc_dep": arc, "label_head": label, "label_dep": label}
    for name, count in (hidden | outputs).items():
        made[f"{name}.weight"], made[f"{name}.bias"] = some(count, 2 * size, scale=0.1), some(count)
    made["arcs"], made["arc_bias"] = some(arc, arc), some(arc)
    made["labels"] = some(LABELS, label + 1, label + 1)
    return made


def vectors(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-127, 128, (VECTORS, VECTOR_SIZE)).astype(np.int8)
    rows[0] = 0
    return rows, rng.uniform(0, 0.02, VECTORS).astype(np.float32)


def network(weights, **changed):
    return Network({**weights, **changed}, *vectors(), list(OUTPUTS))


def sentences(lengths, *, tag_columns=0, seed=0):
    """Arguments of `encode`: random words; the first distinct word has no characters."""
    rng = np.random.default_rng(seed)
    types, words = 25, sum(lengths)
    counts = np.append(0, rng.integers(1, 9, types - 1))
    return {
        "lengths": np.array(lengths, np.int32),
        "types": rng.integers(0, types, words).astype(np.int32),
        "words": rng.integers(0, WORDS, types).astype(np.int32),
        "vectors": rng.integers(0, VECTORS, types).astype(np.int32),
        "characters": rng.integers(0, CHARACTERS, counts.sum()).astype(np.int32),
        "ends": np.cumsum(counts).astype(np.int64),
        "tags": [rng.integers(0, TAGS, words).astype(np.int32) for _ in range(tag_columns)],
    }


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def character_features(weights, characters):
    """A convolution's largest value over all places of a word, at least 0."""
    features = []
    for i in (0, 1):
        kernel, bias = weights[f"convolution{i}.weight"], weights[f"convolution{i}.bias"]
        half = kernel.shape[2] // 2
        found = [np.zeros(len(bias))]
        for at in range(len(characters)):
            total = bias.astype(float)
            for place in range(kernel.shape[2]):
                if 0 <= at + place - half < len(characters):
                    total = total + kernel[:, :, place] @ weights["character"][characters[at + place - half]]
            found.append(total)
        features.append(np.max(found, axis=0))
    return np.concatenate(features)


def lstm(weights, name, inputs):
    size = weights[f"{name}.recurrent"].shape[1]
    cell, output, outputs = np.zeros(size), np.zeros(size), []
    for x in inputs:
        gates = weights[f"{name}.input"] @ x + weights[f"{name}.recurrent"] @ output + weights[f"{name}.bias"]
        i, f, g, o = np.split(gates, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        output = sigmoid(o) * np.tanh(cell)
        outputs.append(output)
    return np.array(outputs)


def reference(weights, given, heads):
    """Scores of arcs, labels and tags of each sentence, by the definitions in core/neural/network.hpp."""
    weights = {name: array.astype(np.float64) for name, array in weights.items()}
    rows, scales = vectors()
    dense = rows * scales[:, None].astype(np.float64)
    starts = np.append(0, given["ends"][:-1])
    types = [
        np.concatenate(
            [
                weights["word"][given["words"][t]],
                character_features(weights, given["characters"][starts[t] : given["ends"][t]]),
                weights["projection"] @ dense[given["vectors"][t]],
            ]
        )
        for t in range(len(given["words"]))
    ]
    layers = sum(name.endswith("forward.recurrent") for name in weights)
    at, results = 0, []
    for n in given["lengths"].tolist():
        inputs = [weights["root"]]
        for word in range(at, at + n):
            tags = [weights[f"tag{i}"][column[word]] for i, column in enumerate(given["tags"])]
            inputs.append(np.concatenate([types[given["types"][word]], *tags]))
        for layer in range(layers):
            forward = lstm(weights, f"lstm{layer}.forward", inputs)
            backward = lstm(weights, f"lstm{layer}.backward", inputs[::-1])[::-1]
            inputs = np.concatenate([forward, backward], axis=1)

        def hidden(name, states=inputs):
            x = states @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
            return np.where(x > 0, x, SLOPE * x)

        dep, head = hidden("arc_dep"), hidden("arc_head")
        arcs = (dep @ weights["arcs"] @ head.T + head @ weights["arc_bias"]).T
        arcs[:, 0] = arcs[np.arange(n + 1), np.arange(n + 1)] = 0
        one = np.ones((n + 1, 1))
        by_head, by_dep = np.hstack([hidden("label_head"), one]), np.hstack([hidden("label_dep"), one])
        own = by_head[heads[at : at + n]]
        labels = np.einsum("ni,lij,nj->nl", own, weights["labels"], by_dep[1:])
        tags = [inputs[1:] @ weights[f"output.{o}.weight"].T + weights[f"output.{o}.bias"] for o in OUTPUTS]
        results.append((arcs, labels, tags))
        at += n
    return results


def answers(native, given, heads, threads=1):
    states = native.encode(**given, threads=threads)
    arcs, labels = native.arcs(states, threads), native.labels(states, heads, threads)
    return arcs, labels, [native.outputs(states, i, threads) for i in range(len(OUTPUTS))]


LENGTHS = [3, 0, 12, 1, 7, 7, 19]
SIZES = {"tiny": (4, 1, 3, 2), "odd": (21, 2, 33, 10), "small": (128, 2, 128, 64), "deep": (48, 3, 70, 31)}


@pytest.mark.parametrize("shape", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("tag_columns", [0, 2])
def test_scores_equal_the_definition(shape, tag_columns):
    weights = tensors(*shape, tag_columns=tag_columns)
    given = sentences(LENGTHS, tag_columns=tag_columns)
    heads = np.concatenate([np.arange(n)[::-1] for n in LENGTHS]).astype(np.int32)
    arcs, labels, tags = answers(network(weights), given, heads)
    at = 0
    for own, (expected_arcs, expected_labels, expected_tags) in zip(
        arcs, reference(weights, given, heads), strict=True
    ):
        end = at + len(own) - 1
        np.testing.assert_allclose(own, expected_arcs, atol=1e-4)
        np.testing.assert_allclose(labels[at:end], expected_labels, atol=1e-4)
        for found, expected in zip(tags, expected_tags, strict=True):
            np.testing.assert_allclose(found[at:end], expected, atol=1e-4)
        at = end


@pytest.mark.parametrize("threads", [2, 5])
def test_scores_do_not_depend_on_threads(threads):
    native, given = network(tensors(21, 2, 33, 10)), sentences([5, 30, 1] * 70)
    heads = np.zeros(given["lengths"].sum(), np.int32)
    one, several = answers(native, given, heads), answers(native, given, heads, threads)
    assert all(map(np.array_equal, one[0], several[0]))
    assert np.array_equal(one[1], several[1])
    assert all(map(np.array_equal, one[2], several[2]))


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
    arcs, labels, tags = answers(native, sentences([]), np.zeros(0, np.int32))
    assert arcs == []
    assert labels.shape == (0, LABELS)
    assert [each.shape for each in tags] == [(0, count) for count in OUTPUTS.values()]


@pytest.mark.parametrize("name", sorted(tensors(4, 1, 3, 2)))
@pytest.mark.parametrize("fault", ["missing", "empty", "flat", "longer", "nan"])
def test_tensors_that_do_not_fit_are_rejected(name, fault):
    """Except for tensors whose presence says what the network has, and first axes, which any size fits."""
    weights = tensors(4, 1, 3, 2)
    array = weights.pop(name)
    optional = name in ("labels", "convolution1.weight")
    free = {"word", "character", "arc_head.weight", "label_head.weight", "labels"}
    match fault:
        case "missing" if optional:
            return
        case "empty":
            weights[name] = array[:0]
        case "flat":
            weights[name] = array.reshape(1, -1, 1, 1)
        case "longer" if name in free or name.startswith("output."):
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
