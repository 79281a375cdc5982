"""An LSTM layer over packed sequences: PyTorch's own on a GPU, native code on a CPU.

On a CPU, PyTorch's gradient adds up the recurrent weights' gradient step by step and copies whole inputs at
each. Here both are one product over all steps, and the steps themselves are in core/neural/lstm_training.hpp.
Inputs that several tokens share are multiplied once.
tests/neural/test_lstm.py shows that the two are equal.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arbora._core import lstm_backward, lstm_forward
from arbora.types import Floats

# On a GPU, PyTorch warns of weights that are not in one piece; dropout makes them anew for each batch.
warnings.filterwarnings("ignore", "RNN module weights", UserWarning)

Weights = list[Tensor]
"""Of one direction: input [4 · size, inputs], recurrent [4 · size, size], bias [4 · size]; i, f, g, o."""


def bidirectional(
    x: Tensor, counts: list[int], forward: Weights, backward: Weights, rows: Tensor | None = None
) -> Tensor:
    """States of all tokens, (tokens, 2 · size).

    Tokens are packed: the first of all sequences, longest first, then the second ones. `counts`: how many
    sequences have a t-th token. `x`: (tokens, inputs), or with `rows` the inputs that tokens share, and the
    row of each token.
    """
    if x.is_cuda or x.dtype != torch.float32 or forward[1].shape[1] % 4:
        return _library(x if rows is None else x[rows], counts, forward, backward)
    steps = np.array(counts, np.int32)
    sides = (_Direction.apply(x, rows, steps, side, *w) for side, w in ((False, forward), (True, backward)))
    return torch.cat(tuple(sides), dim=1)


def _library(x: Tensor, counts: list[int], forward: Weights, backward: Weights) -> Tensor:
    """The same by PyTorch, which has two biases."""
    weights = [w for side in (forward, backward) for w in (*side, torch.zeros_like(side[2]))]
    start = x.new_zeros(2, counts[0], forward[1].shape[1])
    options = (True, 1, 0.0, True, True)  # biases, layers, dropout, training, bidirectional
    found = torch.lstm(x, torch.tensor(counts), (start, start), weights, *options)
    states: Tensor = found[0]
    return states


class _Direction(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, rows: Any, counts: Any, is_backward: bool, w: Tensor, u: Tensor, b: Tensor
    ) -> Tensor:
        gates = torch.addmm(b, x, w.t())  # becomes i, f, g, o in place
        gates = gates if rows is None else gates[rows]
        found = lstm_forward(gates.numpy(), _array(u), counts, is_backward)
        ctx.save_for_backward(x, rows, w, u)
        ctx.steps, ctx.sequences = (gates.numpy(), *found), (counts, is_backward)
        return torch.from_numpy(found[-1])

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Any, ...]:
        x, rows, w, u = ctx.saved_tensors
        gates, cells, shown, states = ctx.steps
        found = lstm_backward(_array(given), gates, cells, shown, states, _array(u), *ctx.sequences)
        slopes, before = map(torch.from_numpy, found)
        of_inputs = slopes
        if rows is not None:
            of_inputs = slopes.new_zeros(len(x), slopes.shape[1]).index_add_(0, rows, slopes)
        of_weights = (of_inputs.t() @ x, slopes.t() @ before, slopes.sum(dim=0))
        return of_inputs @ w, None, None, None, *of_weights


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array
