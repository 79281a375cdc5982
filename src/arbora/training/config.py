"""The settings of a training, and those that the treebank decides."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

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
from arbora.registry import features, learners, losses, scorers, searches, seeded_learner, transition_features
from arbora.scorers.cube import CubeSettings, Update
from arbora.scorers.linear import Labels, table_bits
from arbora.scorers.transition import TransitionSettings
from arbora.search.pruner import PrunerSettings
from arbora.settings import Settings, from_dict, load_config, parameter, parameters_of, to_dict
from arbora.training.annotation import Projectivize, crossing_arcs

CROSSING_SHARE = 0.005
"""With `trees="auto"`: above this share of crossing arcs, trees are non-projective."""
ROOTS_SHARE = 0.005
"""With `roots="auto"`: above this share of sentences with several roots, trees may have several."""
PRUNER_SETTINGS = PrunerSettings(rule="auto")
Value: TypeAlias = int | float | str


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Settings):
    """All settings of a training. The treebank decides what is `auto`; the model stores the decision."""

    parser: str = parameter(
        "graph",
        "one of `arbora list parsers`. graph: exact search with linear scores, order 1 or 2; cube: any "
        "order, labels with heads, by cube pruning: slower and more accurate; transition: left to right in "
        "linear time: the fastest (transition.beam=64: more accurate); exact, or another package's search: "
        "with the scores of any scorer",
    )
    scorer: str = parameter("linear", "one of `arbora list scorers`")
    scorer_settings: dict[str, Any] = parameter(factory=dict, help="settings of that scorer, by name")
    loss: str = parameter(
        "auto", "one of `arbora list losses`; auto: the learner's own, crf with exact search"
    )
    cost: TreeCost = parameter(COST, "what wrong heads and labels cost")
    trees: Trees | Literal["auto"] = parameter("auto", "whether arcs may cross; auto: as in the treebank")
    roots: Roots | Literal["auto"] = parameter(
        "auto", "whether trees may have several roots; auto: as in the treebank"
    )
    order: Literal[1, 2, 3, "auto"] = parameter(
        "auto",
        "parts that are scored. 1: arcs; 2: siblings and grandparents, too; 3: larger contexts (cube "
        "pruning); auto: 2, or 3 with cube pruning; transition parsers have none",
    )
    grandparents: bool = parameter(True, "from order 2 on: score grandparents, too")
    labels: Labels | Literal["auto"] = parameter(
        "auto",
        "when labels are predicted. staged: on the finished tree; joint: with it; none: not at all; auto: "
        "staged, or joint with cube pruning and transitions",
    )
    features: str = parameter(
        "auto",
        "a template set; auto: graph-v1, cube-v1 or zhang-nivre-v1, by parser; with `stack`, one with guides",
    )
    tree_bits: int | Literal["auto"] = table_bits(
        "auto", "log2 of the number of tree weights; auto: 22, or 24 with cube pruning and transitions"
    )
    label_bits: int = table_bits(22, "log2 of the number of label weights")
    pruner: bool | Literal["auto"] = parameter(
        "auto", "prune arcs first; auto: yes; transition parsers have none"
    )
    pruner_settings: PrunerSettings = parameter(factory=lambda: PRUNER_SETTINGS, help="of the pruner")
    cube: CubeSettings = parameter(factory=CubeSettings, help="of cube pruning")
    update: Update | Literal["auto"] = parameter(
        "auto",
        "with cube pruning: where in a tree weights are updated if search went wrong. standard: at its root; "
        "skip: there, if that helps; s-max: at the largest violation; p-max: at every violation; auto: p-max",
    )
    transition: TransitionSettings = parameter(factory=TransitionSettings, help="of transition parsers")
    learner: str = parameter(
        "auto",
        "one of `arbora list learners`; auto: passive_aggressive, or perceptron for transition parsers",
    )
    parameters: dict[str, Value] = parameter(
        factory=dict, help="parameters of the learner, by name; `arbora info learner NAME` lists them"
    )
    weights: Which = parameter("averaged", "which weights of the learner to use")
    projectivize: Projectivize = parameter(
        "flatten",
        "how crossing arcs of the treebank are changed if trees are projective. pseudo-projective: lifted, "
        "with marks in labels that undo it after parsing; `trees = auto` is projective then",
    )
    encoding: Encoding = parameter("head", "what the marks of pseudo-projective trees encode")
    decode: Literal["same", "projective", "auto"] = parameter(
        "same",
        "trees when parsing, if training is over first-order non-projective ones; auto: the better on dev",
    )
    stack: str | None = parameter(
        None,
        "a model file whose parser is the guide: its trees become features. The guide must have been trained "
        "on TRAIN, and not on DEV. Parsers like it are trained on folds of TRAIN first, so that the new "
        "parser sees trees of unseen sentences. The new model contains both parsers",
    )
    patience: int = parameter(4, "stop if dev has not improved for this many epochs; 0: never", least=0)
    seed: int = parameter(0, "random seed; the same seed gives the same model", least=0)
    only: Literal["all", "parser"] = parameter(
        "all",
        "parts to train. parser: only the parser, for input that is tagged; all: also segmenter, tagger and "
        "lemmatizer, as far as the treebank allows",
    )
    tags: Literal["jackknife", "gold"] = parameter(
        "jackknife",
        "tags that the parser is trained on if a tagger is trained, too. jackknife: predicted by taggers "
        "trained on other folds; gold: those of the treebank",
    )
    folds: int = parameter(5, "folds of jackknifing, of tags and of a guide's trees", least=2, most=100)
    segmenter: SegmenterSettings = parameter(factory=SegmenterSettings, help="of the segmenter")
    tagger: TaggerSettings = parameter(factory=TaggerSettings, help="of the tagger")
    lemmatizer: WordSettings = parameter(LEMMATIZER_SETTINGS, "of the lemmatizer")

    def __post_init__(self) -> None:
        """Check how settings go together."""
        super().__post_init__()
        if self.decode != "same" and (self.order != 1 or self.parser != "graph"):
            raise InputError(
                f"decode: expected same with order = {self.order} and parser = {self.parser}, got "
                f"{self.decode!r}; only scores of arcs can be used with other trees than in training"
            )
        self._check_kinds()
        self._check_parser()
        for name, (needs, is_met) in WITHOUT_EFFECT.items():
            if not is_met(self) and _is_changed(self, name):
                raise InputError(f"{name}: does nothing here; it needs {needs}")

    def _check_kinds(self) -> None:
        """InputError for names that are not registered, and for a loss that the parser does not have."""
        if self.parser in UNTRAINED:
            raise InputError(f"parser: {self.parser} models are not trained on a treebank; choose another")
        searches.factory(self.parser)
        scorers.factory(self.scorer)
        if self.loss != "auto":
            losses.factory(self.loss)
        if not self.is_linear:
            return
        if self.scorer_settings:
            raise InputError("scorer_settings: only for a scorer that is named with scorer")
        learner = LOSS_LEARNERS.get(self.loss)
        if self.loss != "auto" and (learner is None or self.learner not in ("auto", learner)):
            raise InputError(
                f"loss: expected crf (learner adagrad) or hinge (learner passive_aggressive) with parser = "
                f"{self.parser}, got {self.loss} with learner = {self.learner}; name another scorer, or "
                "leave the loss to the learner"
            )

    def _check_parser(self) -> None:
        """InputError for settings of another parser."""
        for name, owners, is_given in (
            ("update", ("cube",), self.update != "auto"),
            ("cube", ("cube",), self.cube != CubeSettings()),
            ("transition", ("transition",), self.transition != TransitionSettings()),
            ("order", ("graph", "cube"), self.order in (2, 3)),
            ("pruner", ("graph", "cube"), self.pruner is True),
        ):
            if is_given and self.parser not in owners:
                wanted = " or ".join(f'"{owner}"' for owner in owners)
                raise InputError(f'{name}: only for parser = {wanted}, got parser = "{self.parser}"')
        if self.parser == "graph" and self.order == 3:
            raise InputError('order: expected 1 or 2 with parser = "graph", got 3; choose parser = "cube"')
        if self.parser == "transition" and self.trees not in ("auto", self.transition.trees):
            raise InputError(
                f"trees: expected {self.transition.trees} with the system {self.transition.system}, got "
                f"{self.trees}; arc-eager and arc-standard build projective trees, swap non-projective ones"
            )
        if self.labels == "staged" and (self.parser != "graph" or not self.is_linear):
            raise InputError(
                f'labels: expected joint or none with parser = "{self.parser}", got staged; it chooses heads '
                "and labels together"
            )
        if self.projectivize == "pseudo-projective":
            if self._trees == "nonprojective":
                given, why = "trees = nonprojective", "it is for projective trees"
            elif self.labels == "none":
                given, why = "labels = none", "its marks are in labels"
            else:
                return
            raise InputError(
                f"projectivize: expected flatten or minimum-loss with {given}, got 'pseudo-projective'; {why}"
            )

    @property
    def is_linear(self) -> bool:
        """Whether it is one of the built-in parsers with linear scores."""
        return self.parser in PARSER_DEFAULTS and self.scorer == "linear"

    @property
    def _trees(self) -> str:
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
        """What `auto` stands for with this parser, unless the treebank decides."""
        return PARSER_DEFAULTS[self.parser] if self.is_linear else SCORER_DEFAULTS

    @staticmethod
    def elsewhere(name: str) -> str | None:
        """The full name of a learner's parameter: these have their own table."""
        factories: list[Any] = [learners.factory(learner) for learner in learners]
        known = {declared.name for factory in factories for declared in factory.parameters()}
        return f"parameters.{name}" if name in known else None


