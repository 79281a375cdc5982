"""Names for what can be chosen: one registry per kind of thing.

A registry maps a name to a factory. It is filled once, below: to add a family or a learner, write its
file and register it here, and `arbora list`, `arbora info` and the contract tests know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from arbora.errors import InputError, unknown
from arbora.families import (
    Nonprojective,
    NonprojectiveSibling,
    Projective,
    ProjectiveGrandparent,
    ProjectiveSibling,
)
from arbora.features import GRAPH_V1, PRUNER_V1, TemplateSet
from arbora.interfaces import Family, Learner
from arbora.learners import (
    Adagrad,
    ExponentiatedGradient,
    LogLinear,
    Mira,
    OneSlack,
    PassiveAggressive,
    Pegasos,
    Perceptron,
)

T = TypeVar("T")


class Registry(Generic[T]):
    """Factories by name, in the order in which they were registered."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._factories: dict[str, Callable[..., T]] = {}

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Add a factory; a name is given once."""
        if name in self._factories:
            raise InputError(f"the {self.kind} {name!r} is registered already; choose another name")
        self._factories[name] = factory

    def create(self, name: str, **options: Any) -> T:
        """A new object by name, e.g. `families.create("projective", roots="multi")`."""
        return self.factory(name)(**options)

    def factory(self, name: str) -> Callable[..., T]:
        """What makes the object; InputError with the nearest name where there is none."""
        try:
            return self._factories[name]
        except (KeyError, TypeError):
            raise InputError(unknown(self.kind, name, list(self._factories))) from None

    def summary(self, name: str) -> str:
        """The first line of the factory's docstring."""
        return (self.factory(name).__doc__ or "").strip().partition("\n")[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)

    def __contains__(self, name: object) -> bool:
        return name in self._factories


families: Registry[Family] = Registry("family")
families.register(Projective.name, Projective)
families.register(Nonprojective.name, Nonprojective)
families.register(ProjectiveSibling.name, ProjectiveSibling)
families.register(ProjectiveGrandparent.name, ProjectiveGrandparent)
families.register(NonprojectiveSibling.name, NonprojectiveSibling)

learners: Registry[Learner] = Registry("learner")
learners.register(Perceptron.name, Perceptron)
learners.register(Mira.name, Mira)
learners.register(PassiveAggressive.name, PassiveAggressive)
learners.register(Pegasos.name, Pegasos)
learners.register(OneSlack.name, OneSlack)
learners.register(LogLinear.name, LogLinear)
learners.register(Adagrad.name, Adagrad)
learners.register(ExponentiatedGradient.name, ExponentiatedGradient)

features: Registry[TemplateSet] = Registry("feature set")
for _templates in (GRAPH_V1, PRUNER_V1):
    features.register(_templates.name, lambda templates=_templates: templates)
