import math

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from arbora.errors import InputError, ModelError
from arbora.storage.model_file import read_model, write_model
from arbora.storage.quantization import BLOCK, MU, dequantize, flat_weights, quantize, stored

SLOPE = math.log1p(MU) / 254 * (1 + math.log1p(MU) / 127)


def size_of(tensors):
    return sum(array.nbytes for array in tensors.values())


def weights_of(size, share, kind="laplace"):
    random = np.random.default_rng(3)
    values = {
        "laplace": random.laplace(size=size),
        "heavy": random.standard_t(3, size=size),
        "wide": np.exp(random.normal(size=size) * 2) * random.choice([-1, 1], size),
    }[kind]
    return np.where(random.random(size) < share, values, 0).astype(np.float32)


def bound_of(weights, tensors):
    """How far each weight may be off: by its own size and by the largest of its block."""
    flat = weights.ravel().astype(np.float64)
    stored = np.flatnonzero(flat) if "weights.nonzero" in tensors else np.arange(flat.size)
    bound = np.zeros(flat.size)
    largest = np.repeat(tensors["weights.scales"].astype(np.float64), BLOCK)[: len(stored)]
    bound[stored] = SLOPE * (np.abs(flat[stored]) + largest / MU) * (1 + 1e-5) + 1e-44
    return bound.reshape(weights.shape)


@given(
    arrays.arrays(
        np.float32,
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=40),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False) | st.just(0.0),
    )
)
def test_every_weight_is_within_its_bound(weights):
    tensors = quantize(weights)
    restored = dequantize(tensors)
    assert (restored.dtype, restored.shape) == (np.float32, weights.shape)
    assert (np.abs(restored.astype(np.float64) - weights) <= bound_of(weights, tensors)).all()
    assert (restored[weights == 0] == 0).all()
    assert (restored * np.sign(weights) >= 0).all()


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["laplace", "heavy", "wide"])
def test_the_error_is_about_a_hundredth(kind, share):
    weights = weights_of(100_000, share, kind)
    tensors = quantize(weights)
    error = dequantize(tensors).astype(np.float64) - weights
    assert (np.abs(error) <= bound_of(weights, tensors)).all()
    assert np.sqrt(np.mean(error**2) / np.mean(weights.astype(np.float64) ** 2)) < 0.0125
    assert abs(error.sum()) < 0.002 * np.abs(weights).sum()  # no side is favoured


@pytest.mark.parametrize(
    ("share", "most"), [(0, 0.032), (0.05, 0.045), (0.3, 0.11), (0.6, 0.185), (1, 0.255)]
)
def test_the_size_is_a_quarter_or_less(share, most):
    weights = weights_of(200_000, share)
    tensors = quantize(weights)
    assert size_of(tensors) < most * weights.nbytes
    assert ("weights.nonzero" in tensors) == (share < 0.85)


def test_the_largest_weight_of_a_block_and_multiples_are_exact():
    weights = np.array([0.3, -7.25, 0, 0.3], np.float32)
    assert dequantize(quantize(weights))[1] == np.float32(-7.25)
    np.testing.assert_array_equal(
        dequantize(quantize(np.full((3, 5), 0.1, np.float32))), np.full((3, 5), 0.1, np.float32)
    )


def test_through_a_file_beside_others_and_again_the_same_bytes(tmp_path):
    arcs, labels = weights_of(5000, 0.3).reshape(50, 100), weights_of(300, 1.0)
    tensors = quantize(arcs, "arcs") | quantize(labels, "labels")
    write_model(tmp_path / "a", tensors, {})
    write_model(tmp_path / "b", quantize(arcs, "arcs") | quantize(labels, "labels"), {})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    found = read_model(tmp_path / "a")
    np.testing.assert_array_equal(dequantize(found.tensors, "arcs"), dequantize(tensors, "arcs"))
    again = dequantize(found.tensors, "labels")
    np.testing.assert_array_equal(dequantize(quantize(again)), again)  # what was rounded once stays


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [1e300], ["a"], [None], [1j]])
def test_weights_that_are_not_finite_numbers_are_rejected(bad):
    with rejects(InputError, field="weights"):
        quantize(np.array(bad))