def _is_changed(config: TrainConfig, name: str) -> bool:
    """Whether a setting, named with a dot if it is in a table, differs from its default."""
    first, _, last = name.partition(".")
    default = next(declared.default for declared in parameters_of(TrainConfig) if declared.name == first)
    value = getattr(config, first)
    return bool(getattr(value, last) != getattr(default, last) if last else value != default)


_HAS_LABELS: tuple[str, Callable[[TrainConfig], bool]] = ("labels = joint", lambda c: c.labels != "none")
WITHOUT_EFFECT: dict[str, tuple[str, Callable[[TrainConfig], bool]]] = {
    "encoding": (
        'projectivize = "pseudo-projective", whose marks it is about',
        lambda c: c.projectivize == "pseudo-projective",
    ),
    "projectivize": (
        "projective trees; non-projective ones are learned as they are",
        lambda c: c._trees != "nonprojective",
    ),
    "grandparents": (
        'order 2 or 3, and parser = "graph" or "cube"',
        lambda c: c.order != 1 and c.parser != "transition",
    ),
    "transition.update": (
        "a beam, transition.beam above 1; without one every move is learned",
        lambda c: c.transition.beam > 1,
    ),
    "transition.oracle": (
        "a parser without a beam, transition.beam = 1; with one, whole sequences of moves are learned",
        lambda c: c.transition.beam == 1,
    ),
    **{
        f"pruner_settings.{setting.name}": (
            'parser = "graph" or "cube"; transition parsers have no pruner',
            lambda c: c.parser != "transition",
        )
        for setting in fields(PrunerSettings)
    },
    **dict.fromkeys(("transition.most_labels", "cube.most_labels", "cube.labels_within"), _HAS_LABELS),
}
"""Settings that depend on others: what each needs, and whether that is met."""

