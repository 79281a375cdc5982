"""Networks with int8 weights: how they are given, how near they are to float32, and what is rejected."""

import numpy as np
import pytest
from network_toys import LENGTHS, OUTPUTS, network, sentences, tensors

from arbora.errors import InputError

SHAPE = (48, 2, 40, 31)
OPTIONS = {"rank": 5, "tag_columns": 1}


def in_int8(array, axes=1):
    """Weights in int8 and a scale for each place of the first axes."""
    flat = array.reshape(*array.shape[:axes], -1)
    scales = (np.abs(flat).max(axis=-1) / 127).astype(np.float32)
    rounded = np.rint(flat / np.maximum(scales, 1e-30)[..., None])
    return rounded.astype(np.int8).reshape(array.shape), scales


def stored_in_int8(weights):
    """The same network as a model file may hold it: matrices in int8, everything else in float32."""
    stored = {}
    for name, array in weights.items():
        if array.ndim < 2:
            stored[name] = array
        else:
            stored[name], stored[f"{name}.scales"] = in_int8(array, array.ndim - 1)
    return stored


def float_values(stored):
    return {
        name: array * scales.reshape(*scales.shape, *[1] * (array.ndim - scales.ndim))
        if (scales := stored.get(f"{name}.scales")) is not None
        else array
        for name, array in stored.items()
        if not name.endswith(".scales")
    }


def scores(native, given):
    states = native.encode(**given, threads=1)
    heads = np.zeros(given["lengths"].sum(), np.int32)
    tags = [native.outputs(states, i, 1) for i in range(len(OUTPUTS))]
    return [*native.arcs(states, 1), *native.siblings(states, 1), native.labels(states, heads, 1), *tags]


@pytest.fixture(scope="module")
def weights():
    return tensors(*SHAPE, **OPTIONS)


@pytest.fixture(scope="module")
def given():
    return sentences(LENGTHS, tag_columns=1)


def test_stored_int8_is_the_same_as_its_values_in_float32(weights, given):
    stored = stored_in_int8(weights)
    ours, values = network(stored), network(float_values(stored))
    assert ours.parameters == values.parameters == network(weights).parameters
    assert all(map(np.array_equal, scores(ours, given), scores(values, given)))


@pytest.mark.parametrize("axes", [1, 2])
def test_scales_may_be_shared_by_several_rows(weights, given, axes):
    name = "convolution0.weight"
    rounded, scales = in_int8(weights[name], axes)
    stored = {**weights, name: rounded, f"{name}.scales": scales}
    assert all(
        map(np.array_equal, scores(network(stored), given), scores(network(float_values(stored)), given))
    )


@pytest.mark.parametrize("store", [dict, stored_in_int8], ids=["float32", "int8"])
def test_quantized_scores_are_near(weights, given, store):
    exact, rounded = scores(network(weights), given), scores(network(store(weights), quantized=True), given)
    for ours, theirs in zip(rounded, exact, strict=True):
        assert np.isfinite(ours).all()
        if ours.size > 4:
            assert np.abs(ours - theirs).max() < 0.1 * max(1.0, np.abs(theirs).max())
    assert not all(map(np.array_equal, exact, rounded))


@pytest.mark.parametrize("threads", [2, 5])
def test_quantized_scores_do_not_depend_on_threads_or_neighbours(weights, threads):
    native = network(tensors(*SHAPE), quantized=True)
    given = sentences([5, 30, 1, 0] * 40)
    several = native.arcs(native.encode(**given, threads=threads), threads)
    assert all(map(np.array_equal, native.arcs(native.encode(**given, threads=1), 1), several))
    alone = {**given, "lengths": given["lengths"][:1], "types": given["types"][:5]}
    assert np.array_equal(native.arcs(native.encode(**alone, threads=1), 1)[0], several[0])


@pytest.mark.parametrize("quantized", [False, True])
def test_weights_of_zero_are_allowed(weights, given, quantized):
    zeros = {name: np.zeros_like(array) for name, array in weights.items()}
    for array in scores(network(zeros, quantized=quantized), given):
        assert not array.any()


def wrong_scales(scales):
    yield None
    yield scales[:-1]
    yield np.append(scales, scales[:1])
    yield scales[:, None]
    yield scales[0]
    yield scales[:0]
    yield np.full_like(scales, np.nan)
    yield np.full_like(scales, np.inf)
    yield np.full_like(scales, 3e38)
    yield np.ones(len(scales), np.int8)


@pytest.mark.parametrize("case", range(10))
@pytest.mark.parametrize("name", ["arcs", "lstm0.forward.input", "word"])
def test_scales_that_do_not_fit_are_rejected(weights, name, case):
    array, scales = in_int8(weights[name])
    stored = {**weights, name: array}
    if (wrong := list(wrong_scales(scales))[case]) is not None:
        stored[f"{name}.scales"] = wrong
    with pytest.raises(InputError):
        network(stored)


@pytest.mark.parametrize("name", ["arc_bias", "root", "lstm0.forward.bias"])
def test_lines_in_int8_are_rejected(weights, name):
    """They have no rows that a scale could be of."""
    stored = {**weights, name: np.ones(len(weights[name]), np.int8), f"{name}.scales": np.ones(1, np.float32)}
    with pytest.raises(InputError):
        network(stored)


@pytest.mark.parametrize("quantized", [False, True])
def test_types_that_were_seen_before_change_nothing(weights, given, quantized):
    """Gates of word types are kept between calls; the second call has them all."""
    native = network(weights, quantized=quantized)
    first, second = scores(native, given), scores(native, given)
    assert all(map(np.array_equal, first, second))
    backwards = {
        **given,
        "types": given["types"][::-1].copy(),
        "tags": [tags[::-1].copy() for tags in given["tags"]],
    }
    fresh = network(weights, quantized=quantized)
    assert all(map(np.array_equal, scores(native, backwards), scores(fresh, backwards)))


@pytest.mark.parametrize("seed", range(60))
def test_damaged_networks_are_rejected_or_work(weights, given, seed):
    """Random damage to one tensor: an InputError, or finite scores, never a crash."""
    rng = np.random.default_rng(seed)
    stored = stored_in_int8(weights) if seed % 2 else dict(weights)
    name = rng.choice(sorted(stored))
    array = stored[name]
    match int(rng.integers(6)):
        case 0:
            del stored[name]
        case 1:
            stored[name] = np.ascontiguousarray(array[..., : array.shape[-1] // 2])
        case 2:
            stored[name] = np.concatenate([array, array])
        case 3:
            stored[name] = array.reshape(-1)
        case 4:
            stored[name] = np.full(array.shape, 3e38, np.float32)
        case 5:
            stored[name] = array.T.copy()
    try:
        native = network(stored, quantized=bool(seed % 3))
        states = native.encode(**given, threads=1)
        assert all(np.isfinite(arcs).all() for arcs in native.arcs(states, 1))
    except InputError:
        return
    heads = native.trees(states, projective=True, single_root=True, given=None, threads=1)
    if native.label_count:
        native.best_labels(states, heads, 1)


def test_tables_too_large_to_make_are_rejected():
    """A table of characters and filters would need a terabyte."""
    weights = tensors(4, 1, 3, 2)
    weights["character"] = np.zeros((1_000_000, 1), np.float32)
    for i, width in enumerate((3, 5)):
        weights[f"convolution{i}.weight"] = np.zeros((100_000, 1, width), np.float32)
        weights[f"convolution{i}.bias"] = np.zeros(100_000, np.float32)
    with pytest.raises(InputError):
        network(weights)
