"""AdamW and Muon on a network's parameters, where they are: on a CPU or a GPU.

`arbora.learners.adamw` and `arbora.learners.muon` state them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arbora._core import SparseVector
from arbora.interfaces import Answer, Epoch, Problem
from arbora.learners._online import OnlineRun, Run
from arbora.types import Floats, Longs

COEFFICIENTS, ITERATIONS = (3.4445, -4.7750, 2.0315), 5

NOTHING = SparseVector(np.zeros(0, np.int64), np.zeros(0))


def _joined(tensors: list[Tensor]) -> Floats:
    return np.concatenate([each.detach().cpu().numpy().reshape(-1) for each in tensors])


def _split(tensors: list[Tensor], values: Floats) -> None:
    start = 0
    with torch.no_grad():
        for each in tensors:
            each.copy_(torch.from_numpy(np.array(values[start : start + each.numel()])).view(each.shape))
            start += each.numel()


class NetworkRun(OnlineRun):
    """The parameters of a network, the running means of their gradients, and their own running mean."""

    kept = ("weights", "mean", "square", "average", "steps")

    def __init__(self, learner: Any, problem: Problem) -> None:
        Run.__init__(self, learner, problem)
        self.learner, self.problem, self.steps = learner, problem, 0
        network, p = self._problem.network, learner
        network.load(self._problem.scorer.tensors)
        network.train()
        named = dict(network.tensors())
        self._parameters = [named[name] for name in self._problem.scorer.order]
        self._averages = [each.detach().clone() for each in self._parameters]
        self._matrices = {named[name]: count for name, count in self.matrices().items()}
        self._optimizer = torch.optim.AdamW(
            self._groups(named, network.rates(p.rate)),
            lr=p.rate,
            betas=(p.beta1, p.beta2),
            weight_decay=p.decay,
            fused=self._problem.device != "cpu",
        )
        for each in self._parameters:
            zeros = torch.zeros_like(each)
            step = torch.tensor(0.0, device=each.device if self._problem.device != "cpu" else "cpu")
            self._optimizer.state[each] = {"step": step, "exp_avg": zeros, "exp_avg_sq": zeros.clone()}

    def _groups(self, named: Mapping[str, Tensor], factors: Mapping[str, float]) -> list[dict[str, Any]]:
        """The parameters that AdamW updates, by the factor of their learning rate."""
        groups: dict[float, list[Tensor]] = {}
        for name in self._problem.scorer.order:
            if named[name] not in self._matrices:
                groups.setdefault(factors.get(name, 1.0), []).append(named[name])
        return [{"params": members, "factor": factor} for factor, members in groups.items()]

    @property
    def _problem(self) -> Any:
        return self.problem

    def matrices(self) -> dict[str, int]:
        """Weights that AdamW does not update, and the number of matrices that each is made up of."""
        return {}

    def pass_over(self, number: int, done: int | None = None) -> Epoch:
        with self._products():
            return super().pass_over(number, done)

    @contextmanager
    def _products(self) -> Iterator[None]:
        """Set PyTorch's threads aside if shards of a batch have theirs; on a CPU, multiply by oneDNN.

        PyTorch asks for oneDNN by a precision. oneDNN multiplies in float32, or in bfloat16 where a CPU has
        units for that, and uses AVX-512 on every CPU: MKL does so on Intel's alone.
        """
        threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
        torch.set_num_threads(self._problem.threads if self._problem.network.own_threads else 1)
        if self._problem.device == "cpu":
            torch.set_float32_matmul_precision("medium")
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_float32_matmul_precision(precision)

    def batches(self, order: Longs) -> Any:
        return self.learner.batches(self.problem, order)

    def steps_before(self, number: int) -> int:
        return self.steps

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        p = self.learner
        loss = self._problem.backward(chosen, (p.seed, t))
        torch.nn.utils.clip_grad_norm_(self._parameters, p.clip)
        self.update(p.rate_at(t, p.steps_in(self.problem)))
        self.steps = t
        with torch.no_grad():
            for mean, each in zip(self._averages, self._parameters, strict=True):
                mean.lerp_(each, 1.0 - p.remembered(t) if p.average else 1.0)
        return Answer(loss * int(self._problem.lengths[chosen].sum()), 0.0, NOTHING), True

    def update(self, rate: float) -> None:
        """Change the parameters by their gradients; `rate` is η of this step."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        self._optimizer.step()

    def last(self) -> Floats:
        return self.weights

    def averaged(self) -> Floats:
        return self.average

    # What a checkpoint holds, (size,) each

    weights = property(
        lambda self: _joined(self._parameters), lambda self, new: _split(self._parameters, new)
    )
    average = property(lambda self: _joined(self._averages), lambda self, new: _split(self._averages, new))
    mean = property(lambda self: _joined(self._state("exp_avg")), lambda self, new: self._set("exp_avg", new))
    square = property(
        lambda self: _joined(self._state("exp_avg_sq")), lambda self, new: self._set("exp_avg_sq", new)
    )

    def _state(self, name: str) -> list[Tensor]:
        return [self._optimizer.state[each][name] for each in self._parameters]

    def _set(self, name: str, values: Floats) -> None:
        _split(self._state(name), values)

    def restore(self, state: Any) -> None:
        super().restore(state)
        for each in self._parameters:
            self._optimizer.state[each]["step"].fill_(float(self.steps))


class MuonRun(NetworkRun):
    """The same, with orthogonalized updates of matrices."""

    def matrices(self) -> dict[str, int]:
        found: dict[str, int] = self._problem.network.matrices()
        return found

    @cached_property
    def _alike(self) -> list[list[Tensor]]:
        """The matrices by shape: those of one shape are made orthogonal together."""
        shapes: dict[tuple[int, ...], list[Tensor]] = {}
        for each, count in self._matrices.items():
            shapes.setdefault((each.shape[0] // count, each.shape[1]), []).append(each)
        return list(shapes.values())

    def update(self, rate: float) -> None:
        super().update(rate)
        p = self.learner
        share = rate / p.rate

        @torch.no_grad()
        def change(alike: list[Tensor]) -> None:
            means = [self._optimizer.state[each]["exp_avg"] for each in alike]
            ahead = []
            for each, mean in zip(alike, means, strict=True):
                mean.lerp_(each.grad, 1.0 - p.momentum)
                step = each.grad.lerp(mean, p.momentum)
                ahead.append(step.view(self._matrices[each], -1, step.shape[1]))
            steps = orthogonal(torch.cat(ahead))
            size = p.matrix_rate * share * max(steps.shape[1:]) ** 0.5
            counts = [self._matrices[each] for each in alike]
            for each, step in zip(alike, steps.split(counts), strict=True):
                each.mul_(1.0 - rate * p.decay).sub_(step.reshape(each.shape), alpha=size)

        self._problem.in_parallel(change, self._alike)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices with the same singular vectors and singular values of about 1 (0.7 to 1.2), (k, r, c).

    Each iteration takes a singular value s to a s + b s³ + c s⁵ [jordan-2024].
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if is_tall else matrices
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = a * x + (b * square + c * (square @ square)) @ x
    return x.mT if is_tall else x