PARAMETERS: dict[str, dict[str, dict[str, Value]]] = {
    "graph": {
        # Chosen on UD_English-EWT dev.
        "passive_aggressive": {"C": 0.01},
        "mira": {"C": 0.01},
        "adagrad": {"C": 0.1, "rate": 1.0, "floor": 30.0},
        # On a part of it, and first-order, where k-best trees are found.
        "spv": {"gamma": 1e5},
        "mec": {"gamma": 1e5},
        # Best on dev of most treebanks of `arbora reproduce matrix-tree`.
        "log_linear": {"C": 0.1},
        "exponentiated_gradient": {"C": 0.01},
    },
    "cube": {
        # Chosen on UD_English-EWT dev, too.
        "passive_aggressive": {"C": 0.005},
        "mira": {"C": 0.005},
        # As for graph parsers.
        "spv": {"gamma": 1e5},
        "mec": {"gamma": 1e5},
    },
    "transition": {
        # With a beam, on a tenth of the Danish training data; a larger C changes nothing: no step is longer.
        "passive_aggressive": {"C": 0.1},
        "mira": {"C": 0.01},
        # Powers of ten, evaluated on every tenth of 1,500 sentences of UD_English-EWT train after two epochs
        # on the others, with a beam of 8 and greedily. Sequences of moves have more features than trees.
        "spv": {"gamma": 1e8},
        "mec": {"gamma": 1e6},
    },
}
"""Defaults of learners by parser."""

# |α| instead of α²: what is long for one prior is short for the other.
_LAPLACE: dict[str, dict[str, Value]] = {"spv": {"gamma": 100.0}, "mec": {"gamma": 10.0}}
LAPLACE: dict[str, dict[str, dict[str, Value]]] = {
    "graph": _LAPLACE,
    "cube": _LAPLACE,
    "transition": {"spv": {"gamma": 1e4}, "mec": {"gamma": 100.0}},
}
"""The same with a Laplacian prior."""

UNTRAINED = ("induced", "ensemble")
"""Searches of models that are not trained on a treebank."""
LOSS_LEARNERS = {"crf": "adagrad", "hinge": "passive_aggressive"}
"""The learner of each loss that linear parsers have."""

_NAMES = ("order", "labels", "features", "tree_bits", "pruner", "learner", "update")
_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "graph": (2, "staged", "graph-v1", 22, True, "passive_aggressive"),
    "cube": (3, "joint", "cube-v1", 24, True, "passive_aggressive", "p-max"),
    "transition": (1, "joint", "zhang-nivre-v1", 24, False, "perceptron"),
}
PARSER_DEFAULTS = {parser: dict(zip(_NAMES, row, strict=False)) for parser, row in _DEFAULTS.items()}
"""What `auto` stands for with linear parsers, unless the treebank decides."""
SCORER_DEFAULTS = dict(zip(_NAMES, (1, "joint", "graph-v1", 22, False, "adamw"), strict=False))
"""What `auto` stands for with a scorer and a search that are named."""


