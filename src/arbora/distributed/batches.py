"""Texts in batches, for data sets of other libraries.

`ParseBatch` takes a batch of rows and returns it with one more column: the trees of each text. It is for
`Dataset.map_batches` of Ray, `Dataset.map(batched=True)` of Hugging Face and `mapInPandas` of Spark, and may
be sent to other machines, since its model travels as bytes.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from arbora.data.columns import PIECE, Columns
from arbora.errors import InputError, require_known
from arbora.pipeline.pipeline import Pipeline, load
from arbora.pipeline.writing import Request
from arbora.search.request import Decode

FORMATS = ("conllu", "json")

logger = logging.getLogger("arbora")


class ParseBatch:
    """Adds the trees of texts to batches: `ParseBatch()({"text": ["She reads books."]})`.

    A batch is a mapping of columns (as of Ray and Hugging Face), a pandas data frame or a pyarrow table; the
    result is of the same kind. The new column has a string for each text: CoNLL-U, or a JSON list of
    sentences. It is None for a missing text (None, or NaN as in pandas), and for one that cannot be parsed,
    with a warning: one bad row does not lose the batch.
    """

    def __init__(
        self,
        model: Pipeline | str | os.PathLike[str] | None = None,
        *,
        text_column: str = "text",
        output_column: str = "trees",
        format: Literal["conllu", "json"] = "conllu",  # noqa: A002
        probabilities: bool = False,
        decode: Decode = "argmax",
        threads: int = 1,
    ) -> None:
        require_known("format", format, FORMATS)
        self.model = model if isinstance(model, Pipeline) else load(model)
        self.model.require_segmenter()
        self.text_column, self.output_column, self.form = text_column, output_column, format
        self.request = Request(decode=decode, probabilities=probabilities, threads=threads)

    def __call__(self, batch: Any) -> Any:
        """The batch with the new column."""
        if isinstance(batch, Mapping):
            texts = batch.get(self.text_column)
        elif hasattr(batch, "columns") and self.text_column in getattr(batch, "column_names", batch.columns):
            texts = batch[self.text_column]
        else:
            texts = None
        if texts is None:
            kind = type(batch).__name__
            raise InputError(f"text_column: expected a column {self.text_column!r}, got none in the {kind}")
        trees = self.trees(texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts))
        return self._with_column(batch, texts, trees)

    def _with_column(self, batch: Any, texts: Any, trees: list[str | None]) -> Any:
        if isinstance(batch, Mapping):
            column: Any = np.array(trees, dtype=object) if isinstance(texts, np.ndarray) else trees
            return {**batch, self.output_column: column}
        if hasattr(batch, "append_column"):  # pyarrow
            return batch.append_column(self.output_column, [trees])
        return batch.assign(**{self.output_column: trees})

    def frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """The same for a stream of data frames: what `mapInPandas` of Spark takes."""
        return map(self, frames)

    def trees(self, texts: Sequence[Any]) -> list[str | None]:
        """The trees of each text, rendered. Several short texts are parsed together. O(words)."""
        found: list[str | None] = [None] * len(texts)
        waiting: dict[int, Columns] = {}
        words = 0
        for place, text in enumerate(texts):
            columns = self._segmented(text)
            if columns is not None:
                waiting[place] = columns
                words += columns.words
            if waiting and (words >= PIECE or place == len(texts) - 1):
                for own, trees in zip(waiting, self._parsed([*waiting.values()]), strict=True):
                    found[own] = trees
                waiting, words = {}, 0
        return found

    def _segmented(self, text: Any) -> Columns | None:
        """The words of a text; None if it is missing, or cannot be parsed."""
        if text is None or type(text).__name__ == "NAType" or text != text:  # pandas' NA; NaN is not itself
            return None
        try:
            return self.model.require_segmenter().segment(text).columns
        except InputError as error:
            logger.warning("a text was not parsed: %s", error)
            return None

    def _parsed(self, texts: list[Columns]) -> list[str]:
        columns = self.model.prepare(Columns.concat(texts), threads=self.request.threads)
        parser = self.model.parser
        ends = np.cumsum([0, *map(len, texts)]).tolist()
        if self.form == "conllu" and not self.request.probabilities:
            parsed = columns.with_trees(*self.request.trees(parser, columns))
            return [parsed.select(np.arange(*ends)).to_bytes().decode() for ends in pairwise(ends)]
        sentences: list[Any]
        if self.request.probabilities:
            sentences = [tree for (tree,) in self.request.parsed(parser, columns)]
        else:
            sentences = list(columns.with_trees(*self.request.trees(parser, columns)).sentences())
        return [self._rendered(sentences[start:end]) for start, end in pairwise(ends)]

    def _rendered(self, sentences: Sequence[Any]) -> str:
        if self.form == "json":
            return json.dumps([sentence.to_json() for sentence in sentences], ensure_ascii=False)
        return "".join(tree.annotated().to_conllu() for tree in sentences)
