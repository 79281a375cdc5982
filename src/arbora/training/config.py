"""The settings of a training, and what the treebank decides about them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from arbora.costs import COST, TreeCost
from arbora.data.columns import Columns
from arbora.data.pseudo_projective import Encoding
from arbora.errors import InputError
from arbora.features.guide_v1 import SUFFIX as GUIDE_SUFFIX
from arbora.interfaces import Learner, Query, Roots, Trees
from arbora.learners.stage import Which
from arbora.pipeline.lemmatizer import SETTINGS as LEMMATIZER_SETTINGS
from arbora.pipeline.tagger import TaggerSettings
from arbora.pipeline.train_segmenter import SegmenterSettings
from arbora.pipeline.words import WordSettings
from arbora.registry import features, learners, losses, scorers, searches, transition_features
from arbora.scorers.cube import CubeSettings, Update
from arbora.scorers.linear import Labels
from arbora.scorers.transition import TransitionSettings
from arbora.search.pruner import PrunerSettings
from arbora.settings import from_dict, load_config, to_dict
from arbora.training.annotation import Projectivize, crossing_arcs

CROSSING_SHARE = 0.005
"""With `trees="auto"`: above this share of crossing arcs, trees may cross."""
ROOTS_SHARE = 0.005
"""With `roots="auto"`: above this share of sentences with several roots, trees may have several."""
PRUNER_SETTINGS = PrunerSettings(rule="auto")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """All settings of a training; what is `auto` is decided by the treebank, and stored as decided."""

    parser: str = "graph"
    """How trees are found. graph: exact search with linear scores, first and second order; cube: any order,
    labels with heads, by cube pruning; transition: from left to right, in linear time; exact, or another
    package's search: with the scores of any `scorer`."""
    scorer: str = "linear"
    """What scores trees: linear, or a scorer of another package, by its name."""
    scorer_settings: dict[str, Any] = field(default_factory=dict)
    """Settings of that scorer, by name."""
    loss: str = "auto"
    """crf, hinge, risk, local or another package's. auto: the learner's own; crf with the search exact."""
    cost: TreeCost = COST
    """What wrong heads and labels cost."""
    trees: Trees | Literal["auto"] = "auto"
    roots: Roots | Literal["auto"] = "auto"
    order: Literal[1, 2, 3, "auto"] = "auto"
    """auto: 2, with cube pruning 3; transition parsers have none."""
    grandparents: bool = True
    labels: Labels | Literal["auto"] = "auto"
    """auto: staged, with cube pruning and transitions joint."""
    features: str = "auto"
    """A template set; auto: graph-v1, with cube pruning cube-v1, with transitions zhang-nivre-v1; with
    `stack`, one about guides, too."""
    tree_bits: int | Literal["auto"] = "auto"
    """auto: 22, with cube pruning and transitions 24."""
    label_bits: int = 22
    pruner: bool | Literal["auto"] = "auto"
    """auto: yes; transition parsers have none."""
    pruner_settings: PrunerSettings = field(default_factory=lambda: PRUNER_SETTINGS)
    cube: CubeSettings = field(default_factory=CubeSettings)
    update: Update | Literal["auto"] = "auto"
    """Of cube pruning: where in a tree weights are updated when search has gone wrong; auto: p-max."""
    transition: TransitionSettings = field(default_factory=TransitionSettings)
    learner: str = "auto"
    """auto: passive_aggressive, of transition parsers perceptron."""
    parameters: dict[str, int | float | str] = field(default_factory=dict)
    """Of the learner, by name; `arbora info learner NAME` lists them."""
    weights: Which = "averaged"
    projectivize: Projectivize = "flatten"
    """How crossing arcs of the treebank are changed where trees are projective. pseudo-projective: lifted,
    with marks in labels by which they are found again after parsing; `trees = "auto"` is projective then."""
    encoding: Encoding = "head"
    """What the marks of pseudo-projective trees tell."""
    decode: Literal["same", "projective", "auto"] = "same"
    """Trees when parsing, where training is over first-order non-projective ones; auto: the better on dev."""
    stack: str | None = None
    """A model file whose parser is the guide: the new parser looks at its trees."""
    patience: int = 4
    """Stop when dev has not improved for so many epochs; 0: never."""
    seed: int = 0
    only: Literal["all", "parser"] = "all"
    """all: what turns text into tagged words is learned, too, as far as the treebank can teach it."""
    tags: Literal["jackknife", "gold"] = "jackknife"
    """What the parser is trained on where a tagger is learned, too: tags that taggers give to what they have
    not seen, or the treebank's own."""
    folds: int = 5
    """Of jackknifing, of tags and of a guide's trees."""
    segmenter: SegmenterSettings = field(default_factory=SegmenterSettings)
    tagger: TaggerSettings = field(default_factory=TaggerSettings)
    lemmatizer: WordSettings = LEMMATIZER_SETTINGS

    def __post_init__(self) -> None:
        if not 2 <= self.folds <= 100:
            raise InputError(f"folds: expected 2 to 100, got {self.folds!r}")
        if self.patience < 0 or self.seed < 0:
            raise InputError(f"patience, seed: expected 0 or more, got {min(self.patience, self.seed)}")
        if self.weights not in get_args(Which):
            raise InputError(f"weights: expected {' or '.join(get_args(Which))}, got {self.weights!r}")
        if self.decode != "same" and (self.order != 1 or self.parser != "graph"):
            raise InputError(
                f"decode: expected same with order = {self.order} and parser = {self.parser}, got "
                f"{self.decode!r}; other scores than those of arcs belong to the trees they were trained with"
            )
        self._check_kinds()
        self._check_parser()
        if self.projectivize == "pseudo-projective":
            self._check_marks()
        self._check_without_effect()

    def _check_kinds(self) -> None:
        """InputError for names that are not registered, and for what does not go together."""
        if self.parser in UNTRAINED:
            raise InputError(f"parser: {self.parser} models are not trained on a treebank; choose another")
        searches.factory(self.parser)
        scorers.factory(self.scorer)
        if self.loss != "auto":
            losses.factory(self.loss)
        if self.is_linear and self.scorer_settings:
            raise InputError("scorer_settings: only for a scorer that is named with scorer")
        learner = LOSS_LEARNERS.get(self.loss)
        if (
            self.is_linear
            and self.loss != "auto"
            and (learner is None or self.learner not in ("auto", learner))
        ):
            raise InputError(
                f"loss: expected crf (learner adagrad) or hinge (learner passive_aggressive) with parser = "
                f"{self.parser}, got {self.loss} with learner = {self.learner}; name another scorer, or "
                "leave the loss to the learner"
            )

    @property
    def is_linear(self) -> bool:
        """Whether it is one of the built-in parsers with linear scores."""
        return self.parser in PARSER_DEFAULTS and self.scorer == "linear"

    def _check_parser(self) -> None:
        """InputError where some settings belong to another parser."""
        self._check_unused()
        if self.parser == "graph" and self.order == 3:
            raise InputError('order: expected 1 or 2 with parser = "graph", got 3; choose parser = "cube"')
        if self.parser == "transition" and self.trees not in ("auto", self.transition.trees):
            raise InputError(
                f"trees: expected {self.transition.trees} with the system {self.transition.system}, got "
                f"{self.trees}; arc-eager and arc-standard are for projective trees, swap for others"
            )
        if (self.parser != "graph" or not self.is_linear) and self.labels == "staged":
            raise InputError(
                f'labels: expected joint or none with parser = "{self.parser}", got staged; it chooses heads '
                "and labels together"
            )

    def _check_unused(self) -> None:
        """InputError where settings are given that another parser has."""
        for name, owners, is_given in (
            ("update", ("cube",), self.update != "auto"),
            ("cube", ("cube",), self.cube != CubeSettings()),
            ("transition", ("transition",), self.transition != TransitionSettings()),
            ("order", ("graph", "cube"), self.order in (2, 3)),
            ("pruner", ("graph", "cube"), self.pruner is True),
        ):
            if is_given and self.parser not in owners:
                wanted = " or ".join(f'"{owner}"' for owner in owners)
                raise InputError(f'{name}: only for parser = {wanted}, got one with parser = "{self.parser}"')

    def _check_without_effect(self) -> None:
        """InputError where a setting is given that does nothing beside the others."""
        for name, needs, is_given, is_met in WITHOUT_EFFECT:
            if is_given(self) and not is_met(self):
                raise InputError(f"{name}: does nothing here; it needs {needs}")

    def _check_marks(self) -> None:
        if self._trees == "nonprojective":
            raise InputError(
                "projectivize: expected flatten or minimum-loss with trees = nonprojective, got "
                "'pseudo-projective'; crossing arcs are found by one or the other"
            )
        if self.labels == "none":
            raise InputError(
                "projectivize: expected flatten or minimum-loss with labels = none, got 'pseudo-projective'; "
                "its marks stand in labels"
            )

    @property
    def _trees(self) -> str:
        """Which trees are made, or auto."""
        return self.transition.trees if self.parser == "transition" else self.trees

    @property
    def learner_name(self) -> str:
        """The learner, also where it is `auto`."""
        if self.learner != "auto":
            return self.learner
        if self.is_linear and self.loss != "auto":
            return LOSS_LEARNERS[self.loss]
        return str(self.defaults["learner"])

    @property
    def defaults(self) -> dict[str, Any]:
        """What `auto` stands for with this parser, where the treebank has no say."""
        return PARSER_DEFAULTS[self.parser] if self.is_linear else SCORER_DEFAULTS

    @staticmethod
    def elsewhere(name: str) -> str | None:
        """Where a setting stands that is none of the fields: a learner's are in their own table."""
        factories: list[Any] = [learners.factory(learner) for learner in learners]
        known = {parameter.name for factory in factories for parameter in factory.parameters()}
        return f"parameters.{name}" if name in known else None


