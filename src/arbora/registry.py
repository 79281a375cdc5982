"""Registries: parts of Arbora by name.

A registry maps names to factories: those below, and those of installed packages, found by their entry points.
To add a learner or a loss, write its file and name it here, or in another package's
`[project.entry-points."arbora.learners"]`; `arbora list`, `arbora info`, `arbora train` and the contract
tests then know it. Modules are imported when a name is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from arbora.errors import InputError, ModelError, UnknownNameError

if TYPE_CHECKING:
    from arbora.features import TemplateSet, TransitionTemplates
    from arbora.induction.interfaces import Inducer
    from arbora.interfaces import Family, Learner, Loss, Scorer

T = TypeVar("T")
NAMED_IN_FILES = ("arbora.scorers", "arbora.search")  # Model files hold the names of their classes


class Registry(Generic[T]):
    """Factories by name: built-in ones first, then those that were added."""

    def __init__(
        self, kind: str, known: Mapping[str, str] = MappingProxyType({}), *, group: str = ""
    ) -> None:
        """`known`: `module:attribute` by name; `group`: the entry points of other packages."""
        self.kind = kind
        self.group = group
        self._known = known
        self._added: dict[str, Callable[..., T]] = {}

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        found = entry_points(group=self.group) if self.group else ()
        return {point.name: point for point in found if point.name not in self._known}

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Add a factory under a new name; the same factory may be registered again.

        A module that is also the target of an entry point may register its own factory.
        """
        if name in self._known or self._added.get(name, factory) is not factory:
            raise InputError(f"the {self.kind} {name!r} is registered already; choose another name")
        self._require_same_name(name, factory)
        self._added[name] = factory

    def _require_same_name(self, name: str, factory: object) -> None:
        """InputError if a class calls itself something else; model files hold the name of the class."""
        own = getattr(factory, "name", name if self.group not in NAMED_IN_FILES else None)
        if isinstance(factory, type) and own != name:
            raise InputError(
                f"the {self.kind} {name!r} is the class {factory.__name__}, whose attribute `name` is "
                f"{own!r}; set name = {name!r} in the class"
            )

    def create(self, name: str, **options: Any) -> T:
        """A new object by name, e.g. `families.create("projective", roots="multi")`."""
        return self.factory(name)(**options)

    def factory(self, name: str) -> Callable[..., T]:
        """The factory of a name; InputError with the nearest name if it is unknown."""
        found: Any = None
        if isinstance(name, str):
            if name in self._known:
                module, _, attribute = self._known[name].partition(":")
                found = getattr(import_module(module), attribute)
            elif name in self._added:
                found = self._added[name]
            elif name in self._plugins:
                found = self._load(self._plugins[name])
                self._require_same_name(name, found)
        if found is None:
            raise UnknownNameError(self.kind, name, list(self))
        return found if callable(found) else lambda: found

    def _load(self, point: EntryPoint) -> Any:
        try:
            return point.load()
        except Exception as error:
            package = point.dist.name if point.dist is not None else point.value
            raise InputError(
                f"the {self.kind} {point.name!r} of the package {package} cannot be imported: {error!r}"
            ) from error

    def needed_by_file(self, name: str, source: str) -> Callable[..., T]:
        """The factory that a model file names; ModelError with the plugin to install if it is missing."""
        if name in self:
            return self.factory(name)
        raise ModelError(
            f"the model needs the {self.kind} {name[:80]!r}, which is not installed; install the package "
            f"that provides it (entry point {self.group or self.kind}), or register it before loading",
            source=source,
        )

    def summary(self, name: str) -> str:
        """The first line of the factory's docstring."""
        factory = self.factory(name)
        found = getattr(factory(), "summary", None) if not isinstance(factory, type) else None
        return str(found or factory.__doc__ or "").strip().partition("\n")[0]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._added, *self._plugins]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in list(self)


def _named(module: str, **names: str) -> dict[str, str]:
    return {name.replace("__", "-"): f"{module}:{attribute}" for name, attribute in names.items()}


families: Registry[Family] = Registry(
    "family",
    _named(
        "arbora.inference.families",
        projective="Projective",
        nonprojective="Nonprojective",
        projective_sibling="ProjectiveSibling",
        projective_grandparent="ProjectiveGrandparent",
        nonprojective_sibling="NonprojectiveSibling",
    ),
    group="arbora.families",
)

learners: Registry[Learner] = Registry(
    "learner",
    _named(
        "arbora.learners",
        perceptron="Perceptron",
        mira="Mira",
        passive_aggressive="PassiveAggressive",
        au="Ultraconservative",
        spv="ScaledPriorVariance",
        mec="MinimumExpectedCost",
        pegasos="Pegasos",
        one_slack="OneSlack",
        log_linear="LogLinear",
        adagrad="Adagrad",
        exponentiated_gradient="ExponentiatedGradient",
        adamw="AdamW",
        muon="Muon",
    ),
    group="arbora.learners",
)


