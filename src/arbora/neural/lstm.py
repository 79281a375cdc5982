"""An LSTM layer over packed sequences: PyTorch's own on a GPU, native code on a CPU.

On a CPU, PyTorch's gradient adds up the recurrent weights' gradient step by step and copies whole inputs at
each. Here both are one product over all steps, and the steps themselves are in core/neural/lstm_training.hpp.
tests/neural/test_lstm.py shows that the two are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from arbora._core import lstm_backward, lstm_forward
from arbora.types import Floats

Weights = list[Tensor]
"""Of one direction: input [4 · size, inputs], recurrent [4 · size, size], bias [4 · size]; i, f, g, o."""


def bidirectional(x: Tensor, counts: list[int], forward: Weights, backward: Weights) -> Tensor:
    """States of all tokens, (tokens, 2 · size).

    `x`: (tokens, inputs), packed: the first tokens of all sequences, longest first, then the second ones.
    `counts`: how many sequences have a t-th token.
    """
    if x.is_cuda or x.dtype != torch.float32 or forward[1].shape[1] % 4:
        return _library(x, counts, forward, backward)
    steps = np.array(counts, np.int32)
    sides = (_Direction.apply(x, steps, False, *forward), _Direction.apply(x, steps, True, *backward))
    return torch.cat(sides, dim=1)


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
        ctx: Any, x: Tensor, counts: Any, is_backward: bool, w: Tensor, u: Tensor, b: Tensor
    ) -> Tensor:
        gates = torch.addmm(b, x, w.t())  # becomes i, f, g, o in place
        found = lstm_forward(gates.numpy(), _array(u), counts, is_backward)
        ctx.save_for_backward(x, w, u)
        ctx.steps, ctx.sequences = (gates.numpy(), *found), (counts, is_backward)
        return torch.from_numpy(found[-1])

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Any, ...]:
        x, w, u = ctx.saved_tensors
        gates, cells, shown, states = ctx.steps
        found = lstm_backward(_array(given), gates, cells, shown, states, _array(u), *ctx.sequences)
        slopes, before = map(torch.from_numpy, found)
        return slopes @ w, None, None, slopes.t() @ x, slopes.t() @ before, slopes.sum(dim=0)


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array