def _is_changed(config: TrainConfig, name: str) -> bool:
    """Whether a setting of the pruner is given."""
    return bool(getattr(config.pruner_settings, name) != getattr(PRUNER_SETTINGS, name))


WITHOUT_EFFECT: tuple[tuple[str, str, Callable[[TrainConfig], bool], Callable[[TrainConfig], bool]], ...] = (
    (
        "encoding",
        'projectivize = "pseudo-projective", whose marks it is about',
        lambda c: c.encoding != TrainConfig.encoding,
        lambda c: c.projectivize == "pseudo-projective",
    ),
    (
        "projectivize",
        "projective trees; others are learned as they are",
        lambda c: c.projectivize == "minimum-loss",
        lambda c: c._trees != "nonprojective",
    ),
    (
        "grandparents",
        'order 2 or 3, and parser = "graph" or "cube"',
        lambda c: not c.grandparents,
        lambda c: c.order != 1 and c.parser != "transition",
    ),
    (
        "transition.update",
        "a beam, transition.beam above 1; without one every move is learned",
        lambda c: c.transition.update != TransitionSettings.update,
        lambda c: c.transition.beam > 1,
    ),
    (
        "transition.oracle",
        "a parser without a beam, transition.beam = 1; with one, whole sequences of moves are learned",
        lambda c: c.transition.oracle != TransitionSettings.oracle,
        lambda c: c.transition.beam == 1,
    ),
    *(
        (
            f"pruner_settings.{setting.name}",
            'parser = "graph" or "cube"; transition parsers have no pruner',
            partial(_is_changed, name=setting.name),
            lambda c: c.parser != "transition",
        )
        for setting in fields(PrunerSettings)
    ),
    (
        "transition.most_labels",
        "labels = joint",
        lambda c: c.transition.most_labels != TransitionSettings.most_labels,
        lambda c: c.labels != "none",
    ),
    (
        "cube.most_labels",
        "labels = joint",
        lambda c: c.cube.most_labels != CubeSettings.most_labels,
        lambda c: c.labels != "none",
    ),
    (
        "cube.labels_within",
        "labels = joint",
        lambda c: c.cube.labels_within != CubeSettings.labels_within,
        lambda c: c.labels != "none",
    ),
)
"""Settings that count only beside others: their names, what they need, whether they are given, and whether it
is there."""

