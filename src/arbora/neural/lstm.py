"""An LSTM layer over packed sequences, with its gradient written out.

PyTorch's own layer is fast on a GPU. On a CPU, its gradient adds up the recurrent weights' gradient step by
step and copies whole inputs at each; here both are one product over all steps. tests/neural/test_lstm.py
shows that the two are equal.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Weights = list[Tensor]
"""Of one direction: input [4 · size, inputs], recurrent [4 · size, size], bias [4 · size]; i, f, g, o."""


def bidirectional(x: Tensor, counts: list[int], forward: Weights, backward: Weights) -> Tensor:
    """States of all tokens, (tokens, 2 · size).

    `x`: (tokens, inputs), packed: the first tokens of all sequences, longest first, then the second ones.
    `counts`: how many sequences have a t-th token.
    """
    if x.is_cuda:
        return _library(x, counts, forward, backward)
    sides = (_Direction.apply(x, counts, False, *forward), _Direction.apply(x, counts, True, *backward))
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
        ctx: Any, x: Tensor, counts: list[int], is_backward: bool, w: Tensor, u: Tensor, b: Tensor
    ) -> Tensor:
        size = u.shape[1]
        gates = torch.addmm(b, x, w.t())  # becomes i, f, g, o in place
        cells, states = x.new_empty(len(x), size), x.new_empty(len(x), size)
        tanh_cells = x.new_empty(len(x), size)
        before: tuple[Tensor, Tensor] | None = None
        for rows, old in _steps(counts, is_backward):
            own = gates[rows]
            if before is not None and old:
                own[:old].addmm_(before[0][:old], u.t())
            own[:, : 2 * size].sigmoid_()
            own[:, 2 * size : 3 * size].tanh_()
            own[:, 3 * size :].sigmoid_()
            i, f, g, o = own.chunk(4, dim=1)
            cell = torch.mul(i, g, out=cells[rows])
            if before is not None and old:
                cell[:old].addcmul_(f[:old], before[1][:old])
            torch.tanh(cell, out=tanh_cells[rows])
            before = torch.mul(o, tanh_cells[rows], out=states[rows]), cell
        ctx.save_for_backward(x, w, u, gates, cells, tanh_cells, states)
        ctx.counts, ctx.is_backward = counts, is_backward
        return states

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Any, ...]:
        x, w, u, gates, cells, tanh_cells, states = ctx.saved_tensors
        steps = list(_steps(ctx.counts, ctx.is_backward))
        slopes = torch.empty_like(gates)  # of the gates before their activations
        before = torch.zeros_like(states)  # the state before each token
        later: tuple[Tensor, Tensor] | None = None  # gradients of states and cells from the next step
        for place in range(len(steps) - 1, -1, -1):
            rows, old = steps[place]
            i, f, g, o = gates[rows].chunk(4, dim=1)
            d_state, tanh_cell = given[rows], tanh_cells[rows]
            if later is not None:
                count = len(later[0])
                d_state = d_state.clone()
                d_state[:count] += later[0]
            d_cell = d_state * o * (1.0 - tanh_cell * tanh_cell)
            if later is not None:
                d_cell[: len(later[1])] += later[1]
            own = slopes[rows]
            d_i, d_f, d_g, d_o = own.chunk(4, dim=1)
            torch.mul(d_cell * g, i - i * i, out=d_i)
            torch.mul(d_cell * i, 1.0 - g * g, out=d_g)
            torch.mul(d_state * tanh_cell, o - o * o, out=d_o)
            if old:
                last = steps[place - 1][0]
                before[rows][:old] = states[last][:old]
                torch.mul(d_cell[:old] * cells[last][:old], (f - f * f)[:old], out=d_f[:old])
                d_f[old:] = 0.0
                later = own[:old] @ u, d_cell[:old] * f[:old]
            else:
                d_f.zero_()
                later = None
        return slopes @ w, None, None, slopes.t() @ x, slopes.t() @ before, slopes.sum(dim=0)


def _steps(counts: list[int], is_backward: bool) -> list[tuple[slice, int]]:
    """The rows of each step in order, and how many of its sequences were there in the step before."""
    ends = torch.tensor(counts).cumsum(0).tolist()
    rows = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    if not is_backward:
        return [(own, count if t else 0) for t, (own, count) in enumerate(zip(rows, counts, strict=True))]
    later = [*counts[1:], 0]
    return [(rows[t], later[t]) for t in range(len(counts) - 1, -1, -1)]
