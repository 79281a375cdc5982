"""AdamW on a network's parameters, where they are: on a CPU or a GPU. `arbora.learners.adamw` states it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from arbora._core import SparseVector
from arbora.interfaces import Answer, Problem
from arbora.learners._online import OnlineRun, Run
from arbora.types import Floats, Longs

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
        self._optimizer = torch.optim.AdamW(
            self._parameters,
            lr=p.rate,
            betas=(p.beta1, p.beta2),
            weight_decay=p.decay,
            fused=self._problem.device != "cpu",
        )
        for each in self._parameters:
            zeros = torch.zeros_like(each)
            step = torch.tensor(0.0, device=each.device if self._problem.device != "cpu" else "cpu")
            self._optimizer.state[each] = {"step": step, "exp_avg": zeros, "exp_avg_sq": zeros.clone()}

    @property
    def _problem(self) -> Any:
        return self.problem

    def fit(self, callbacks: Any) -> Any:
        """With PyTorch's own threads set aside: shards of a batch have theirs."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return super().fit(callbacks)
        finally:
            torch.set_num_threads(threads)

    def batches(self, order: Longs) -> Any:
        return self.learner.batches(self.problem, order)

    def steps_before(self, number: int) -> int:
        return self.steps

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        p = self.learner
        loss = self._problem.backward(chosen, (p.seed, t))
        torch.nn.utils.clip_grad_norm_(self._parameters, p.clip)
        for group in self._optimizer.param_groups:
            group["lr"] = p.rate_at(t, p.steps_in(self.problem))
        self._optimizer.step()
        self.steps = t
        with torch.no_grad():
            for mean, each in zip(self._averages, self._parameters, strict=True):
                mean.lerp_(each, 1.0 - p.remembered(t) if p.average else 1.0)
        return Answer(loss * int(self._problem.lengths[chosen].sum()), 0.0, NOTHING), True

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
