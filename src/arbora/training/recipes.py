"""How each kind of parser is trained: its settings, stages and problems, and the search from the weights.

A registered search names its recipe. Here is that of any scorer with any search over part scores, by a loss;
those of the built-in linear parsers are in `arbora.training.linear`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import cached_property
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from arbora.data.clusters import WordClusters
from arbora.data.columns import PIECE, Columns, TextColumn
from arbora.data.encode import Batch, GuideTrees, Names
from arbora.data.projectivize import PseudoProjective
from arbora.data.soft import SoftTrees
from arbora.errors import InputError, UnknownNameError
from arbora.interfaces import PartKind, Problem, Query, Roots, Scorer, Trees
from arbora.learners.stage import Stage
from arbora.parsing.parser import Parser
from arbora.pipeline.words import matches
from arbora.problems import ScorerProblem
from arbora.progress import Observer, Scores
from arbora.registry import Registry, features, losses, scorers, searches
from arbora.search.base import Search
from arbora.search.lifted import LiftedSearch
from arbora.search.pruner import PrunerSettings, require_rule
from arbora.training.annotation import filled_heads, lift, training_heads
from arbora.types import Floats, Ints

if TYPE_CHECKING:
    from arbora.training.config import TrainConfig

Value: TypeAlias = int | float | str
Dependent: TypeAlias = dict[str, tuple[str, Callable[["TrainConfig"], bool]]]

Done = dict[str, Floats]
"""The weights of finished stages by name."""


def attachment(heads: Ints, labels: Ints | None, gold_heads: Ints, gold_labels: Ints) -> Scores:
    """LAS (if labels are given) and UAS, in percent of the words with a gold head."""
    known = gold_heads >= 0
    right = (heads == gold_heads)[known]
    labelled = {} if labels is None else {"las": 100 * float(np.mean(right & (labels == gold_labels)[known]))}
    return {**labelled, "uas": 100 * float(np.mean(right))}


class Dev:
    """A treebank to evaluate a parser on, encoded once: all words, punctuation included, whole labels."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.columns = batch.columns

    @cached_property
    def pieces(self) -> list[Batch]:
        return [piece for _, piece in self.batch.pieces(PIECE)]

    def scores(self, parser: Parser, threads: int = 1) -> Scores:
        """LAS (where there are labels) and UAS, in percent."""
        return self._attachment(parser, *parser.trees(self.batch, threads=threads))

    def scores_with_tags(self, parser: Parser, threads: int = 1) -> Scores:
        """The same, and the percentage of right values in each column that the parser predicts.

        Piece by piece, so that trees and tags share the states of a network.
        """
        annotator, trees = parser.search.annotator, []
        right: dict[TextColumn, list[NDArray[np.bool_]]] = {name: [] for name in annotator.outputs}
        for piece in self.pieces:
            trees.append(np.stack(parser.trees(piece, threads=threads)))
            tagged = annotator.annotate(piece.columns, threads=threads)
            for name, found in right.items():
                found.append(matches(tagged, piece.columns, name))
        tags: Scores = {name: 100 * float(np.mean(np.concatenate(found))) for name, found in right.items()}
        return {**self._attachment(parser, *np.concatenate(trees, axis=1)), **tags}

    def _attachment(self, parser: Parser, heads: Ints, labels: Ints) -> Scores:
        return attachment(
            heads, labels if parser.gives_labels else None, self.columns.heads, self.batch.labels
        )


DEFAULTS = ("order", "labels", "features", "tree_bits", "pruner", "learner", "update")
PRUNER_SETTINGS = tuple(f"pruner_settings.{setting.name}" for setting in fields(PrunerSettings))
GRAPH_SETTINGS = ("order", "pruner", "grandparents", *PRUNER_SETTINGS)
NETWORK_SETTINGS = ("neural", "start", "encoder", "embed_encoder")
OWN_SETTINGS = (*GRAPH_SETTINGS, "decode", "cube", "update", "transition", *NETWORK_SETTINGS)
"""Settings that not every kind of parser has."""


def named(*values: Any) -> dict[str, Any]:
    """Values of the settings in `DEFAULTS`, by name."""
    return dict(zip(DEFAULTS, values, strict=False))


