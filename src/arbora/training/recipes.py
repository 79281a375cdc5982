"""How each kind of parser is trained: its settings, stages and problems, and the search from the weights.

graph        labels on gold trees, a pruner, then trees, or trees and labels together
cube         a filter of labels, a pruner, then labelled trees of higher order
transition   moves and labels
any other    a scorer and a search over part scores, by a loss; also for searches of other packages
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from arbora._core import Encoded, KeptArcs
from arbora.data.batch import Batch
from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import Learner, Problem, Query, Scorer
from arbora.learners import Adagrad, PassiveAggressive, Perceptron
from arbora.learners.stage import Stage
from arbora.problems import CubeProblem, FilterProblem, GraphProblem, ScorerProblem, TransitionProblem
from arbora.progress import Observer
from arbora.registry import Registry, features, losses, scorers, searches, transition_features
from arbora.scorers import CubeScorer, GraphSettings, LinearScorer, TransitionScorer
from arbora.scorers.linear import Task
from arbora.search.base import Search
from arbora.search.cube import CubeSearch
from arbora.search.graph import GraphSearch
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer, require_rule
from arbora.search.transition import TransitionSearch
from arbora.training.dev import Dev
from arbora.types import Floats

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


@dataclass
class Material:
    """What a recipe trains on."""

    config: TrainConfig
    """Resolved: nothing is `auto`."""
    names: Names
    columns: Columns
    """With marked labels where trees are pseudo-projective."""
    train: Encoded
    filled: Encoded
    """As `train`, with partial trees completed: arcs that a pruner must keep."""
    learner: Learner
    dev: Dev | None
    threads: int
    observer: Observer

    @property
    def is_complete(self) -> bool:
        """Whether every word has a head."""
        return self.train.is_annotated("tree")

    @cached_property
    def seen(self) -> Any:
        """The labels that each pair of tags had."""
        return np.asarray(self.train.seen_labels(len(self.names.labels)))

    @property
    def settings(self) -> GraphSettings:
        """The settings that all linear parsers share."""
        chosen = {each.name: getattr(self.config, each.name) for each in fields(GraphSettings)}
        return GraphSettings(**{**chosen, "grandparents": chosen["grandparents"] and chosen["order"] != 1})

    def stage(self, name: str, learner: Learner, problem: Problem) -> Stage:
        """A stage that is not evaluated on dev."""
        return Stage(name=name, learner=learner, problem=problem, judge=None, patience=0)


DEFAULTS = ("order", "labels", "features", "tree_bits", "pruner", "learner", "update")
PRUNER_SETTINGS = tuple(f"pruner_settings.{setting.name}" for setting in fields(PrunerSettings))


def named(*values: Any) -> dict[str, Any]:
    """Values of the settings in `DEFAULTS`, by name."""
    return dict(zip(DEFAULTS, values, strict=False))


class Recipe(ABC):
    """The settings of a kind of parser, and the stages of its training; the last is always `tree`."""

    settings: ClassVar[tuple[str, ...]]
    """Those settings of this kind that other kinds do not have."""
    defaults: ClassVar[dict[str, Any]]
    """What `auto` stands for, unless the treebank decides."""
    parameters: ClassVar[dict[str, dict[str, Value]]] = {}
    """Defaults of parameters, by learner."""
    laplace: ClassVar[dict[str, dict[str, Value]]] = {}
    """The same with a Laplacian prior: |α| instead of α², so what is long for one is short for the other."""
    template_sets: ClassVar[Registry[Any]] = features
    dependent: ClassVar[Dependent] = {
        "encoding": (
            'projectivize = "pseudo-projective", whose marks it is about',
            lambda c: c.projectivize == "pseudo-projective",
        ),
        "projectivize": (
            "projective trees, and labels if it puts marks in them",
            lambda c: (
                c.recipe.trees(c) != "nonprojective"
                and (c.labels != "none" or c.projectivize != "pseudo-projective")
            ),
        ),
    }
    """Settings that depend on others: what each needs, and whether that is met."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        """InputError for settings that this kind of parser does not have, or that do not go together."""
        for name in (name for recipe in RECIPES.values() for name in recipe.settings):
            is_own = name in cls.settings or getattr(config, name, None) == cls.defaults.get(name, ...)
            if not is_own and config.is_changed(name):
                owners = " or ".join(f'"{each}"' for each in RECIPES if name in RECIPES[each].settings)
                raise InputError(f'{name}: only for parser = {owners}, got parser = "{config.parser}"')
        if config.labels == "staged" and cls.defaults["labels"] != "staged":
            raise InputError(
                f'labels: expected joint or none with parser = "{config.parser}", got staged; it chooses '
                "heads and labels together"
            )
        for name, (needs, is_met) in cls.dependent.items():
            if not is_met(config) and config.is_changed(name):
                raise InputError(f"{name}: does nothing here; it needs {needs}")

    @staticmethod
    def trees(config: TrainConfig) -> str:
        """The family of trees, or `auto`: the treebank decides."""
        return config.trees

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        """Settings that depend on what the treebank decided."""
        assert config.trees != "auto"
        assert config.order != "auto"
        return {"pruner_settings": config.pruner_settings.resolved(config.trees, config.order)}

    def __init__(self, material: Material) -> None:
        self.material = material

    @property
    def stages(self) -> list[str]:
        """Names of the stages, in order."""
        return ["tree"]

    def stage(self, name: str, done: Done) -> Stage:
        """One stage, with the weights of those before it."""
        return self.tree_stage(done)

    @abstractmethod
    def problem(self, done: Done) -> Problem:
        """The problem of the tree stage."""

    @abstractmethod
    def search(self, done: Done) -> Search:
        """The search with the weights of all stages."""

    def tree_stage(self, done: Done) -> Stage:
        """The stage of the chosen learner; dev evaluates the whole parser."""
        m = self.material
        dev = m.dev
        stage = m.stage("tree", m.learner, self.problem(done))
        if dev is None:
            return replace(stage, which=m.config.weights)
        judge = lambda w: dev.scores(self.parser({**done, "tree": w}), m.threads)  # noqa: E731
        return replace(stage, judge=judge, patience=m.config.patience, which=m.config.weights)

    parser: Any
    """A function from the weights of all stages to a parser; set by the training."""


class GraphRecipe(Recipe):
    """Labels on gold trees, a pruner, then trees."""

    settings = ("order", "pruner", "grandparents", *PRUNER_SETTINGS, "decode")
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
    dependent: ClassVar = {**Recipe.dependent, "grandparents": ("order 2 or 3", lambda c: c.order != 1)}
    has_contexts: ClassVar[bool] = False
    """Whether features look at contexts of higher order."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        if config.order == 3 and not cls.has_contexts:
            raise InputError('order: expected 1 or 2 with parser = "graph", got 3; choose parser = "cube"')
        if config.decode != "same" and config.order != 1:
            raise InputError(
                f"decode: expected same with order = {config.order}, got {config.decode!r}; only scores of "
                "arcs can be used with other trees than in training"
            )

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
        """Without weights."""
        m = self.material
        templates, labels = self.template_sets.create(m.settings.features), len(m.names.labels)
        return LinearScorer(m.settings, templates, labels=labels, seen=m.seen)

    @property
    def stages(self) -> list[str]:
        wanted = {"labels": self.has_label_stage, "pruner": bool(self.material.config.pruner), "tree": True}
        return [name for name, is_wanted in wanted.items() if is_wanted]

    @property
    def has_label_stage(self) -> bool:
        """Whether labels are learned on gold trees."""
        return self.material.config.labels == "staged"

    def stage(self, name: str, done: Done) -> Stage:
        if name == "labels":
            return self._labels_stage()
        return self._pruner_stage() if name == "pruner" else self.tree_stage(done)

    def _labels_stage(self) -> Stage:
        m = self.material
        problem = GraphProblem(self.scorer, m.train, "labels", cost=m.config.cost, threads=m.threads)
        learner = LABEL_PROBABILITIES if Query.MARGINALS in m.learner.needs else LABEL_LEARNER
        return m.stage("labels", replace(learner, seed=m.config.seed), problem)

    def _pruner_stage(self) -> Stage:
        m, settings = self.material, self.material.config.pruner_settings
        require_rule(settings, m.settings.trees)
        scorer = pruner_scorer(settings, m.settings.roots)
        learner: Adagrad | PassiveAggressive | Perceptron = PRUNER_LEARNER
        problem: Problem = GraphProblem(scorer, m.train, threads=m.threads)
        if settings.rule in ("tree-odds", "arc-odds") or not m.is_complete:
            learner = PRUNER_PROBABILITIES
        elif settings.rule == "max-marginal":
            learner, (alpha, among) = FILTER_LEARNER, (settings.alpha, settings.among)
            problem = FilterProblem(scorer, m.train, alpha=alpha, among=among, threads=m.threads)
        return m.stage("pruner", replace(learner, seed=m.config.seed), problem)

    def pruner(self, done: Done) -> Pruner | None:
        """The trained pruner, if there is one."""
        if "pruner" not in done:
            return None
        m = self.material
        settings = m.config.pruner_settings
        scale = np.float32(PRUNER_SCALE if settings.rule == "margin" and not m.is_complete else 1.0)
        return Pruner(settings, done["pruner"] * scale, m.settings.roots)

    def kept_arcs(self, done: Done) -> KeptArcs | None:
        """The arcs that the pruner keeps, and gold arcs; a note says what is lost on dev."""
        m, pruner = self.material, self.pruner(done)
        if pruner is None:
            return None
        if m.dev is not None:
            sentences = m.dev.batch.encoded
            kept = pruner.prune(sentences, m.threads)
            share = kept.arcs / max(1, m.dev.arcs)
            lost = kept.restore_gold(sentences)
            m.observer.note(
                f"pruner: keeps {100 * share:.1f}% of arcs on dev, {kept.arcs / m.dev.words:.1f} heads "
                f"per word; best UAS left {100 * (1 - lost / m.dev.words):.2f}"
            )
        arcs = pruner.prune(m.train, m.threads)
        arcs.restore_gold(m.filled)
        return arcs

    def problem(self, done: Done) -> Problem:
        m = self.material
        task: Task = "joint" if m.config.labels == "joint" else "tree"
        arcs = self.kept_arcs(done)
        return GraphProblem(self.scorer, m.train, task, arcs=arcs, cost=m.config.cost, threads=m.threads)

    def split(self, weights: Floats, labels: Floats | None) -> dict[str, Any]:
        """Weights of trees and labels, which are one vector if they are learned together."""
        if self.material.config.labels == "joint":
            weights, labels = np.split(weights, [self.scorer.weight_count("tree")])
            labels = np.ascontiguousarray(labels)
        return {"tree": np.ascontiguousarray(weights), "label_weights": labels}

    def search(self, done: Done) -> Search:
        weights = self.split(done["tree"], done.get("labels"))
        return GraphSearch(self.scorer.replaced(**weights), self.pruner(done))


