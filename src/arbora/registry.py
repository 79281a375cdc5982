"""Names for what can be chosen: one registry per kind of thing.

A registry maps a name to a factory. It is filled once, below, when it is first used (who parses needs no
learner): to add a family or a learner, write its file and name it here, and `arbora list`, `arbora info` and
the contract tests know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from arbora.errors import InputError, UnknownNameError
from arbora.features import (
    CUBE_V1,
    GRAPH_V1,
    NIVRE_V1,
    PRUNER_V1,
    ZHANG_NIVRE_V1,
    TemplateSet,
    TransitionTemplates,
    guided,
    guided_transitions,
)
from arbora.interfaces import Family, Learner

if TYPE_CHECKING:
    from arbora.induction.interfaces import Inducer

T = TypeVar("T")


class Registry(Generic[T]):
    """Factories by name, in the order in which they were registered; `known` gives those to begin with."""

    def __init__(self, kind: str, known: Callable[[], Mapping[str, Callable[..., T]]] = dict) -> None:
        self.kind = kind
        self._known = known

    @cached_property
    def _factories(self) -> dict[str, Callable[..., T]]:
        return dict(self._known())

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
            raise UnknownNameError(self.kind, name, list(self._factories)) from None

    def summary(self, name: str) -> str:
        """The first line of the factory's docstring."""
        return (self.factory(name).__doc__ or "").strip().partition("\n")[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)

    def __contains__(self, name: object) -> bool:
        return name in self._factories


def _families() -> Mapping[str, Callable[..., Family]]:
    from arbora.inference.families import FAMILIES

    return {family.name: family for family in FAMILIES}


def _learners() -> Mapping[str, Callable[..., Learner]]:
    from arbora.learners import (
        Adagrad,
        ExponentiatedGradient,
        LogLinear,
        MinimumExpectedCost,
        Mira,
        OneSlack,
        PassiveAggressive,
        Pegasos,
        Perceptron,
        ScaledPriorVariance,
        Ultraconservative,
    )

    return {
        Perceptron.name: Perceptron,
        Mira.name: Mira,
        PassiveAggressive.name: PassiveAggressive,
        Ultraconservative.name: Ultraconservative,
        ScaledPriorVariance.name: ScaledPriorVariance,
        MinimumExpectedCost.name: MinimumExpectedCost,
        Pegasos.name: Pegasos,
        OneSlack.name: OneSlack,
        LogLinear.name: LogLinear,
        Adagrad.name: Adagrad,
        ExponentiatedGradient.name: ExponentiatedGradient,
    }


def _inducers() -> Mapping[str, Callable[..., Inducer]]:
    from arbora.induction.baselines import LeftBranching, NearestRule, RandomWeights, RightBranching
    from arbora.induction.convex_mst import ConvexMst
    from arbora.induction.crf_autoencoder import CrfAutoencoder
    from arbora.induction.dmv import Dmv
    from arbora.induction.neural_dmv import NeuralDmv

    return {
        CrfAutoencoder.name: CrfAutoencoder,
        Dmv.name: Dmv,
        NeuralDmv.name: NeuralDmv,
        ConvexMst.name: ConvexMst,
        RightBranching.name: RightBranching,
        LeftBranching.name: LeftBranching,
        NearestRule.name: NearestRule,
        RandomWeights.name: RandomWeights,
    }


families: Registry[Family] = Registry("family", _families)
learners: Registry[Learner] = Registry("learner", _learners)
inducers: Registry[Inducer] = Registry("inducer", _inducers)

features: Registry[TemplateSet] = Registry("feature set")
for _templates in (GRAPH_V1, CUBE_V1, PRUNER_V1, guided(GRAPH_V1), guided(CUBE_V1)):
    features.register(_templates.name, lambda templates=_templates: templates)

transition_features: Registry[TransitionTemplates] = Registry("feature set of transition parsers")
for _sets in (
    ZHANG_NIVRE_V1,
    NIVRE_V1,
    guided_transitions(ZHANG_NIVRE_V1),
    guided_transitions(NIVRE_V1),
):
    transition_features.register(_sets.name, lambda templates=_sets: templates)