def recipe_of(parser: str) -> type[Recipe]:
    """The recipe that a registered search names; InputError if it is not trained on a treebank."""
    if parser not in searches:
        raise UnknownNameError("parser", parser, trained_parsers())
    path = getattr(searches.factory(parser), "recipe", Search.recipe)
    if not path:
        raise InputError(f"parser: {parser} models are not trained on a treebank; choose another")
    return cast("type[Recipe]", resolve_name(path))


def trained_parsers() -> list[str]:
    """The searches that are trained on a treebank."""
    return [name for name in searches if getattr(searches.factory(name), "recipe", Search.recipe)]


class Recipe(ABC):
    """The settings of a kind of parser, and the stages of its training; the last is always `tree`."""

    own_settings: ClassVar[tuple[str, ...]]
    """Those of `OWN_SETTINGS` that this kind has."""
    unused_settings: ClassVar[tuple[str, ...]] = ()
    """Those that have no effect, but models store them."""
    defaults: ClassVar[dict[str, Any]]
    """The value of `auto`, unless the treebank decides."""
    patience: ClassVar[int] = 4
    tags: ClassVar[str] = "jackknife"
    """The same of these settings; `tags` only where a tagger is trained, too."""
    parameters: ClassVar[dict[str, dict[str, Value]]] = {}
    """Defaults of parameters, by learner."""
    laplace: ClassVar[dict[str, dict[str, Value]]] = {}
    """The same with a Laplacian prior: |α| instead of α², so what is long for one is short for the other."""
    template_sets: ClassVar[Registry[Any]] = features
    has_clusters: ClassVar[bool] = True
    """Whether features may read word clusters; otherwise the scorer itself reads word vectors."""
    is_linear: ClassVar[bool] = True
    """Whether scores are those of the built-in linear scorer."""
    loss_learners: ClassVar[dict[str, str]] = {"crf": "adagrad", "hinge": "passive_aggressive"}
    """The learner of each loss that can be chosen."""
    package: ClassVar[str] = ""
    """A package that training needs, and the name of the extra that installs it."""
    learns_softly: ClassVar[bool] = False
    """Whether it learns from probabilities of trees, too."""
    general_search: ClassVar[str] = ""
    """The search that finds the same trees with any scorer, if search is exact."""
    dependent: ClassVar[Dependent] = {
        "encoding": (
            'projectivize = "pseudo-projective", because it concerns its marks',
            lambda c: c.projectivize == "pseudo-projective",
        ),
        "projectivize": (
            "projective trees; non-projective ones are learned as they are",
            lambda c: c.recipe.trees(c) != "nonprojective",
        ),
    }
    """Settings that depend on others: the requirement of each, and whether it is met."""

    @classmethod
    def require_package(cls) -> None:
        """InputError if the package that training needs is not installed."""
        if cls.package and find_spec(cls.package) is None:
            raise InputError(
                f"training needs {cls.package}, which is not installed: pip install "
                f"'arbora-nlp[{cls.package}]' (parsing does not need it)",
                field="parser",
            )

    def __init__(
        self,
        config: TrainConfig,
        columns: Columns,
        dev: Columns | None,
        guide: Parser | None,
        threads: int,
        observer: Observer,
        clusters: WordClusters | None = None,
    ) -> None:
        """`config` is resolved: nothing is `auto`. A guide's trees are added to `train` and `dev` later."""
        c = self.config = config
        self.like: Parser | None = None
        self.soft: SoftTrees | None = None
        self.guide_trees: GuideTrees | None = None
        self.guide, self.threads, self.observer = guide, threads, observer
        self.learner = c.make_learner()
        trees, roots = cast("Trees", c.trees), cast("Roots", c.roots)
        heads = training_heads(columns, trees, roots, c.projectivize)
        self.names, self.lifts = self.make_names(columns), cast("PseudoProjective | None", None)
        if c.projectivize == "pseudo-projective":
            heads, columns, self.names, self.lifts = lift(columns, heads, c.encoding)
        if c.scorer == "linear":
            self.names = replace(self.names, clusters=clusters)
        self.columns = columns  # with marked labels where trees are pseudo-projective
        whole = filled_heads(columns, heads, trees, roots)
        self.train, self.filled = self.names.encode(columns), self.names.encode(columns)
        self.train.set_heads(np.where(heads < 0, heads, whole))
        self.filled.set_heads(whole)  # partial trees completed: arcs that a pruner must keep
        self.dev = None if dev is None else Dev(self.names.batch(dev))

    def make_names(self, columns: Columns) -> Names:
        """The tags and labels of the parser."""
        return Names.of(columns)

    def notes(self) -> Iterable[str]:
        """Notes to print before training."""
        return ()

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        """InputError for settings that this kind of parser does not have, or that do not go together."""
        for name in OWN_SETTINGS:
            # A kind's own default may be given, such as order = 1 for transition parsers.
            has_it = name in (*cls.own_settings, *cls.unused_settings)
            is_own = has_it or getattr(config, name, None) == cls.defaults.get(name, ...)
            if not is_own and config.is_changed(name):
                recipes = {each: recipe_of(each) for each in trained_parsers()}
                owners = [each for each in recipes if name in recipes[each].own_settings]
                known = " or ".join(f'"{each}"' for each in owners)
                raise InputError(f'{name}: only for parser = {known}, got parser = "{config.kind}"')
        if config.tags == "none" and cls.tags != "none":
            raise InputError('tags: none is only for parser = "neural", which predicts tags itself')
        if cls.is_linear and config.scorer_settings:
            raise InputError("scorer_settings: only for a scorer that is named with scorer")
        if cls.is_linear and config.loss != "auto":
            learner = cls.loss_learners.get(config.loss)
            if learner is None or config.learner not in ("auto", learner):
                known = " or ".join(f"{loss} (learner {name})" for loss, name in cls.loss_learners.items())
                raise InputError(
                    f"loss: expected {known} with parser = {config.kind}, got {config.loss} with "
                    f"learner = {config.learner}; choose parser = exact, or leave the loss to the learner"
                )
        if config.labels == "staged" and cls.defaults["labels"] != "staged":
            raise InputError(
                f'labels: expected joint or none with parser = "{config.kind}", got staged; it chooses '
                "heads and labels together"
            )
        if config.projectivize == "pseudo-projective" and config.labels == "none":
            raise InputError(
                "projectivize: expected flatten or minimum-loss with labels = none, got 'pseudo-projective'; "
                "its marks are in labels"
            )
        for name, (needs, is_met) in cls.dependent.items():
            if not is_met(config) and config.is_changed(name):
                raise InputError(f"{name}: has no effect here; it needs {needs}")

    @staticmethod
    def trees(config: TrainConfig) -> str:
        """The family of trees, or `auto`: the treebank decides."""
        return config.trees

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        """Settings that depend on what the treebank decided."""
        assert config.trees != "auto"
        assert config.order != "auto"
        settings = config.pruner_settings.resolved(config.trees, config.order)
        if config.pruner:
            require_rule(settings, config.trees)
        return {"pruner_settings": settings}

    @staticmethod
    def crossing_share(config: TrainConfig) -> float:
        """With `trees = "auto"`: above this share of crossing arcs, trees are non-projective."""
        return 0.005

    @classmethod
    def parameters_for(cls, config: TrainConfig, columns: Columns) -> dict[str, dict[str, Value]]:
        """Defaults of parameters that depend on the treebank or on other settings, by learner."""
        return {}

    @property
    @abstractmethod
    def scorer(self) -> Any:
        """The scorer, without weights or with initial ones."""

    @classmethod
    def learns_from_parts(cls, config: TrainConfig) -> bool:
        """Whether some heads may be unknown: the learner needs only probabilities."""
        return config.make_learner().needs == {Query.MARGINALS}

    def put_guide(self, trees: GuideTrees) -> None:
        """Add a guide's trees to the sentences to train on."""
        self.guide_trees = trees
        self.train.set_guide(*trees)

    def scorer_parts(self) -> Any:
        """What the same recipe over other sentences needs to make the same scorer, for `put_scorer`."""
        return self.scorer.to_parts()

    def put_scorer(self, parts: Any) -> None:
        """Take the scorer of the same recipe over other sentences."""
        made: Any = scorers.factory(self.config.scorer)
        self.__dict__["scorer"] = made.from_parts(*parts, self.names)

    def better_settings(self) -> list[str]:
        """Settings with which more queries are answered, in words."""
        c = self.config
        if Query.LOSS in self.learner.needs:
            return ["any scorer with a loss (--parser exact)"]
        changes = ["order 1 (--order 1)"] if c.order != 1 else []
        if not self.general_search:
            changes.append("exact search (--parser graph)")
        if Query.ARC_MARGINALS in self.learner.needs and c.labels == "joint":  # only for heads
            changes.append("staged labels (--labels staged)")
        choices = [" with ".join(changes)] if changes else []
        if self.general_search and c.order == 2 and c.trees == "nonprojective":
            choices.append('projective trees (trees = "projective")')
        return choices

    @property
    def stages(self) -> list[str]:
        """Names of the stages, in order."""
        return ["tree"]

    def stage(self, name: str, done: Done) -> Stage:
        """One stage, with the weights of those before it; dev evaluates the parser after epochs of `tree`."""
        judge: Callable[[Floats], Scores] | None = None
        if (dev := self.dev) is not None:
            judge = lambda w: self.evaluate(self.parser({**done, "tree": w}), dev)  # noqa: E731
        options: dict[str, Any] = {"patience": self.config.patience, "which": self.config.weights}
        return Stage(name=name, learner=self.learner, problem=self.problem(done), judge=judge, **options)

    def evaluate(self, parser: Parser, dev: Dev) -> Scores:
        """The scores of a parser after an epoch; the first decides which epoch is the best."""
        return dev.scores(parser, self.threads)

    @abstractmethod
    def problem(self, done: Done) -> Problem:
        """The problem of the tree stage."""

    @abstractmethod
    def search(self, done: Done) -> Search:
        """The search with the weights of all stages."""

    def parser(self, done: Done) -> Parser:
        """The parser with the weights of all stages."""
        search, names = self.search(done), self.names
        if self.lifts is not None:
            search = LiftedSearch(search, self.lifts, names.labels)
        names = names if self.guide is None else replace(names, guide=self.guide)
        return Parser(names=names, search=search)