HAS_LABELS: tuple[str, Callable[[TrainConfig], bool]] = ("labels = joint", lambda c: c.labels != "none")


class CubeRecipe(GraphRecipe):
    """A filter of labels, a pruner, then labelled trees of higher order."""

    settings = ("order", "pruner", "grandparents", *PRUNER_SETTINGS, "cube", "update")
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
        m = self.material
        templates, labels = self.template_sets.create(m.settings.features), len(m.names.labels)
        return CubeScorer(m.settings, m.config.cube, templates, labels=labels, seen=m.seen)

    @property
    def has_label_stage(self) -> bool:
        """Labels on gold trees decide which few labels of an arc are searched."""
        return self.material.config.labels == "joint"

    def problem(self, done: Done) -> Problem:
        m, update = self.material, self.material.config.update
        assert update != "auto"
        options: dict[str, Any] = {"cost": m.config.cost, "threads": m.threads, "arcs": self.kept_arcs(done)}
        return CubeProblem(self.scorer, m.train, update, label_filter=done.get("labels"), **options)

    def search(self, done: Done) -> Search:
        weights = self.split(done["tree"], None)
        scorer = self.scorer.replaced(**weights, label_filter=done.get("labels"))
        return CubeSearch(scorer, self.pruner(done))


class TransitionRecipe(Recipe):
    """Moves and labels, by one learner."""

    settings = ("transition",)
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
        """Without weights."""
        m = self.material
        templates, labels = self.template_sets.create(m.settings.features), len(m.names.labels)
        return TransitionScorer(m.settings, m.config.transition, templates, labels=labels, seen=m.seen)

    def problem(self, done: Done) -> Problem:
        m = self.material
        scorer = self.scorer.replaced(search=m.config.transition.in_training)
        return TransitionProblem(scorer, m.train, cost=m.config.cost, threads=m.threads)

    def search(self, done: Done) -> Search:
        tree, labels = map(np.ascontiguousarray, np.split(done["tree"], [self.scorer.weight_count("tree")]))
        given = None if self.material.config.labels == "none" else labels
        return TransitionSearch(self.scorer.replaced(tree=tree, label_weights=given))