DEFAULT_PARAMETERS: dict[str, dict[str, int | float | str]] = {
    # Chosen on UD_English-EWT dev.
    "passive_aggressive": {"C": 0.01},
    "mira": {"C": 0.01},
    "adagrad": {"C": 0.1, "rate": 1.0, "floor": 30.0},
    # On a part of it, and of first order, where k best trees are found.
    "spv": {"gamma": 1e5},
    "mec": {"gamma": 1e5},
    # What most treebanks of `arbora reproduce matrix-tree` choose on dev.
    "log_linear": {"C": 0.1},
    "exponentiated_gradient": {"C": 0.01},
}


CUBE_PARAMETERS: dict[str, dict[str, int | float | str]] = {
    # Chosen on UD_English-EWT dev, too.
    "passive_aggressive": {"C": 0.005},
    "mira": {"C": 0.005},
    # As for graphs.
    "spv": {"gamma": 1e5},
    "mec": {"gamma": 1e5},
}

LAPLACE_PARAMETERS: dict[str, dict[str, int | float | str]] = {
    # |α| for α²: what is long for one prior is short for the other.
    "spv": {"gamma": 100.0},
    "mec": {"gamma": 10.0},
}

TRANSITION_PARAMETERS: dict[str, dict[str, int | float | str]] = {
    # With a beam, on a tenth of the Danish training data; more is the same, since no step is as long.
    "passive_aggressive": {"C": 0.1},
    "mira": {"C": 0.01},
    # Powers of ten, judged on every tenth of 1,500 sentences of UD_English-EWT train after two epochs
    # on the others, with a beam of 8 and greedily. Sequences of moves have more features than trees.
    "spv": {"gamma": 1e8},
    "mec": {"gamma": 1e6},
}

