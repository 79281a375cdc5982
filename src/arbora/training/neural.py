"""How neural parsers are trained: one stage, in which a network learns trees, labels, tags and lemmas."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import GuideTrees, InputColumn, Names, filled
from arbora.errors import InputError
from arbora.interfaces import Problem, Query
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.progress import Scores
from arbora.registry import losses
from arbora.scorers.network import PREDICTED, NetworkScorer, rounded
from arbora.scorers.neural import NeuralScorer
from arbora.scorers.vocabulary import joined
from arbora.search.neural import NeuralSearch
from arbora.storage.models import find_model
from arbora.storage.vectors import WordVectors, read_vectors
from arbora.training.recipes import NETWORK_SETTINGS, PRUNER_SETTINGS, Dev, Done, Recipe, Value, named

if TYPE_CHECKING:
    from arbora.training.config import TrainConfig

GIVEN: tuple[InputColumn, ...] = ("upos", "xpos", "feats")
"""The columns that a network may read besides the forms."""

STEPS = 100  # of an epoch
FEWEST_WORDS, MOST_WORDS = 400, 2000  # of a step
# Of all weights and of matrices by size; chosen on UD_English-EWT dev.
RATES = {"small": (4e-3, 1.6e-3), "medium": (3e-3, 1.4e-3), "large": (2e-3, 1.2e-3)}
OVER_ENCODER: dict[str, Value] = {"epochs": 20, "rate": 1e-3, "decay": 0.01, "average": 0.99, "beta2": 0.98}
"""Parameters of learners for a network over an encoder."""
ADAPTING: dict[str, Value] = {"epochs": 20, "rate": 1e-3}
"""The same where a trained network is adapted to a treebank: small steps."""


def load_start(path: str) -> Parser:
    """The parser of a model that training starts from; InputError unless it is neural."""
    parser = Pipeline.load(find_model(path)).parser
    if not isinstance(parser.search, NeuralSearch) or parser.search.scorer.needs_guide:
        what = f"expected a neural model without a guide, got {path}: {parser.search.describe()}"
        raise InputError(f"{what}; another model can be a guide: --stack {path}", field="start")
    return parser


class NeuralRecipe(Recipe):
    """A network, by one learner."""

    own_settings = ("order", "decode", *NETWORK_SETTINGS)
    unused_settings = PRUNER_SETTINGS
    defaults = named(1, "staged", "graph-v1", 22, False, "muon")
    patience = 20
    tags = "none"
    is_linear = has_clusters = False
    package = "torch"
    learns_softly = True
    loss_learners: ClassVar = {}
    parameters: ClassVar = {
        name: {"epochs": 50, "schedule": "cosine", "warmup": 200, "average": 0.999, "decay": 0.16}
        for name in ("muon", "adamw")
    }
    dependent: ClassVar = {
        **Recipe.dependent,
        "neural.sibling_size": ("order = 2, because it concerns siblings", lambda c: c.order == 2),
        "decode": ("order 1, because its arc scores also fit other trees", lambda c: c.order != 2),
    }

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        super().check(config)
        if config.order == 3:
            raise InputError('order: expected 1 or 2 with parser = "neural", got 3')
        if config.labels == "joint":
            raise InputError('labels: expected staged or none with parser = "neural", got joint')
        if config.text is not None:
            raise InputError('text: only for linear parsers, got parser = "neural"; give vectors')
        if config.encoder is not None:
            cls._check_encoder(config)
        if config.start is not None:
            for name in ("vectors", "encoder", "stack", "projectivize"):
                if config.is_changed(name):
                    raise InputError(f"{name}: has no effect with start: that model decides it")
        if config.stack is not None and config.tags == "none":
            raise InputError("tags: a parser with a guide does not predict tags; choose jackknife or gold")

    @staticmethod
    def _check_encoder(config: TrainConfig) -> None:
        for name in ("vectors", "stack"):
            if getattr(config, name) is not None:
                raise InputError(f"{name}: an encoder reads words alone; leave out one of the two")
        if config.tags in ("gold", "jackknife") and config.only == "all":
            raise InputError(f"tags: expected none, since an encoder reads words alone, got {config.tags}")

    @classmethod
    def resolve(cls, config: TrainConfig) -> dict[str, Any]:
        loss = NeuralSearch.loss if config.loss == "auto" else config.loss
        settings = config.neural.resolved(over_encoder=config.encoder is not None)  # start: sizes are its own
        return {"loss": loss, "neural": settings, **super().resolve(config)}

    @staticmethod
    def crossing_share(config: TrainConfig) -> float:
        """Lower than for linear parsers, except with siblings: their exact search is projective."""
        return Recipe.crossing_share(config) if config.order == 2 else 0.001

    @classmethod
    def parameters_for(cls, config: TrainConfig, columns: Columns) -> dict[str, dict[str, Value]]:
        """An epoch has about as many steps for any treebank, so that a small one has enough of them."""
        words = min(max(columns.words // STEPS, FEWEST_WORDS), MOST_WORDS)
        if config.encoder is not None:
            return {"muon": {**OVER_ENCODER, "words": words}, "adamw": {**OVER_ENCODER, "words": words}}
        rate, matrix_rate = RATES[config.neural.size]
        if config.start is not None:
            own = {**ADAPTING, "words": words}
            return {"muon": {**own, "matrix_rate": 4e-4}, "adamw": own}
        shared: dict[str, Value] = {"words": words, "rate": rate}
        return {"muon": {**shared, "matrix_rate": matrix_rate}, "adamw": shared}

    @classmethod
    def learns_from_parts(cls, config: TrainConfig) -> bool:
        return config.loss in ("auto", "crf", "local")

    def __init__(self, *arguments: Any) -> None:
        self.require_package()
        c: TrainConfig = arguments[0]
        self.start = None if c.start is None else load_start(c.start)
        super().__init__(*arguments)
        is_tagged = self.config.tags != "none" and self.config.encoder is None
        given = tuple(name for name in GIVEN if is_tagged and filled(self.columns, name))
        if self.start is not None:
            given = self.start.search.scorer.given
        self.names = replace(self.names, columns=given)

    def make_names(self, columns: Columns) -> Names:
        names = super().make_names(columns)
        if self.start is None:
            return names
        old = self.start.names
        return replace(names, tags=joined(old.tags, names.tags), labels=joined(old.labels, names.labels))

    @cached_property
    def scorer(self) -> NetworkScorer:
        from arbora.neural.build import build_scorer, build_transformer, continued

        c, treebank = self.config, (self.columns, self.names)
        if self.start is not None:
            return continued(self.start.search.scorer, *treebank, seed=c.seed, settings=c.neural)
        shared: Any = {
            "seed": c.seed,
            "settings": c.neural,
            "predicted": PREDICTED if c.tags == "none" and c.only == "all" else (),
            "labelled": c.labels != "none",
            "siblings": c.order == 2,
        }
        if c.encoder is not None:
            return build_transformer(*treebank, c.encoder, embedded=c.embed_encoder, **shared)
        made: NeuralScorer = build_scorer(
            NeuralScorer,
            *treebank,
            vectors=None if c.vectors is None else self._read_vectors(c.vectors),
            given=self.names.columns or (),
            guide=None if self.guide_trees is None else self.guide_trees.names,
            **shared,
        )
        return made

    def _read_vectors(self, path: str) -> WordVectors:
        """The vectors in a file, or those of a parser whose settings are used again."""
        if self.like is not None:
            scorer: NeuralScorer = self.like.scorer
            return WordVectors(scorer.vocabulary.vectors, scorer.vectors.dense()[1:])
        found = read_vectors(path, most=self.config.vector_words)
        known = {*found.words}
        counts = self.columns.counts("form")
        covered = sum(n for form, n in counts.items() if form in known or form.lower() in known)
        share = f"{100 * covered / max(1, self.columns.words):.0f}% of the treebank's words have one"
        self.observer.note(f"vectors: {len(known):,} words; {share}")
        return found

    def put_guide(self, trees: GuideTrees) -> None:
        super().put_guide(trees)
        self.__dict__.pop("scorer", None)  # made without the labels of these trees

    def scorer_parts(self) -> Any:
        return type(self.scorer), self.scorer.to_parts()

    def put_scorer(self, parts: Any) -> None:
        kind, own = parts
        self.__dict__["scorer"] = kind.from_parts(*own, self.names)

    @cached_property
    def device(self) -> str:
        """Where to train."""
        import torch

        wanted, has_gpu = self.config.neural.device, torch.cuda.is_available()
        if wanted == "cuda" and not has_gpu:
            raise InputError("neural.device: expected a GPU for cuda, got none; choose auto or cpu")
        return "cuda" if has_gpu and wanted != "cpu" else "cpu"

    def problem(self, done: Done) -> Problem:
        from arbora.neural.build import targets
        from arbora.neural.data import TrainingData
        from arbora.neural.problem import NetworkProblem

        c, scorer = self.config, self.scorer
        guide = self.guide_trees
        reader = scorer.reader(self.columns, guide)
        labels = self.names.label_numbers(self.columns)
        heads = np.asarray(self.train.heads)
        weights: dict[str, float] = dict.fromkeys(PREDICTED, c.neural.other_weight)
        weights["upos"] = c.neural.tag_weight
        return NetworkProblem(
            scorer,
            scorer.in_torch(c.neural),
            TrainingData(
                reader,
                heads,
                labels,
                targets(scorer, self.columns),
                guide and guide.heads,
                self.soft and self.soft.with_names(self.names.labels),
            ),
            family=self._search(scorer).family,
            loss=losses.create(c.loss),
            cost=c.cost,
            weights=weights,
            consistency=c.neural.consistency,
            accumulate=c.neural.accumulate,
            device=self.device,
            threads=self.threads,
        )

    def evaluate(self, parser: Parser, dev: Dev) -> Scores:
        predicts_tags = bool(self.scorer.outputs)
        return dev.scores_with_tags(parser, self.threads) if predicts_tags else super().evaluate(parser, dev)

    def _search(self, scorer: NetworkScorer) -> NeuralSearch:
        return NeuralSearch(scorer, trees=self.config.trees, roots=self.config.roots)

    def search(self, done: Done) -> NeuralSearch:
        return self._search(self.scorer.with_weights(rounded(done["tree"])))

    def better_settings(self) -> list[str]:
        return ["the learner muon"] if Query.LOSS not in self.learner.needs else []