def damage(part, change):
    tensors = quantize(weights_of(1003, 0.3).reshape(17, 59))
    name = f"weights.{part}"
    tensors[name] = change(tensors[name].copy())
    return tensors


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("shape", put(0, -17)),
        ("shape", put(0, 2**62)),
        ("shape", lambda array: np.concatenate([array, np.ones(40, np.int64)])),
        ("shape", lambda _: np.array([0, 2**62])),
        ("shape", put(0, 16)),
        ("shape", lambda array: array.astype(np.int32)),
        ("levels", lambda array: array[:-1]),
        ("levels", put(3, np.nan)),
        ("levels", put(3, 2.0)),
        ("codes", put(0, -128)),
        ("codes", lambda array: array[:-1]),
        ("codes", lambda array: array.view(np.uint8)),
        ("scales", lambda array: array[:-1]),
        ("scales", put(0, np.inf)),
        ("nonzero", lambda array: array[:-1]),
        ("nonzero", put(0, 255)),
        ("nonzero", lambda array: np.roll(array, 1) ^ np.uint8(0x80)),
        ("nonzero", lambda array: array.reshape(2, -1)),
    ],
)
def test_tensors_that_do_not_fit_together_are_rejected(part, change):
    with rejects(ModelError, source="m.arbora") as caught:
        dequantize(damage(part, change), source="m.arbora")
    assert caught.value.field.startswith("tensor 'weights.")


@pytest.mark.parametrize("part", ["shape", "levels", "codes", "scales", "nonzero"])
def test_a_missing_tensor_is_rejected(part):
    tensors = quantize(weights_of(1003, 0.3))
    del tensors[f"weights.{part}"]
    with pytest.raises(ModelError) as caught:
        dequantize(tensors)
    assert caught.value.field.startswith("tensor 'weights.")


def test_a_bit_beyond_the_last_weight_is_rejected():
    tensors = quantize(np.array([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2], np.float32))
    tensors["weights.nonzero"] = np.array([0b10, 0b1000], np.uint8)
    with rejects(ModelError, source="<model>", field="tensor 'weights.nonzero'"):
        dequantize(tensors)


@pytest.mark.parametrize("share", [0, 0.02, 0.3, 0.7, 1.0])
def test_exact_weights_are_restored_to_the_bit_and_take_less_space_where_many_are_zero(share, tmp_path):
    weights = weights_of(100_003, share)
    weights[:3] = [-0.0, 0.0, np.float32(1e-42)]
    tensors = stored(weights, "tree", quantized=False)
    assert size_of(tensors) <= min(1, share + 0.04) * weights.nbytes
    write_model(tmp_path / "m", tensors, {})
    restored = flat_weights(read_model(tmp_path / "m"), "tree", weights.size)
    np.testing.assert_array_equal(restored.view(np.uint32), weights.view(np.uint32))
    with pytest.raises(ModelError):
        flat_weights(read_model(tmp_path / "m"), "tree", weights.size + 1)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("shape", put(0, 2**40)),
        ("shape", put(0, -1)),
        ("values", lambda array: array[:-1]),
        ("values", lambda array: array.astype(np.float64)),
        ("nonzero", lambda array: array[:-1]),
        ("nonzero", put(0, 255)),
        ("nonzero", None),
        ("shape", None),
    ],
)
def test_damaged_exact_weights_are_rejected(part, change, tmp_path):
    tensors = stored(weights_of(1003, 0.3), "tree", quantized=False)
    damaged = tensors.pop(f"tree.{part}")
    if change is not None:
        tensors[f"tree.{part}"] = change(damaged.copy())
    write_model(tmp_path / "m", tensors, {})
    with pytest.raises(ModelError):
        flat_weights(read_model(tmp_path / "m"), "tree", 1003)