def seeded_learner(name: str, parameters: Mapping[str, Any], seed: int) -> Learner:
    """A learner by name, with this seed unless it has none or is given one; numbers may be text."""
    factory: type[Learner] = learners.factory(name)  # type: ignore[assignment]
    kinds = {declared.name: declared.kind for declared in factory.parameters()}
    texts = {n: v for n, v in parameters.items() if isinstance(v, str) and kinds.get(n, str) is not str}
    given = {"seed": seed, **parameters} if "seed" in kinds else parameters
    return factory(**{**given, **factory.parse(texts)})


scorers: Registry[Scorer] = Registry(
    "scorer",
    {
        "linear": "arbora.scorers:LinearScorer",
        "neural": "arbora.scorers.neural:NeuralScorer",
        "transformer": "arbora.scorers.transformer:TransformerScorer",
    },
    group="arbora.scorers",
)

searches: Registry[Any] = Registry(
    "search",
    {
        "graph": "arbora.search.graph:GraphSearch",
        "cube": "arbora.search.cube:CubeSearch",
        "transition": "arbora.search.transition:TransitionSearch",
        "exact": "arbora.search.exact:ExactSearch",
        "neural": "arbora.search.neural:NeuralSearch",
        "induced": "arbora.induction.search:InducedSearch",
        "ensemble": "arbora.parsing.ensemble:EnsembleSearch",
    },
    group="arbora.search",
)

losses: Registry[Loss] = Registry(
    "loss",
    _named("arbora.losses", crf="Crf", hinge="Hinge", risk="Risk", local="Local"),
    group="arbora.losses",
)

inducers: Registry[Inducer] = Registry(
    "inducer",
    {
        "crfae": "arbora.induction.crf_autoencoder:CrfAutoencoder",
        "dmv": "arbora.induction.dmv:Dmv",
        "neural-dmv": "arbora.induction.neural_dmv:NeuralDmv",
        "convex-mst": "arbora.induction.convex_mst:ConvexMst",
        "right-branching": "arbora.induction.baselines:RightBranching",
        "left-branching": "arbora.induction.baselines:LeftBranching",
        "nearest-rule": "arbora.induction.baselines:NearestRule",
        "random": "arbora.induction.baselines:RandomWeights",
    },
)

features: Registry[TemplateSet] = Registry(
    "feature set",
    {
        "graph-v1": "arbora.features.graph_v1:GRAPH_V1",
        "cube-v1": "arbora.features.cube_v1:CUBE_V1",
        "pruner-v1": "arbora.features.pruner_v1:PRUNER_V1",
        "graph-v1+guide-v1": "arbora.features.guide_v1:GUIDED_GRAPH_V1",
        "cube-v1+guide-v1": "arbora.features.guide_v1:GUIDED_CUBE_V1",
        "graph-v1+clusters-v1": "arbora.features.clusters_v1:CLUSTERED_GRAPH_V1",
        "cube-v1+clusters-v1": "arbora.features.clusters_v1:CLUSTERED_CUBE_V1",
        "graph-v1+clusters-v1+guide-v1": "arbora.features.guide_v1:GUIDED_CLUSTERED_GRAPH_V1",
        "cube-v1+clusters-v1+guide-v1": "arbora.features.guide_v1:GUIDED_CLUSTERED_CUBE_V1",
    },
    group="arbora.features",
)

transition_features: Registry[TransitionTemplates] = Registry(
    "feature set of transition parsers",
    {
        "zhang-nivre-v1": "arbora.features.zhang_nivre_v1:ZHANG_NIVRE_V1",
        "nivre-v1": "arbora.features.nivre_v1:NIVRE_V1",
        "zhang-nivre-v1+guide-v1": "arbora.features.guide_v1:GUIDED_ZHANG_NIVRE_V1",
        "nivre-v1+guide-v1": "arbora.features.guide_v1:GUIDED_NIVRE_V1",
        "zhang-nivre-v1+clusters-v1": "arbora.features.clusters_v1:CLUSTERED_ZHANG_NIVRE_V1",
        "nivre-v1+clusters-v1": "arbora.features.clusters_v1:CLUSTERED_NIVRE_V1",
        "zhang-nivre-v1+clusters-v1+guide-v1": "arbora.features.guide_v1:GUIDED_CLUSTERED_ZHANG_NIVRE_V1",
        "nivre-v1+clusters-v1+guide-v1": "arbora.features.guide_v1:GUIDED_CLUSTERED_NIVRE_V1",
    },
    group="arbora.transition_features",
)
