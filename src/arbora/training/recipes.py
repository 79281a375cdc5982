"""How each kind of parser is trained: its settings, stages and problems, and the search from the weights.

graph        labels on gold trees, a pruner, then trees, or trees and labels together
cube         a filter of labels, a pruner, then labelled trees of higher order
transition   moves and labels
any other    a scorer and a search over part scores, by a loss; also for searches of other packages

A registered search names its recipe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np

from arbora._core import KeptArcs
from arbora.data.columns import Columns
from arbora.data.encode import Batch, Names
from arbora.data.projectivize import PseudoProjective
from arbora.errors import InputError
from arbora.interfaces import PartKind, Problem, Query, Roots, Scorer, Trees
from arbora.learners import Adagrad, PassiveAggressive, Perceptron
from arbora.learners.stage import Stage
from arbora.parsing.parser import Parser
from arbora.problems import CubeProblem, FilterProblem, GraphProblem, ScorerProblem, TransitionProblem
from arbora.progress import Observer, Scores
from arbora.registry import Registry, features, losses, scorers, searches, transition_features
from arbora.scorers import CubeScorer, GraphSettings, LinearScorer, TransitionScorer
from arbora.scorers.linear import Task
from arbora.search.base import Search
from arbora.search.cube import CubeSearch
from arbora.search.graph import GraphSearch
from arbora.search.lifted import LiftedSearch
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer, require_rule
from arbora.search.transition import TransitionSearch
from arbora.training.annotation import filled_heads, lift, training_heads
from arbora.types import Floats, Ints

if TYPE_CHECKING:
    from arbora.training.config import TrainConfig

Value: TypeAlias = int | float | str
Dependent: TypeAlias = dict[str, tuple[str, Callable[["TrainConfig"], bool]]]

LABEL_LEARNER = PassiveAggressive(C=0.01, epochs=5)
PRUNER_LEARNER = PassiveAggressive(C=0.01, epochs=3)
FILTER_LEARNER = Perceptron(epochs=4)
# For learners of probabilities, and for partial trees.
LABEL_PROBABILITIES = Adagrad(C=3.0, rate=1.0, floor=3.0, epochs=4)
PRUNER_PROBABILITIES = Adagrad(C=0.1, rate=1.0, floor=30.0, epochs=3)
PRUNER_SCALE = 0.25
"""Factor of the scores of a pruner of probabilities with the rule margin: they differ more than margins."""

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

    def scores(self, parser: Parser, threads: int = 1) -> Scores:
        """LAS (where there are labels) and UAS, in percent."""
        heads, labels = parser.trees(self.batch, threads=threads)
        labels_given = labels if parser.gives_labels else None
        return attachment(heads, labels_given, self.columns.heads, self.batch.labels)


DEFAULTS = ("order", "labels", "features", "tree_bits", "pruner", "learner", "update")
PRUNER_SETTINGS = tuple(f"pruner_settings.{setting.name}" for setting in fields(PrunerSettings))
GRAPH_SETTINGS = ("order", "pruner", "grandparents", *PRUNER_SETTINGS)
OWN_SETTINGS = (*GRAPH_SETTINGS, "decode", "cube", "update", "transition")
"""Settings that not every kind of parser has."""


def named(*values: Any) -> dict[str, Any]:
    """Values of the settings in `DEFAULTS`, by name."""
    return dict(zip(DEFAULTS, values, strict=False))


def recipe_of(parser: str) -> type[Recipe]:
    """The recipe that a registered search names; InputError if it is not trained on a treebank."""
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
    defaults: ClassVar[dict[str, Any]]
    """What `auto` stands for, unless the treebank decides."""
    parameters: ClassVar[dict[str, dict[str, Value]]] = {}
    """Defaults of parameters, by learner."""
    laplace: ClassVar[dict[str, dict[str, Value]]] = {}
    """The same with a Laplacian prior: |α| instead of α², so what is long for one is short for the other."""
    template_sets: ClassVar[Registry[Any]] = features
    is_linear: ClassVar[bool] = True
    """Whether scores are those of the built-in linear scorer."""
    loss_learners: ClassVar[dict[str, str]] = {"crf": "adagrad", "hinge": "passive_aggressive"}
    """The learner of each loss that can be chosen."""
    general_search: ClassVar[str] = ""
    """The search that finds the same trees with any scorer, if search is exact."""
    dependent: ClassVar[Dependent] = {
        "encoding": (
            'projectivize = "pseudo-projective", whose marks it is about',
            lambda c: c.projectivize == "pseudo-projective",
        ),
        "projectivize": (
            "projective trees; non-projective ones are learned as they are",
            lambda c: c.recipe.trees(c) != "nonprojective",
        ),
    }
    """Settings that depend on others: what each needs, and whether that is met."""

    def __init__(
        self,
        config: TrainConfig,
        columns: Columns,
        dev: Columns | None,
        guide: Parser | None,
        threads: int,
        observer: Observer,
    ) -> None:
        """`config` is resolved: nothing is `auto`. A guide's trees are added to `train` and `dev` later."""
        c = self.config = config
        self.guide, self.threads, self.observer = guide, threads, observer
        self.learner = c.make_learner()
        trees, roots = cast("Trees", c.trees), cast("Roots", c.roots)
        heads = training_heads(columns, trees, roots, c.projectivize)
        self.names, self.lifts = Names.of(columns), cast("PseudoProjective | None", None)
        if c.projectivize == "pseudo-projective":
            heads, columns, self.names, self.lifts = lift(columns, heads, c.encoding)
        self.columns = columns  # with marked labels where trees are pseudo-projective
        whole = filled_heads(columns, heads, trees, roots)
        self.train, self.filled = self.names.encode(columns), self.names.encode(columns)
        self.train.set_heads(np.where(heads < 0, heads, whole))
        self.filled.set_heads(whole)  # partial trees completed: arcs that a pruner must keep
        self.dev = None if dev is None else Dev(self.names.batch(dev))

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        """InputError for settings that this kind of parser does not have, or that do not go together."""
        for name in OWN_SETTINGS:
            # A kind's own default may be given, such as order = 1 for transition parsers.
            is_own = name in cls.own_settings or getattr(config, name, None) == cls.defaults.get(name, ...)
            if not is_own and config.is_changed(name):
                recipes = {each: recipe_of(each) for each in trained_parsers()}
                owners = [each for each in recipes if name in recipes[each].own_settings]
                known = " or ".join(f'"{each}"' for each in owners if recipes[each].is_linear)
                raise InputError(f'{name}: only for parser = {known}, got parser = "{config.parser}"')
        if cls.is_linear and config.scorer_settings:
            raise InputError("scorer_settings: only for a scorer that is named with scorer")
        if cls.is_linear and config.loss != "auto":
            learner = cls.loss_learners.get(config.loss)
            if learner is None or config.learner not in ("auto", learner):
                known = " or ".join(f"{loss} (learner {name})" for loss, name in cls.loss_learners.items())
                raise InputError(
                    f"loss: expected {known} with parser = {config.parser}, got {config.loss} with "
                    f"learner = {config.learner}; choose parser = exact, or leave the loss to the learner"
                )
        if config.labels == "staged" and cls.defaults["labels"] != "staged":
            raise InputError(
                f'labels: expected joint or none with parser = "{config.parser}", got staged; it chooses '
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

    @property
    @abstractmethod
    def scorer(self) -> Any:
        """The scorer, without weights or with initial ones."""

    @property
    def is_complete(self) -> bool:
        """Whether every word has a head."""
        return self.train.is_annotated("tree")

    @cached_property
    def shape(self) -> GraphSettings:
        """The settings that all linear parsers share."""
        chosen = {each.name: getattr(self.config, each.name) for each in fields(GraphSettings)}
        return GraphSettings(**{**chosen, "grandparents": chosen["grandparents"] and chosen["order"] != 1})

    def scorer_options(self) -> dict[str, Any]:
        """The templates, the number of labels, and which of them each pair of tags had."""
        count = len(self.names.labels)
        seen = np.asarray(self.train.seen_labels(count))
        return {"templates": self.template_sets.create(self.config.features), "labels": count, "seen": seen}

    @classmethod
    def learns_from_parts(cls, config: TrainConfig) -> bool:
        """Whether some heads may be unknown: the learner needs only probabilities."""
        return config.make_learner().needs == {Query.MARGINALS}

    def better_settings(self) -> list[str]:
        """Settings with which more queries are answered, in words."""
        c = self.config
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
            judge = lambda w: dev.scores(self.parser({**done, "tree": w}), self.threads)  # noqa: E731
        options: dict[str, Any] = {"patience": self.config.patience, "which": self.config.weights}
        return Stage(name=name, learner=self.learner, problem=self.problem(done), judge=judge, **options)

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

    def linear_scorer(self, done: Done, **more: Any) -> Any:
        """The linear scorer with its weights; trees and labels share a vector, unless labels have a stage."""
        tree, labels = done["tree"], done.get("labels")
        if self.config.labels != "staged":
            tree, labels = map(np.ascontiguousarray, np.split(tree, [self.scorer.weight_count("tree")]))
        labels = None if self.config.labels == "none" else labels
        return self.scorer.replaced(tree=tree, label_weights=labels, **more)


class GraphRecipe(Recipe):
    """Labels on gold trees, a pruner, then trees."""

    own_settings = (*GRAPH_SETTINGS, "decode")
    general_search = "exact"
    defaults = named(2, "staged", "graph-v1", 22, True, "passive_aggressive")
    parameters: ClassVar = {
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
    }
    laplace: ClassVar = {"spv": {"gamma": 100.0}, "mec": {"gamma": 10.0}}
    dependent: ClassVar = {
        **Recipe.dependent,
        "grandparents": ("order 2 or 3", lambda c: c.order != 1),
        "decode": ("order 1, whose scores of arcs fit other trees, too", lambda c: c.order == 1),
    }
    has_contexts: ClassVar[bool] = False
    """Whether features look at contexts of higher order."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        if config.order == 3 and not cls.has_contexts:
            raise InputError('order: expected 1 or 2 with parser = "graph", got 3; choose parser = "cube"')

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        """With a check that the template set has contexts of higher order if and only if they are scored."""
        wanted, given = cls.has_contexts, bool(features.create(config.features).contexts)
        if given != wanted and not (wanted and config.order == 1):
            sets, guided = map(features.create, features), config.stack is not None
            fits = " or ".join(s.name for s in sets if bool(s.contexts) == wanted and s.needs_guide == guided)
            other = "with" if wanted else "without"
            choice = "order = 1, which has none" if wanted else 'parser = "cube"'
            raise InputError(
                f'features: with parser = "{config.parser}", expected a set {other} contexts of higher '
                f"order: {fits}, got {config.features}; or choose {choice}"
            )
        return super().resolve(config)

    @cached_property
    def scorer(self) -> LinearScorer:
        return LinearScorer(self.shape, **self.scorer_options())

    @property
    def stages(self) -> list[str]:
        wanted = {"labels": self.has_label_stage, "pruner": bool(self.config.pruner), "tree": True}
        return [name for name, is_wanted in wanted.items() if is_wanted]

    @property
    def has_label_stage(self) -> bool:
        """Whether labels are learned on gold trees."""
        return self.config.labels == "staged"

    def stage(self, name: str, done: Done) -> Stage:
        if name == "tree":
            return super().stage(name, done)
        learner, problem = self._labels_stage() if name == "labels" else self._pruner_stage()
        return Stage(name=name, learner=replace(learner, seed=self.config.seed), problem=problem)

    def _labels_stage(self) -> tuple[Any, Problem]:
        learner = LABEL_PROBABILITIES if Query.MARGINALS in self.learner.needs else LABEL_LEARNER
        options: dict[str, Any] = {"cost": self.config.cost, "threads": self.threads}
        return learner, GraphProblem(self.scorer, self.train, "labels", **options)

    def _pruner_stage(self) -> tuple[Any, Problem]:
        settings = self.config.pruner_settings
        scorer = pruner_scorer(settings, self.shape.roots)
        learner: Any = PRUNER_LEARNER
        problem: Problem = GraphProblem(scorer, self.train, threads=self.threads)
        if settings.rule in ("tree-odds", "arc-odds") or not self.is_complete:
            learner = PRUNER_PROBABILITIES
        elif settings.rule == "max-marginal":
            learner, (alpha, among) = FILTER_LEARNER, (settings.alpha, settings.among)
            problem = FilterProblem(scorer, self.train, alpha=alpha, among=among, threads=self.threads)
        return learner, problem

    def pruner(self, done: Done) -> Pruner | None:
        """The trained pruner, if there is one."""
        if "pruner" not in done:
            return None
        settings = self.config.pruner_settings
        scale = np.float32(PRUNER_SCALE if settings.rule == "margin" and not self.is_complete else 1.0)
        return Pruner(settings, done["pruner"] * scale, self.shape.roots)

    def kept_arcs(self, done: Done) -> KeptArcs | None:
        """The arcs that the pruner keeps, and gold arcs; a note says what is lost on dev."""
        pruner, dev = self.pruner(done), self.dev
        if pruner is None:
            return None
        if dev is not None:
            sentences, words = dev.batch.encoded, dev.batch.words
            kept = pruner.prune(sentences, self.threads)
            share = kept.arcs / max(1, int(np.sum(dev.batch.lengths**2)))
            lost = kept.restore_gold(sentences)
            self.observer.note(
                f"pruner: keeps {100 * share:.1f}% of arcs on dev, {kept.arcs / words:.1f} heads "
                f"per word; best UAS left {100 * (1 - lost / words):.2f}"
            )
        arcs = pruner.prune(self.train, self.threads)
        arcs.restore_gold(self.filled)
        return arcs

    def problem(self, done: Done) -> Problem:
        task: Task = "joint" if self.config.labels == "joint" else "tree"
        options: dict[str, Any] = {"cost": self.config.cost, "threads": self.threads}
        return GraphProblem(self.scorer, self.train, task, arcs=self.kept_arcs(done), **options)

    def search(self, done: Done) -> Search:
        return GraphSearch(self.linear_scorer(done), self.pruner(done))


HAS_LABELS: tuple[str, Callable[[TrainConfig], bool]] = ("labels = joint", lambda c: c.labels != "none")


class CubeRecipe(GraphRecipe):
    """A filter of labels, a pruner, then labelled trees of higher order."""

    own_settings = (*GRAPH_SETTINGS, "cube", "update")
    general_search = ""
    defaults = named(3, "joint", "cube-v1", 24, True, "passive_aggressive", "p-max")
    # Chosen on UD_English-EWT dev, too.
    parameters: ClassVar = {
        **GraphRecipe.parameters,
        "passive_aggressive": {"C": 0.005},
        "mira": {"C": 0.005},
    }
    dependent: ClassVar = {
        **GraphRecipe.dependent,
        "cube.most_labels": HAS_LABELS,
        "cube.labels_within": HAS_LABELS,
    }
    has_contexts = True

    @cached_property
    def scorer(self) -> CubeScorer:
        return CubeScorer(self.shape, search=self.config.cube, **self.scorer_options())

    @property
    def has_label_stage(self) -> bool:
        """Labels on gold trees decide which few labels of an arc are searched."""
        return self.config.labels == "joint"

    def problem(self, done: Done) -> Problem:
        update, cost = self.config.update, self.config.cost
        assert update != "auto"
        options: dict[str, Any] = {"label_filter": done.get("labels"), "arcs": self.kept_arcs(done)}
        return CubeProblem(self.scorer, self.train, update, cost=cost, threads=self.threads, **options)

    def search(self, done: Done) -> Search:
        return CubeSearch(self.linear_scorer(done, label_filter=done.get("labels")), self.pruner(done))


class TransitionRecipe(Recipe):
    """Moves and labels, by one learner."""

    own_settings = ("transition",)
    defaults = named(1, "joint", "zhang-nivre-v1", 24, False, "perceptron")
    parameters: ClassVar = {
        # With a beam, on a tenth of the Danish training data; a larger C changes nothing: no step is longer.
        "passive_aggressive": {"C": 0.1},
        "mira": {"C": 0.01},
        # Powers of ten, evaluated on every tenth of 1,500 sentences of UD_English-EWT train after two epochs
        # on the others, with a beam of 8 and greedily. Sequences of moves have more features than trees.
        "spv": {"gamma": 1e8},
        "mec": {"gamma": 1e6},
    }
    laplace: ClassVar = {"spv": {"gamma": 1e4}, "mec": {"gamma": 100.0}}
    template_sets = transition_features
    dependent: ClassVar = {
        **Recipe.dependent,
        "transition.update": (
            "a beam, transition.beam above 1; without one every move is learned",
            lambda c: c.transition.beam > 1,
        ),
        "transition.oracle": (
            "a parser without a beam, transition.beam = 1; with one, whole sequences of moves are learned",
            lambda c: c.transition.beam == 1,
        ),
        "transition.most_labels": HAS_LABELS,
    }

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        made = config.transition.trees
        if config.trees not in ("auto", made):
            raise InputError(
                f"trees: expected {made} with the system {config.transition.system}, got {config.trees}; "
                "arc-eager and arc-standard build projective trees, swap non-projective ones"
            )

    @staticmethod
    def trees(config: TrainConfig) -> str:
        return config.transition.trees

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        return {"transition": config.transition.resolved()}

    @cached_property
    def scorer(self) -> TransitionScorer:
        return TransitionScorer(self.shape, search=self.config.transition, **self.scorer_options())

    def problem(self, done: Done) -> Problem:
        scorer = self.scorer.replaced(search=self.config.transition.in_training)
        return TransitionProblem(scorer, self.train, cost=self.config.cost, threads=self.threads)

    def search(self, done: Done) -> Search:
        return TransitionSearch(self.linear_scorer(done))


class ScorerRecipe(Recipe):
    """Any scorer with any search over part scores, by a loss."""

    own_settings = PRUNER_SETTINGS  # those of the pruner have no effect, but models store them
    defaults = named(1, "joint", "graph-v1", 22, False, "adamw")
    is_linear = False
    loss_learners: ClassVar = {}

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        own = recipe_of(config.parser)
        if own.is_linear and not own.general_search:
            raise InputError(
                f"scorer: expected linear with parser = {config.parser}, got {config.scorer}; other scorers "
                'need parser = "exact", or another package\'s search'
            )

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        parser = recipe_of(config.parser).general_search or config.parser
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