def trained_searches() -> list[str]:
    """The names that `parser` may have."""
    return [name for name in searches if name not in UNTRAINED]


def make_config(given: TrainConfig | Mapping[str, Any] | str | os.PathLike[str] | None) -> TrainConfig:
    """A configuration from any of the forms that `train` takes; InputError if it is invalid."""
    if given is None or isinstance(given, TrainConfig):
        return given or TrainConfig()
    if isinstance(given, Mapping):
        return from_dict(TrainConfig, given)
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            f"config: expected a TrainConfig, a mapping or a TOML file's name, got {type(given).__name__}"
        )
    try:
        return load_config(given, TrainConfig)
    except OSError as error:
        raise InputError(f"config: {os.fspath(given)}: {error.strerror or error}") from None


def resolve(config: TrainConfig, columns: Columns) -> TrainConfig:
    """The configuration with everything that is `auto` decided."""
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
            pick["projectivize"] = TrainConfig.projectivize  # not needed then
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
    """The template set; InputError if it needs a guide and there is none, or the reverse."""
    name = str(config.defaults["features"]) if config.features == "auto" else config.features
    known = transition_features if config.parser == "transition" else features
    needs_guide = known.create(name).needs_guide
    if config.stack is None:
        if needs_guide:
            raise InputError(
                f"features: {name} looks at the trees of another parser, got none; name it with stack "
                f"(--stack MODEL), or choose {name.removesuffix(GUIDE_SUFFIX)}"
            )
        return name
    if not needs_guide:
        name += GUIDE_SUFFIX
    if name not in known:
        guided = ", ".join(each for each in known if known.create(each).needs_guide)
        raise InputError(f"features: with stack, expected one of {guided}, got {config.features}")
    return name


def _check_contexts(config: TrainConfig) -> None:
    """InputError if a template set has contexts of higher order that the parser ignores, or lacks them."""
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
    """The learner of a configuration, with the parser's defaults for parameters that are not given."""
    by_parser = LAPLACE if config.parameters.get("prior") == "laplace" else PARAMETERS
    defaults = by_parser.get(config.parser, {}).get(config.learner_name, {})
    return make_learner(config, {**defaults, **config.parameters})


def make_learner(config: TrainConfig, parameters: dict[str, Value]) -> Learner:
    """The learner of a configuration, with its seed."""
    return seeded_learner(config.learner_name, parameters, config.seed)


def learns_from_parts(config: TrainConfig) -> bool:
    """Whether some heads may be unknown: the learner needs only probabilities."""
    if not config.is_linear:
        return config.loss in ("auto", "crf", "local")
    return chosen_learner(config).needs == {Query.MARGINALS}


@dataclass(frozen=True)
class TreebankShape:
    """The counts that decide settings that are `auto`."""

    sentences: int
    crossing_trees: int
    crossing_share: float
    """Of arcs that are known."""
    several_roots: int
    """Sentences with more than one root."""

    @classmethod
    def of(cls, columns: Columns) -> TreebankShape:
        """Count in a treebank."""
        crossing = crossing_arcs(columns)
        trees = np.unique(np.searchsorted(columns.offsets, np.flatnonzero(crossing), side="right"))
        known = int(np.count_nonzero(columns.heads >= 0))
        share = np.count_nonzero(crossing) / max(1, known)
        at_root = np.concatenate([[0], np.cumsum(columns.heads == 0)])
        several = int(np.count_nonzero(np.diff(at_root[columns.offsets]) > 1))
        return cls(len(columns), len(trees), share, several)

    def decisions(self, given: TrainConfig, chosen: TrainConfig) -> Iterator[str]:
        """A line for each setting that the treebank decided."""
        if given.trees == "auto":
            share = f"{100 * self.crossing_share:.2g}% of arcs"
            what = chosen.trees if chosen.projectivize != "pseudo-projective" else chosen.projectivize
            yield f"trees: {self.crossing_trees:,} of {self.sentences:,} have crossing arcs ({share}): {what}"
        if given.roots == "auto":
            yield f"roots: {self.several_roots:,} of {self.sentences:,} trees have several: {chosen.roots}"


def storable(config: TrainConfig) -> dict[str, Any]:
    """The configuration as JSON can hold it; numbers that are not finite, such as `C = inf`, become text."""
    values = to_dict(config)
    values["parameters"] = {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in config.parameters.items()
    }
    return values
