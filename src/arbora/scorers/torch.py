"""Scorers written in PyTorch. A subclass scores sentences; gradients and model files come from here.

Modules run in evaluation mode, in float32 on the CPU, so `score` and `pullback` see the same function.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from arbora.data.columns import Columns
from arbora.data.encode import Batch, Names
from arbora.errors import InputError
from arbora.interfaces import PartKind, PartScores
from arbora.types import Doubles, Floats


class TorchScorer(torch.nn.Module):
    """A scorer whose `forward(batch)` returns a tensor per kind of part for each sentence.

    The constructor takes settings that JSON can hold, all by name. `prepare` finds those that depend on the
    treebank. See docs/extending.md for an example.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)
    settings: dict[str, Any]

    @classmethod
    def prepare(cls, columns: Columns, names: Names) -> dict[str, Any]:
        """Settings from the treebank, such as a vocabulary."""
        return {}

    @classmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Self:
        """A scorer for a treebank, with random parameters. The same seed gives the same parameters."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls._make({**cls.prepare(columns, names), **settings})

    @classmethod
    def _make(cls, settings: dict[str, Any]) -> Self:
        try:
            made = cls(**settings)
        except TypeError as error:
            raise InputError(f"scorer_settings: not accepted by the scorer {cls.name}: {error}") from None
        made.settings = settings
        return made.eval()

    @property
    def size(self) -> int:
        return sum(values.numel() for values in self.parameters())

    def score(self, batch: Batch) -> list[PartScores]:
        with torch.no_grad():
            return [{kind: _as_array(scores) for kind, scores in each.items()} for each in self(batch)]

    def pullback(self, batch: Batch, gradient: Sequence[PartScores]) -> Doubles:
        """The product of `gradient` with the derivative of the scores, by automatic differentiation."""
        outputs, factors = [], []
        for scores, given in zip(self(batch), gradient, strict=True):
            for kind in scores.keys() & given.keys():
                outputs.append(scores[kind])
                factors.append(torch.as_tensor(given[kind], dtype=scores[kind].dtype))
        weights = list(self.parameters())
        found = torch.autograd.grad(outputs, weights, factors, materialize_grads=True)
        return np.concatenate([_as_array(part).reshape(-1) for part in found])

    def weights(self) -> Floats:
        vector = torch.nn.utils.parameters_to_vector(self.parameters())
        return np.array(vector.detach().numpy(), dtype=np.float32)

    def with_weights(self, values: Floats) -> Self:
        made = copy.deepcopy(self)
        torch.nn.utils.vector_to_parameters(torch.tensor(values), made.parameters())
        return made

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return {name: values.numpy() for name, values in self.state_dict().items()}, self.settings

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any], names: Names) -> Self:
        made = cls._make(settings)
        try:
            made.load_state_dict({name: torch.tensor(np.array(array)) for name, array in tensors.items()})
        except RuntimeError as error:
            raise InputError(f"scorer: the tensors do not fit its settings: {error}"[:400]) from None
        return made


def _as_array(values: Any) -> Doubles:
    return np.asarray(values.detach().numpy(), dtype=np.float64)
