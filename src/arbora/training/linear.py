"""How the linear parsers are trained: stages, problems, and the search from the weights.

graph        labels on gold trees, a pruner, then trees, or trees and labels together
cube         a filter of labels, a pruner, then labelled trees of higher order
transition   moves and labels
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arbora._core import KeptArcs
from arbora.errors import InputError
from arbora.interfaces import Problem, Query
from arbora.learners import Adagrad, PassiveAggressive, Perceptron
from arbora.learners.stage import Stage
from arbora.problems import CubeProblem, FilterProblem, GraphProblem, TransitionProblem
from arbora.registry import features, transition_features
from arbora.scorers import CubeScorer, GraphSettings, LinearScorer, TransitionScorer
from arbora.scorers.linear import Task
from arbora.search.base import Search
from arbora.search.cube import CubeSearch
from arbora.search.graph import GraphSearch
from arbora.search.pruner import Pruner, pruner_scorer
from arbora.search.transition import TransitionSearch
from arbora.training.recipes import GRAPH_SETTINGS, Done, Recipe, named

if TYPE_CHECKING:
    from arbora.training.config import TrainConfig

LABEL_LEARNER = PassiveAggressive(C=0.01, epochs=5)
PRUNER_LEARNER = PassiveAggressive(C=0.01, epochs=3)
FILTER_LEARNER = Perceptron(epochs=4)
# For learners of probabilities, and for partial trees.
LABEL_PROBABILITIES = Adagrad(C=3.0, rate=1.0, floor=3.0, epochs=4)
PRUNER_PROBABILITIES = Adagrad(C=0.1, rate=1.0, floor=30.0, epochs=3)
PRUNER_SCALE = 0.25
"""Factor of the scores of a pruner of probabilities with the rule margin: they differ more than margins."""


class LinearRecipe(Recipe):
    """A parser with the built-in linear scorer."""

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
        count, templates = len(self.names.labels), self.template_sets.create(self.config.features)
        return {"templates": templates, "labels": count, "seen": self.seen}

    @cached_property
    def seen(self) -> Any:
        """Which labels each pair of tags has, see `HashedScorer`."""
        return np.asarray(self.train.seen_labels(len(self.names.labels)))

    def scorer_parts(self) -> Any:
        return self.seen

    def put_scorer(self, parts: Any) -> None:
        self.seen = parts

    def linear_scorer(self, done: Done, **more: Any) -> Any:
        """The linear scorer with its weights; trees and labels share a vector, unless labels have a stage."""
        tree, labels = done["tree"], done.get("labels")
        if self.config.labels != "staged":
            tree, labels = map(np.ascontiguousarray, np.split(tree, [self.scorer.weight_count("tree")]))
        labels = None if self.config.labels == "none" else labels
        return self.scorer.replaced(tree=tree, label_weights=labels, **more)


class GraphRecipe(LinearRecipe):
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
        "decode": ("order 1, because its arc scores also fit other trees", lambda c: c.order == 1),
    }
    has_contexts: ClassVar[bool] = False
    """Whether features read contexts of higher order."""

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
                f'features: with parser = "{config.kind}", expected a set {other} contexts of higher '
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
        """The arcs that the pruner keeps, and gold arcs; a note reports the loss on dev."""
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


class TransitionRecipe(LinearRecipe):
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
