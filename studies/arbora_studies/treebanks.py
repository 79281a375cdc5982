"""The treebanks of the studies, read from disk or generated, and scores on the test set."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.data import treebank
from arbora.data.columns import Columns, Format, columns_of
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.evaluation.attachment import evaluate, is_punctuation
from arbora.interfaces import Roots
from arbora_studies.runner import Options

SYNTHETIC = "synthetic"
"""The language without a treebank on disk."""
COUNTS = 400, 100
"""Its default numbers of training and test sentences."""

Limits: TypeAlias = tuple[int | None, int | None]
"""How many training and test sentences to read; None: all."""
Heads: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Language:
    """A treebank. Files are relative to the folder of treebanks; without files it is synthetic."""

    title: str
    train: str = ""
    dev: str = ""
    """Empty if there is none; a part of the training data then takes its place."""
    test: str = ""
    """The same as `dev` if there is no other."""
    published: bool = False
    """Whether the papers use the same test set."""

    @property
    def treebank(self) -> str:
        """The name of the treebank's folder."""
        return Path(self.train).parent.name or "sentences from a small grammar, to try things out"

    @property
    def is_tested_on_dev(self) -> bool:
        """Whether dev is the test set."""
        return self.dev != "" and self.dev == self.test


def _language(
    title: str, stem: str, suffix: str = ".conllu", dev: str = "dev", test: str = "test"
) -> Language:
    train, dev, test = (part and f"{stem}{part}{suffix}" for part in ("train", dev, test))
    return Language(title=title, train=train, dev=dev, test=test)


LANGUAGES: Mapping[str, Language] = {
    "basque": _language("Basque", "UD_Basque-BDT_r1.4/eu-ud-"),
    "czech": _language("Czech", "CoNLLX_Czech-FicTree/cs_fictree-pdt-", ".conll"),
    "danish": Language(
        title="Danish",
        train="CoNLLX_Danish-DDT/danish_ddt_train.conll",
        test="CoNLLX_Danish-DDT/danish_ddt_test.conll",
        published=True,
    ),
    "dutch": _language("Dutch", "UD_Dutch-LassySmall_r1.4/nl_lassysmall-ud-"),
    "english": _language("English", "UD_English-EWT/en_ewt-ud-", test="dev"),
    "greek": _language("Greek", "UD_Greek-GDT/el_gdt-ud-"),
    "hungarian": _language("Hungarian", "UD_Hungarian-Szeged/hu_szeged-ud-"),
    "japanese": _language("Japanese", "UD_Japanese-GSD_r1.4/ja-ud-"),
    "portuguese": _language("Portuguese", "UD_Portuguese-Bosque/pt_bosque-ud-"),
    "slovene": _language("Slovene", "UD_Slovenian-SST_r2.13/sl_sst-ud-", dev=""),
    "swedish": _language("Swedish", "UD_Swedish-Talbanken_2015-01-05/sv-ud-", ".conll"),
    "turkish": _language("Turkish", "UD_Turkish-IMST/tr_imst-ud-"),
    SYNTHETIC: Language(title="Synthetic"),
}


@dataclass(frozen=True, kw_only=True)
class Tested:
    """Scores of a system on the test set."""

    uas: float
    tokens: list[int]
    """Scored words, by sentence."""
    heads: list[int]
    """Words with the right head, by sentence."""


class Material:
    """A language's sentences."""

    def __init__(
        self, name: str, options: Options, limits: Limits = (None, None), language: Language | None = None
    ) -> None:
        self.name = name
        self.language = language or LANGUAGES[name]
        self.options = options
        self.limits = limits
        self.train, self.test, self.format = self._read()

    def _read(self) -> tuple[list[Sentence], list[Sentence], Format]:
        train_count, test_count = self.limits
        if not self.language.train:
            counts = train_count or COUNTS[0], test_count or COUNTS[1]
            train, test = (list(generate(count, seed=seed)) for seed, count in enumerate(counts, start=1))
            return train, test, "conllu"
        reader = treebank.read(str(self._path(self.language.train)))
        train = list(islice(reader, train_count))
        return train, self._sentences(self.language.test), reader.format

    def _sentences(self, file: str) -> list[Sentence]:
        return list(islice(treebank.read(str(self._path(file))), self.limits[1]))

    def _path(self, name: str) -> Path:
        title, folder = self.language.title, self.options.data
        if folder is None:
            raise InputError(
                f"{title} needs {name}; give the folder of treebanks with --data DIR or in the environment "
                "variable ARBORA_DATA"
            )
        path = folder / name
        if not path.is_file():
            raise InputError(
                f"{title} needs {name} in {folder}; give the folder of treebanks with --data DIR, or choose "
                "other languages with --languages"
            )
        return path

    def with_dev(self, share: float) -> tuple[list[Sentence], list[Sentence]]:
        """Return train and dev; without dev, split off the last `share` of train."""
        if not self.language.dev:
            return hold_out(self.train, share)
        return self.train, self._sentences(self.language.dev)

    def columns(self, *parts: list[Sentence]) -> list[Columns]:
        """Convert parts of the treebank to arrays."""
        return [columns_of(part) for part in parts]

    @cached_property
    def test_columns(self) -> Columns:
        """The test set as arrays."""
        return columns_of(self.test)

    @property
    def roots(self) -> Roots:
        """Whether training trees have one root each."""
        return "single" if all(sentence.heads.count(0) == 1 for sentence in self.train) else "multi"

    def score(self, system: str, heads: Heads, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """Score a system's trees of the test set and save them: the fields of `Tested`.

        With labels, LAS and the words with the right head and label too (`arcs`).
        """
        found, named, at = heads.tolist(), labels or ["_"] * len(heads), 0
        predicted = []
        for sentence in self.test:
            end = at + len(sentence)
            predicted.append(sentence.with_tree(Tree.from_heads(found[at:end], named[at:end])))
            at = end
        scores = evaluate(self.test, predicted, punctuation="form").conllx
        folder = self.options.output / "predictions"
        folder.mkdir(parents=True, exist_ok=True)
        treebank.write(predicted, folder / f"{self.name}-{system}.{self.format}")
        counts = scores.per_sentence
        tested = {"uas": scores.uas, "tokens": counts.tokens.tolist(), "heads": counts.heads.tolist()}
        return tested if labels is None else {**tested, "las": scores.las, "arcs": counts.arcs.tolist()}


def hold_out(sentences: list[Sentence], share: float) -> tuple[list[Sentence], list[Sentence]]:
    """Split off the last `share` of the sentences; of two sentences, both parts get one."""
    kept = min(max(1, len(sentences) - round(share * len(sentences))), max(1, len(sentences) - 1))
    return sentences[:kept], sentences[kept:]


def punctuation(columns: Columns) -> NDArray[np.bool_]:
    """Which words are written with punctuation only. Shape (W,)."""
    marks = np.array([is_punctuation(form) for form in columns.strings("form")], dtype=np.bool_)
    return marks[columns.ids("form")]


def checksum(data: Columns) -> int:
    """A checksum of everything in a treebank."""
    return zlib.crc32(data.to_bytes())


def not_the_papers(names: Sequence[str]) -> list[str]:
    """A note that names the languages whose test sets are not the paper's."""
    titles = [LANGUAGES[name].title for name in names if not LANGUAGES[name].published]
    text = "not the annotation and test set of the paper; only the order of systems compares."
    return [f"{', '.join(titles)}: {text}"] if titles else []