TRANSITION_LAPLACE_PARAMETERS: dict[str, dict[str, int | float | str]] = {
    # Likewise.
    "spv": {"gamma": 1e4},
    "mec": {"gamma": 100.0},
}

PARAMETERS = {"graph": DEFAULT_PARAMETERS, "cube": CUBE_PARAMETERS, "transition": TRANSITION_PARAMETERS}
LAPLACE = {
    "graph": LAPLACE_PARAMETERS,
    "cube": LAPLACE_PARAMETERS,
    "transition": TRANSITION_LAPLACE_PARAMETERS,
}

UNTRAINED = ("induced", "ensemble")
"""Searches of models that are not trained on a treebank."""
LOSS_LEARNERS = {"crf": "adagrad", "hinge": "passive_aggressive"}
"""The learner of each loss that linear parsers have."""
SCORER_DEFAULTS: dict[str, Any] = {
    "order": 1,
    "labels": "joint",
    "features": "graph-v1",
    "tree_bits": 22,
    "pruner": False,
    "learner": "adamw",
}
"""What `auto` stands for with a scorer and a search that are named."""

PARSER_DEFAULTS: dict[str, dict[str, Any]] = {
    "graph": {
        "order": 2,
        "labels": "staged",
        "features": "graph-v1",
        "tree_bits": 22,
        "pruner": True,
        "learner": "passive_aggressive",
    },
    "cube": {
        "order": 3,
        "labels": "joint",
        "features": "cube-v1",
        "tree_bits": 24,
        "pruner": True,
        "update": "p-max",
        "learner": "passive_aggressive",
    },
    "transition": {
        "order": 1,
        "labels": "joint",
        "features": "zhang-nivre-v1",
        "tree_bits": 24,
        "pruner": False,
        "learner": "perceptron",
    },
}
"""What `auto` stands for where the treebank has no say."""


def trained_searches() -> list[str]:
    """The names that `parser` may have."""
    return [name for name in searches if name not in UNTRAINED]


def make_config(given: TrainConfig | Mapping[str, Any] | str | os.PathLike[str] | None) -> TrainConfig:
    """A configuration however it is given; InputError where it is none."""
    if given is None or isinstance(given, TrainConfig):
        return given or TrainConfig()
    if isinstance(given, Mapping):
        return from_dict(TrainConfig, given)
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            "config: expected a TrainConfig, a mapping or the name of a TOML file, "
            f"got {type(given).__name__}"
        )
    try:
        return load_config(given, TrainConfig)
    except OSError as error:
        raise InputError(f"config: {os.fspath(given)}: {error.strerror or error}") from None


def resolve(config: TrainConfig, columns: Columns) -> TrainConfig:
    """The configuration with all that is `auto` decided."""
    shape = TreebankShape.of(columns)
    pick: dict[str, Any] = {
        name: value for name, value in config.defaults.items() if getattr(config, name) == "auto"
    }
    if not config.is_linear and config.loss == "auto":
        pick["loss"] = "crf" if config.parser in ("graph", "exact") else "hinge"
    if not config.is_linear and config.parser == "graph":
        pick["parser"] = "exact"
    pick["features"] = _features(config)
    pick["learner"] = config.learner_name
    if config.parser == "transition":
        pick["trees"], pick["transition"] = config.transition.trees, config.transition.resolved()
    elif config.trees == "auto":
        may_cross = shape.crossing_share > CROSSING_SHARE and config.projectivize != "pseudo-projective"
        pick["trees"] = "nonprojective" if may_cross else "projective"
        if may_cross:
            pick["projectivize"] = TrainConfig.projectivize  # of which there is no need then
    if config.roots == "auto":
        pick["roots"] = "multi" if shape.several_roots > ROOTS_SHARE * len(columns) else "single"
    trees, order = (pick.get(name, getattr(config, name)) for name in ("trees", "order"))
    if config.parser != "transition":
        pick["pruner_settings"] = config.pruner_settings.resolved(trees, order)
    pick["parameters"] = chosen_learner(config).settings()
    resolved = replace(config, **pick)
    _check_contexts(resolved)
    return resolved