class ScorerRecipe(Recipe):
    """Any scorer with any search over part scores, by a loss."""

    own_settings = ()
    unused_settings = PRUNER_SETTINGS
    defaults = named(1, "joint", "graph-v1", 22, False, "adamw")
    is_linear = False
    loss_learners: ClassVar = {}

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        own = recipe_of(config.kind)
        if own.is_linear and not own.general_search:
            raise InputError(
                f"scorer: expected linear with parser = {config.kind}, got {config.scorer}; other scorers "
                'need parser = "exact", or another package\'s search'
            )

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        parser = recipe_of(config.kind).general_search or config.kind
        search: Any = searches.factory(parser)
        loss = search.loss if config.loss == "auto" else config.loss
        return {"parser": parser, "loss": loss, **super().resolve(config)}

    @classmethod
    def learns_from_parts(cls, config: TrainConfig) -> bool:
        return config.loss in ("auto", "crf", "local")

    @cached_property
    def scorer(self) -> Scorer:
        c, factory = self.config, cast("Any", scorers.factory(self.config.scorer))
        made: Scorer = factory.build(self.columns, self.names, seed=c.seed, **c.scorer_settings)
        if PartKind.LABEL not in made.parts and self.names.labels:
            self.observer.note(f"labels: none, since the scorer {c.scorer} does not score labels")
        return made

    @cached_property
    def batch(self) -> Batch:
        """The treebank for the scorer, with the heads to train on."""
        batch = self.names.batch(self.columns, threads=self.threads)
        batch.set_heads(np.asarray(self.train.heads))
        return batch

    def _search(self, scorer: Scorer) -> Any:
        c, count = self.config, len(self.names.labels)
        return searches.factory(c.parser)(scorer, trees=c.trees, roots=c.roots, label_count=count)

    def problem(self, done: Done) -> Problem:
        c = self.config
        return ScorerProblem(self._search(self.scorer), self.batch, losses.create(c.loss), c.cost)

    def search(self, done: Done) -> Search:
        found: Search = self._search(self.scorer.with_weights(done["tree"]))
        return found
