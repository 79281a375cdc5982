"""A parser's guide: another parser, whose trees become features [nivre-2008].

In training a guided parser must see trees as good as those it will see later. So each fold of the treebank
is parsed by a parser trained on the others with the guide's own configuration (jackknifing). The guide itself
parses dev and new text. A guide that was induced without a treebank parses everything itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import GuideTrees, Names, numbers_of
from arbora.errors import InputError
from arbora.parsing.parser import Parser
from arbora.pipeline.words import numbers
from arbora.progress import Scores
from arbora.settings import from_dict
from arbora.storage.model_file import read_model
from arbora.storage.models import find_model
from arbora.training.config import TrainConfig
from arbora.training.recipes import attachment, recipe_of


@dataclass(frozen=True)
class Guide:
    """A guide, and how to train others like it."""

    parser: Parser
    config: TrainConfig | None
    """None: it was induced without a treebank."""
    checksum: str
    """Of its file: a resumed training must have the same guide."""

    @classmethod
    def load(cls, path: str) -> Guide:
        """The parser of a model file; InputError if it cannot be a guide."""
        file = read_model(find_model(path), verify=True)
        parser = Parser.from_file(file.part("parser") if "parts" in file.metadata else file)
        if not parser.search.is_supervised:
            return cls(parser, None, file.checksum or "")
        if parser.names.guide is not None:
            raise InputError(
                f"stack: expected a parser without a guide, got {path}, which has one; stack on that guide, "
                "or on another parser"
            )
        return cls(parser, _config_of(parser, path), file.checksum or "")

    def check_treebank(self, columns: Columns) -> None:
        """InputError if parsers like the guide cannot be trained on folds of a treebank."""
        if self.config is None:
            return
        if len(columns) < 2:
            raise InputError(
                "stack: expected at least 2 sentences, each to be parsed by a parser that has not seen it, "
                f"got {len(columns)}"
            )
        if np.any(columns.heads < 0) and not self.config.learns_from_parts:
            raise InputError(
                f"stack: the guide's learner, {self.config.learner}, needs the heads of all words, and some "
                "are unknown here; choose a guide trained with adagrad or log_linear"
            )

    def names(self, columns: Columns) -> tuple[str, ...]:
        """The labels that it, or parsers like it, may give."""
        return tuple(dict.fromkeys((*self.parser.names.labels, *Names.of(columns).labels)))


def _config_of(parser: Parser, path: str) -> TrainConfig:
    """The configuration that a parser was trained with, with its best number of epochs."""
    given = parser.about.get("config")
    if not isinstance(given, dict):
        raise InputError(f"stack: {path} does not hold the settings that it was trained with")
    try:
        # Models of earlier versions store decisions about settings that have no effect, too.
        known, search = dict(given), given.get("transition")
        if "pruner_settings.rule" not in recipe_of(known.get("parser", "graph")).own_settings:
            known.pop("pruner_settings", None)
        if isinstance(search, dict) and search.get("beam") != 1:
            known["transition"] = {name: value for name, value in search.items() if name != "oracle"}
        config = from_dict(TrainConfig, known, source=path)
    except InputError as error:
        raise InputError(str(error), field="stack") from None
    # The guide chose its epoch and its trees on dev; folds are trained without one.
    parameters: dict[str, Any] = dict(config.parameters)
    reports = parser.about.get("epochs")
    kept = [
        report["epoch"]
        for report in (reports if isinstance(reports, list) else [])
        if isinstance(report, dict) and report.get("stage") == "tree" and report.get("best")
        if isinstance(report.get("epoch"), int)
    ]
    if kept and "epochs" in parameters:
        parameters["epochs"] = max(kept)
    if config.decode != "same":
        config = replace(config, decode="projective" if parser.search.trees == "projective" else "same")
    return replace(config, parameters=parameters)


def guide_trees(parser: Parser, columns: Columns, names: tuple[str, ...], threads: int = 1) -> GuideTrees:
    """The trees of a parser, with labels as indices into `names`."""
    heads, labels = parser.trees(columns, threads=threads)
    numbers = np.append(numbers_of(parser.names.labels, names), np.int32(-1))
    return GuideTrees(heads, numbers[labels].astype(np.int32), names)


def guide_scores(trees: GuideTrees, columns: Columns) -> Scores:
    """LAS and UAS against the treebank's trees, in percent of words with a head."""
    return attachment(trees.heads, trees.labels, columns.heads, numbers(columns, "deprel", trees.names))