def _features(config: TrainConfig) -> str:
    """The template set; InputError where it does not go with a guide, or with none."""
    name = config.features
    if name == "auto":
        name = str(config.defaults["features"])
    known = transition_features if config.parser == "transition" else features
    if config.stack is None:
        if known.create(name).needs_guide:
            raise InputError(
                f"features: {name} looks at the trees of another parser, got none; name it with stack "
                f"(--stack MODEL), or choose {name.removesuffix(GUIDE_SUFFIX)}"
            )
        return name
    if not known.create(name).needs_guide:
        name += GUIDE_SUFFIX
    if name not in known:
        guided = ", ".join(each for each in known if known.create(each).needs_guide)
        raise InputError(f"features: with stack, expected one of {guided}, got {config.features}")
    return name


def _check_contexts(config: TrainConfig) -> None:
    """InputError where a template set has contexts that nobody looks at, or has none for who does."""
    if config.parser == "transition" or not config.is_linear:
        return
    wanted, given = config.parser == "cube", bool(features.create(config.features).contexts)
    if given == wanted or (wanted and config.order == 1):
        return
    sets = map(features.create, features)
    guided = config.stack is not None
    fits = " or ".join(s.name for s in sets if bool(s.contexts) == wanted and s.needs_guide == guided)
    other = "with" if wanted else "without"
    choice = "order = 1, which has none" if wanted else 'parser = "cube"'
    raise InputError(
        f'features: with parser = "{config.parser}", expected a set {other} contexts of higher order: '
        f"{fits}, got {config.features}; or choose {choice}"
    )


def chosen_learner(config: TrainConfig) -> Learner:
    """The learner of a configuration, with the defaults of parsers where it says nothing."""
    return make_learner(config, {**parser_defaults(config), **config.parameters})


def parser_defaults(config: TrainConfig) -> dict[str, int | float | str]:
    """What the learner's parameters are for parsers where nothing else is said."""
    chosen = LAPLACE if config.parameters.get("prior") == "laplace" else PARAMETERS
    return chosen.get(config.parser, {}).get(config.learner_name, {})


def learns_from_parts(config: TrainConfig) -> bool:
    """Whether some heads may be unknown: the learner asks for nothing but probabilities."""
    if not config.is_linear:
        return config.loss in ("auto", "crf", "local")
    return chosen_learner(config).needs == {Query.MARGINALS}


@dataclass(frozen=True)
class TreebankShape:
    """What decides about settings that are `auto`."""

    sentences: int
    crossing_trees: int
    crossing_share: float
    """Of arcs that are known."""
    several_roots: int
    """Sentences that have more than one."""

    @classmethod
    def of(cls, columns: Columns) -> TreebankShape:
        """Counted in a treebank."""
        crossing = crossing_arcs(columns)
        trees = np.unique(np.searchsorted(columns.offsets, np.flatnonzero(crossing), side="right"))
        known = int(np.count_nonzero(columns.heads >= 0))
        share = np.count_nonzero(crossing) / max(1, known)
        at_root = np.concatenate([[0], np.cumsum(columns.heads == 0)])
        several = int(np.count_nonzero(np.diff(at_root[columns.offsets]) > 1))
        return cls(len(columns), len(trees), share, several)

    def decisions(self, asked: TrainConfig, chosen: TrainConfig) -> Iterator[str]:
        """A line for each thing that was left to the treebank."""
        whole = f"{self.sentences:,}"
        if asked.trees == "auto":
            share = f"{100 * self.crossing_share:.2g}% of arcs"
            what = chosen.trees if chosen.projectivize != "pseudo-projective" else chosen.projectivize
            yield f"trees: {self.crossing_trees:,} of {whole} have crossing arcs ({share}): {what}"
        if asked.roots == "auto":
            yield f"roots: {self.several_roots:,} of {whole} trees have several: {chosen.roots}"


def make_learner(config: TrainConfig, parameters: dict[str, int | float | str]) -> Learner:
    """The learner of a configuration, with its seed where it has one; numbers may be given as text."""
    factory: type[Learner] = learners.factory(config.learner_name)  # type: ignore[assignment]
    known = {parameter.name: parameter.kind for parameter in factory.parameters()}
    texts = {
        name: value
        for name, value in parameters.items()
        if isinstance(value, str) and known.get(name, str) is not str
    }
    seed = {"seed": config.seed} if "seed" in known and "seed" not in parameters else {}
    return learners.create(config.learner_name, **{**parameters, **factory.parse(texts), **seed})


def storable(config: TrainConfig) -> dict[str, Any]:
    """The configuration as JSON can hold it: what is not finite, such as MIRA's `C = inf`, as text."""
    values = to_dict(config)
    values["parameters"] = {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in config.parameters.items()
    }
    return values
