"""A trained parser: load it, give it words, get trees."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded
from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.data.pseudo_projective import PseudoProjective, Restorer
from arbora.data.sentence import Sentence
from arbora.errors import InputError, ModelError, require_threads
from arbora.inference.distribution import TreeDistribution
from arbora.parsing._model_file import (
    GUIDE,
    guide_file,
    load_cube,
    load_pruner,
    load_transition,
    read_columns,
    read_names,
    read_table,
    rounded,
)
from arbora.parsing._tree_parser import AnyParser, Ints, TreeParser, read_temperatures
from arbora.parsing.inputs import as_sentence, columns_of_input
from arbora.parsing.pseudo_projective import load_lifts, restored_judgement, restored_trees
from arbora.registry import features, transition_features
from arbora.scorers import (
    CubeScorer,
    CubeSettings,
    GraphSettings,
    LinearScorer,
    TransitionScorer,
    TransitionSettings,
)
from arbora.search.engines import CubeEngine, Engine, GraphEngine, TransitionEngine
from arbora.search.pruner import Pruner
from arbora.search.request import Judge, Judgement, Question, Temperatures
from arbora.settings import from_dict, to_dict
from arbora.storage import quantization as compact
from arbora.storage.model_file import ModelFile, read_model

logger = logging.getLogger("arbora")

Floats: TypeAlias = NDArray[np.float32]

KIND = "graph-parser"
INDUCED = "induced-parser"
HASH_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Parser(TreeParser[Encoded]):
    """Trees for tagged words: `Parser.load("da.arbora").parse(sentences)`.

    Immutable; may be used from several threads, and sent to other processes.
    """

    settings: GraphSettings
    names: Names
    seen: NDArray[np.uint8]
    """Which labels each pair of tags had in training, (64 * 64 * labels,)."""
    tree: Floats
    labels: Floats | None = None
    cube: CubeSettings | None = None
    """How trees are searched by cube pruning; None: exactly."""
    label_filter: Floats | None = None
    """Of cube pruning: weights that tell which few labels of an arc to look at."""
    transition: TransitionSettings | None = None
    """How trees are made from left to right; None: as `cube` says."""
    pruner: Pruner | None = None
    lifts: PseudoProjective | None = None
    """How marks in labels tell of arcs that cross; None: there are none."""
    guide: AnyParser | None = None
    """Another parser, whose trees this one looks at; see `arbora.training.stacking`."""
    about: dict[str, Any] = field(default_factory=dict)
    """How it was made: the resolved configuration, scores on dev, epochs."""

    def __repr__(self) -> str:
        s = self.settings
        trees = s.trees if self.lifts is None else f"pseudo-projective ({self.lifts.encoding})"
        how = f"order {s.order}"
        if self.cube is not None:
            how += f" by cube pruning, beam {self.cube.beam}"
        if self.transition is not None:
            how = f"{self.transition.system} transitions, beam {self.transition.beam}"
        guide = "" if self.guide is None else f", guided by {self.guide!r}"
        return f"<Parser: {trees} trees, {how}, {len(self.plain_labels)} labels{guide}>"

    def __post_init__(self) -> None:
        scorer = self.make_scorer(self.settings, self.names, self.seen, self.cube or self.transition)
        object.__setattr__(self, "_scorer", scorer)
        object.__setattr__(self, "_engine", self._make_engine(scorer))
        restorer = None if self.lifts is None else Restorer(self.lifts, self.names.labels)
        object.__setattr__(self, "_restorer", restorer)

    @overload
    @staticmethod
    def make_scorer(
        settings: GraphSettings, names: Names, seen: NDArray[np.uint8] | None, search: None = None
    ) -> LinearScorer: ...
    @overload
    @staticmethod
    def make_scorer(
        settings: GraphSettings, names: Names, seen: NDArray[np.uint8] | None, search: TransitionSettings
    ) -> TransitionScorer: ...
    @overload
    @staticmethod
    def make_scorer(
        settings: GraphSettings,
        names: Names,
        seen: NDArray[np.uint8] | None,
        search: CubeSettings | TransitionSettings | None,
    ) -> LinearScorer | TransitionScorer: ...
    @staticmethod
    def make_scorer(
        settings: GraphSettings,
        names: Names,
        seen: NDArray[np.uint8] | None,
        search: CubeSettings | TransitionSettings | None = None,
    ) -> LinearScorer | TransitionScorer:
        """The scorer for a parser's settings; `search`: how trees are found, None: exactly."""
        labels = len(names.labels)
        if isinstance(search, TransitionSettings):
            states = transition_features.create(settings.features)
            return TransitionScorer(settings, search, states, labels=labels, seen=seen)
        templates = features.create(settings.features)
        if search is None:
            return LinearScorer(settings, templates, labels=labels, seen=seen)
        return CubeScorer(settings, search, templates, labels=labels, seen=seen)

    def _make_engine(self, scorer: LinearScorer | TransitionScorer) -> Engine:
        if isinstance(scorer, TransitionScorer):
            return TransitionEngine(scorer, self.tree, self.labels)
        if isinstance(scorer, CubeScorer):
            return CubeEngine(scorer, self.tree, self.labels, self.label_filter, self.pruner)
        return GraphEngine(scorer, self.tree, self.labels, self.pruner)

    @property
    def scorer(self) -> LinearScorer | TransitionScorer:
        """Scores of parts, or of moves, by these settings."""
        scorer: LinearScorer | TransitionScorer = self._scorer  # type: ignore[attr-defined]
        return scorer

    @property
    def engine(self) -> Engine:
        """What finds trees."""
        engine: Engine = self._engine  # type: ignore[attr-defined]
        return engine

    @property
    def restorer(self) -> Restorer | None:
        """What puts words back that were lifted so that no arcs cross; None where none were."""
        restorer: Restorer | None = self._restorer  # type: ignore[attr-defined]
        return restorer

    @property
    def shape(self) -> GraphSettings:
        """Which trees it gives."""
        return self.settings

    @property
    def gives_labels(self) -> bool:
        """Whether it learned labels, and says how sure they are."""
        return self.labels is not None

    @property
    def plain_labels(self) -> tuple[str, ...]:
        """The labels that trees may have: all of `names.labels` that have no marks."""
        if self.lifts is None:
            return self.names.labels
        return tuple(filter(self.lifts.is_free_of_marks, self.names.labels))

    # Parsing

    def encode(self, sentences: Columns, *, threads: int = 1) -> Encoded:
        """Sentences as this parser sees them; its guide, where it has one, parses them first."""
        encoded = self.names.encode(sentences)
        if self.guide is not None:
            heads, labels = self.guide.trees(sentences, threads=threads)
            encoded.set_guide(heads, labels, self.guide.names.labels)
        return encoded

    def trees_of(
        self, sentences: Encoded, *, keep_heads: bool = False, threads: int = 1
    ) -> tuple[Ints, Ints]:
        """The same for sentences that are encoded already, by `encode`."""
        require_threads(threads)
        heads, labels = self.engine.trees(sentences, keep_heads=keep_heads, threads=threads)
        if self.restorer is None:
            return heads, labels
        return restored_trees(self.restorer, heads, labels, sentences, keep_heads=keep_heads)

    def judging(self, sentences: Columns | Encoded, question: Question) -> Judge:
        """`judge` for several temperatures: what does not depend on these is computed once."""
        encoded = self._as_encoded(sentences, question.threads)
        restorer = self.restorer
        if restorer is None:
            return self.engine.judging(encoded, question)
        judge = self.engine.judging(encoded, replace(question, label_table=True))
        is_given = question.decode == "given" and not question.k

        def restored(temperatures: Temperatures) -> Judgement:
            judged = restored_judgement(
                restorer, judge(temperatures), encoded, keep_heads=question.keep_heads, given=is_given
            )
            return judged if question.label_table else replace(judged, label_table=np.zeros(0))

        return restored

    def distribution(self, sentence: Sentence | Sequence[str]) -> TreeDistribution:
        """The distribution over a sentence's trees, labels summed out; of first-order parsers."""
        if self.settings.order != 1 or not isinstance(self.engine, GraphEngine):
            raise InputError(
                "distribution: expected a first-order parser with exact search, got another; P(head), "
                "P(tree) and kbest are there for those, or train with order=1"
            )
        encoded = self.encode(columns_of_input([as_sentence(sentence)]))
        t = self.temperatures
        scores = self.engine.judge.scores(encoded, 0, tree_temperature=t.trees, label_temperature=t.labels)
        return TreeDistribution(scores, trees=self.settings.trees, roots=self.settings.roots)

    # The model file

    def rounded(self) -> Parser:
        """The parser that a file saved with `quantized` holds: to judge what is lost before saving."""
        pruner = self.pruner
        if pruner is not None:
            pruner = Pruner(pruner.settings, rounded(pruner.weights), self.settings.roots)
        labels, label_filter = (None if t is None else rounded(t) for t in (self.labels, self.label_filter))
        return replace(
            self,
            tree=rounded(self.tree),
            labels=labels,
            label_filter=label_filter,
            pruner=pruner,
            guide=None if self.guide is None else self.guide.rounded(),
            about=dict(self.about),
        )

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and metadata for a model file."""
        tables: dict[str, Floats] = {"tree": self.tree}
        if self.labels is not None:
            tables["labels"] = self.labels
        if self.label_filter is not None:
            tables["label_filter"] = self.label_filter
        if self.pruner is not None:
            tables["pruner"] = self.pruner.weights
        tensors: dict[str, NDArray[Any]] = {"seen": np.packbits(self.seen)}
        for name, table in tables.items():
            tensors.update(compact.quantize(table, name) if quantized else {name: table})
        guide: dict[str, Any] = {}
        if self.guide is not None:
            arrays, guide[GUIDE] = self.guide.to_parts(quantized=quantized)
            tensors |= {f"{GUIDE}/{name}": array for name, array in arrays.items()}
        metadata = {
            "kind": KIND,
            "hash": HASH_VERSION,
            "settings": to_dict(self.settings),
            "pruner": None if self.pruner is None else to_dict(self.pruner.settings),
            **({} if self.lifts is None else {"lifts": to_dict(self.lifts)}),
            **({} if self.cube is None else {"cube": to_dict(self.cube)}),
            **({} if self.transition is None else {"transition": to_dict(self.transition)}),
            **guide,
            "tags": list(self.names.tags),
            "labels": list(self.names.labels),
            "columns": None if self.names.columns is None else list(self.names.columns),
            "about": self.about,
        }
        return tensors, metadata

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Parser:
        """The parser in a model file; its data is held against its checksum."""
        file = read_model(path, verify=True)
        return cls.from_file(file.part("parser") if "parts" in file.metadata else file)

    @classmethod
    def from_file(cls, file: ModelFile) -> Parser:
        """The parser in a file, or in a part of one, that is read already."""
        file.require_kind(KIND, "a parser, as `arbora train` writes it")
        if file.entry("hash", int) != HASH_VERSION:
            raise ModelError(
                f"hash: expected version {HASH_VERSION}, got {str(file.metadata['hash'])[:40]}; the parser "
                "is of another version of Arbora: train it again",
                source=file.source,
            )
        try:
            settings = from_dict(GraphSettings, file.entry("settings", dict))
            names = Names(read_names(file, "tags"), read_names(file, "labels"), read_columns(file))
            cube, transition = load_cube(file), load_transition(file, settings)
            scorer = cls.make_scorer(settings, names, None, cube or transition)
            pruner = load_pruner(file, settings)
            lifts = load_lifts(file.metadata.get("lifts"), names)
            templates = (features if transition is None else transition_features).create(settings.features)
            guide = guide_file(file, wanted=templates.needs_guide)
            read_temperatures(file.entry("about", dict))
        except InputError as error:
            what = f"{error}; the file is damaged or from another version"
            raise ModelError(what, source=file.source) from None
        count = 64 * 64 * len(names.labels)
        seen = np.unpackbits(file.tensor("seen", np.uint8, [(count + 7) // 8]), count=count)
        parser = cls(
            settings=settings,
            names=names,
            seen=seen,
            tree=read_table(file, "tree", scorer.size("tree")),
            labels=None if settings.labels == "none" else read_table(file, "labels", scorer.size("labels")),
            cube=cube,
            label_filter=None
            if cube is None or settings.labels == "none"
            else read_table(file, "label_filter", scorer.size("labels")),
            transition=transition,
            pruner=pruner,
            lifts=lifts,
            guide=None if guide is None else read_parser(guide),
            about=file.entry("about", dict),
        )
        return parser.remember(file)


def read_parser(file: ModelFile) -> AnyParser:
    """The parser in a file that is read already, whatever its kind."""
    if file.metadata.get("kind") == INDUCED:
        from arbora.induction.parser import InducedParser  # most who parse need it not

        return InducedParser.from_file(file)
    return Parser.from_file(file)
