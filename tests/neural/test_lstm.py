"""The LSTM layer of training in native code against PyTorch's."""

import numpy as np
import pytest
from errors import rejects

torch = pytest.importorskip("torch", reason="networks are trained with PyTorch")

from arbora._core import lstm_backward, lstm_forward  # noqa: E402
from arbora.errors import InputError  # noqa: E402
from arbora.neural.lstm import bidirectional  # noqa: E402


def problem(lengths, inputs, size, dtype, seed=0):
    """A layer of PyTorch, packed inputs, and the weights of both directions."""
    torch.manual_seed(seed)
    counts = [sum(length > t for length in lengths) for t in range(max(lengths))]
    made = torch.nn.LSTM(inputs, size, bidirectional=True, dtype=dtype)
    for name, bias in made.named_parameters():
        if "bias_hh" in name:
            torch.nn.init.zeros_(bias)
    sides = [
        [getattr(made, f"{name}_l0{side}") for name in ("weight_ih", "weight_hh", "bias_ih")]
        for side in ("", "_reverse")
    ]
    return made, torch.randn(sum(lengths), inputs, dtype=dtype, requires_grad=True), counts, sides


@pytest.mark.parametrize("lengths", [[1], [5], [7, 7, 7], [9, 4, 4, 3, 1, 1], [3, 2, 1], [20] * 30])
@pytest.mark.parametrize("size", [4, 16, 20, 200])
def test_states_and_gradients_are_those_of_pytorch(lengths, size):
    made, x, counts, sides = problem(lengths, 5, size, torch.float32)
    weights = [x, *sides[0], *sides[1]]
    own = bidirectional(x, counts, *sides)
    packed = torch.nn.utils.rnn.PackedSequence(x, torch.tensor(counts))
    expected = made(packed)[0].data
    factors = torch.randn_like(expected)
    torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)
    found = torch.autograd.grad((own * factors).sum(), weights)
    right = torch.autograd.grad((expected * factors).sum(), weights)
    for gradient, reference in zip(found, right, strict=True):
        torch.testing.assert_close(gradient, reference, atol=2e-5 * float(reference.abs().max()), rtol=1e-4)


def test_inputs_may_be_shared():
    _, x, counts, sides = problem([9, 4, 4, 3, 1, 1], 5, 16, torch.float32)
    rows = torch.tensor([i * i % 7 for i in range(sum(counts))])
    distinct = x[:7].detach().requires_grad_()
    weights = [distinct, *sides[0], *sides[1]]
    answers = [bidirectional(distinct, counts, *sides, rows), bidirectional(distinct[rows], counts, *sides)]
    torch.testing.assert_close(*answers)
    factors = torch.randn_like(answers[0])
    gradients = [torch.autograd.grad((each * factors).sum(), weights) for each in answers]
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("size", "dtype"), [(6, torch.float32), (8, torch.float64)])
def test_other_sizes_and_numbers_are_left_to_pytorch(size, dtype):
    made, x, counts, sides = problem([4, 2, 1], 5, size, dtype)
    packed = torch.nn.utils.rnn.PackedSequence(x, torch.tensor(counts))
    torch.testing.assert_close(bidirectional(x, counts, *sides), made(packed)[0].data)


def arrays(tokens=6, size=4):
    return {
        "gates": np.zeros((tokens, 4 * size), np.float32),
        "recurrent": np.zeros((4 * size, size), np.float32),
        "counts": np.array([3, 2, 1], np.int32),
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": np.array([3, 2], np.int32)},
        {"counts": np.array([3, 4, -1], np.int32)},
        {"counts": np.array([1, 2, 3], np.int32)},
        {"recurrent": np.zeros((16, 3), np.float32)},
        {"recurrent": np.zeros((24, 6), np.float32)},
        {"recurrent": np.zeros((12, 4), np.float32)},
        {"gates": np.zeros((6, 12), np.float32)},
    ],
)
def test_arrays_that_do_not_fit_are_rejected(changes):
    given = {**arrays(), **changes}
    with rejects(InputError):
        lstm_forward(**given, is_backward=False)
    more = {name: np.zeros((6, 4), np.float32) for name in ("given", "cells", "shown", "states")}
    with rejects(InputError):
        lstm_backward(**given, **more, is_backward=False)


@pytest.mark.parametrize("name", ["given", "cells", "shown", "states"])
def test_kept_arrays_that_do_not_fit_are_rejected(name):
    more = {each: np.zeros((6, 4), np.float32) for each in ("given", "cells", "shown", "states")}
    with rejects(InputError):
        lstm_backward(**arrays(), **more | {name: np.zeros((5, 4), np.float32)}, is_backward=True)