class ScorerRecipe(Recipe):
    """Any scorer with any search over part scores, by a loss."""

    settings = PRUNER_SETTINGS  # those of the pruner have no effect, but models store them
    defaults = named(1, "joint", "graph-v1", 22, False, "adamw")

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        if config.parser in ("cube", "transition"):
            raise InputError(
                f"scorer: expected linear with parser = {config.parser}, got {config.scorer}; other scorers "
                'need parser = "exact", or another package\'s search'
            )

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        parser = "exact" if config.parser == "graph" else config.parser
        loss = ("crf" if parser == "exact" else "hinge") if config.loss == "auto" else config.loss
        return {"parser": parser, "loss": loss, **super().resolve(config)}

    @cached_property
    def scorer(self) -> Scorer:
        """With its initial parameters."""
        m = self.material
        factory: Any = scorers.factory(m.config.scorer)
        made: Scorer = factory.build(m.columns, m.names, seed=m.config.seed, **m.config.scorer_settings)
        return made

    @cached_property
    def batch(self) -> Batch:
        """The treebank for the scorer, with the heads to train on."""
        m = self.material
        batch = m.names.batch(m.columns, threads=m.threads)
        batch.set_heads(np.asarray(m.train.heads))
        return batch

    def _search(self, scorer: Scorer) -> Any:
        m = self.material
        options = {"trees": m.config.trees, "roots": m.config.roots, "label_count": len(m.names.labels)}
        return searches.factory(m.config.parser)(scorer, **options)

    def problem(self, done: Done) -> Problem:
        c = self.material.config
        return ScorerProblem(self._search(self.scorer), self.batch, losses.create(c.loss), c.cost)

    def search(self, done: Done) -> Search:
        found: Search = self._search(self.scorer.with_weights(done["tree"]))
        return found


RECIPES: dict[str, type[Recipe]] = {"graph": GraphRecipe, "cube": CubeRecipe, "transition": TransitionRecipe}
