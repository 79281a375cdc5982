"""The treebanks of a study, read from disk or invented, and the scores of trees of the test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbora.data import treebank
from arbora.data.columns import Format
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.evaluation.attachment import evaluate
from arbora.interfaces import Roots
from arbora.reproduce.courses import Heads, hold_out, read_sentences
from arbora.reproduce.study import Options

INVENTED = "invented"
"""The language without a treebank on disk."""
COUNTS = 400, 100
"""Its sentences to learn from and to test on, where nothing else is said."""

Limits = tuple[int | None, int | None]
"""Of the training and test data, the first so many sentences; None: all."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """A treebank; files are relative to the folder of treebanks. Without files it is invented."""

    title: str
    train: str = ""
    dev: str = ""
    """Empty where there is none; a part of the training data takes its place."""
    test: str = ""
    """The same as `dev` where there is no other."""
    published: bool = False
    """Whether papers' scores are of this very test set."""

    @property
    def treebank(self) -> str:
        """The name of the treebank's folder, or what else there is."""
        return Path(self.train).parent.name or "sentences from a small grammar, to try things out"

    @property
    def is_tested_on_dev(self) -> bool:
        """Whether settings may have been chosen on what is called test here."""
        return self.dev != "" and self.dev == self.test


languages = {
    "basque": Language(
        title="Basque",
        train="UD_Basque-BDT_r1.4/eu-ud-train.conllu",
        dev="UD_Basque-BDT_r1.4/eu-ud-dev.conllu",
        test="UD_Basque-BDT_r1.4/eu-ud-test.conllu",
    ),
    "czech": Language(
        title="Czech",
        train="CoNLLX_Czech-FicTree/cs_fictree-pdt-train.conll",
        dev="CoNLLX_Czech-FicTree/cs_fictree-pdt-dev.conll",
        test="CoNLLX_Czech-FicTree/cs_fictree-pdt-test.conll",
    ),
    "danish": Language(
        title="Danish",
        train="CoNLLX_Danish-DDT/danish_ddt_train.conll",
        test="CoNLLX_Danish-DDT/danish_ddt_test.conll",
        published=True,
    ),
    "dutch": Language(
        title="Dutch",
        train="UD_Dutch-LassySmall_r1.4/nl_lassysmall-ud-train.conllu",
        dev="UD_Dutch-LassySmall_r1.4/nl_lassysmall-ud-dev.conllu",
        test="UD_Dutch-LassySmall_r1.4/nl_lassysmall-ud-test.conllu",
    ),
    "english": Language(
        title="English",
        train="UD_English-EWT/en_ewt-ud-train.conllu",
        dev="UD_English-EWT/en_ewt-ud-dev.conllu",
        test="UD_English-EWT/en_ewt-ud-dev.conllu",
    ),
    "greek": Language(
        title="Greek",
        train="UD_Greek-GDT/el_gdt-ud-train.conllu",
        dev="UD_Greek-GDT/el_gdt-ud-dev.conllu",
        test="UD_Greek-GDT/el_gdt-ud-test.conllu",
    ),
    "hungarian": Language(
        title="Hungarian",
        train="UD_Hungarian-Szeged/hu_szeged-ud-train.conllu",
        dev="UD_Hungarian-Szeged/hu_szeged-ud-dev.conllu",
        test="UD_Hungarian-Szeged/hu_szeged-ud-test.conllu",
    ),
    "japanese": Language(
        title="Japanese",
        train="UD_Japanese-GSD_r1.4/ja-ud-train.conllu",
        dev="UD_Japanese-GSD_r1.4/ja-ud-dev.conllu",
        test="UD_Japanese-GSD_r1.4/ja-ud-test.conllu",
    ),
    "portuguese": Language(
        title="Portuguese",
        train="UD_Portuguese-Bosque/pt_bosque-ud-train.conllu",
        dev="UD_Portuguese-Bosque/pt_bosque-ud-dev.conllu",
        test="UD_Portuguese-Bosque/pt_bosque-ud-test.conllu",
    ),
    "slovene": Language(
        title="Slovene",
        train="UD_Slovenian-SST_r2.13/sl_sst-ud-train.conllu",
        test="UD_Slovenian-SST_r2.13/sl_sst-ud-test.conllu",
    ),
    "swedish": Language(
        title="Swedish",
        train="UD_Swedish-Talbanken_2015-01-05/sv-ud-train.conll",
        dev="UD_Swedish-Talbanken_2015-01-05/sv-ud-dev.conll",
        test="UD_Swedish-Talbanken_2015-01-05/sv-ud-test.conll",
    ),
    "turkish": Language(
        title="Turkish",
        train="UD_Turkish-IMST/tr_imst-ud-train.conllu",
        dev="UD_Turkish-IMST/tr_imst-ud-dev.conllu",
        test="UD_Turkish-IMST/tr_imst-ud-test.conllu",
    ),
    INVENTED: Language(title="Invented"),
}
"""Those that studies choose from."""


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A system's trees of the test set, scored."""

    uas: float
    tokens: list[int]
    """Scored words, by sentence; likewise `heads`, the right ones among them."""
    heads: list[int]


@dataclass(frozen=True, kw_only=True)
class TestedWithLabels(Tested):
    """Likewise, with labels."""

    las: float
    arcs: list[int]
    """Words whose head and label are right, by sentence."""


class Material:
    """A language's sentences."""

    def __init__(
        self, name: str, language: Language, options: Options, limits: Limits = (None, None)
    ) -> None:
        self.name = name
        self.language = language
        self.options = options
        self.limits = limits
        self.train, self.test, self.format = self._read()

    def _read(self) -> tuple[list[Sentence], list[Sentence], Format]:
        most_train, most_test = self.limits
        if not self.language.train:
            counts = most_train or COUNTS[0], most_test or COUNTS[1]
            train, test = (list(generate(count, seed=seed)) for seed, count in enumerate(counts, start=1))
            return train, test, "conllu"
        train, form = read_sentences(str(self._path(self.language.train)), most_train)
        test, _ = read_sentences(str(self._path(self.language.test)), most_test)
        return train, test, form

    def _path(self, name: str) -> Path:
        title, folder = self.language.title, self.options.data
        if folder is None:
            raise InputError(
                f"{title} needs {name}; give the folder of treebanks with --data DIR or in the environment "
                "as ARBORA_DATA"
            )
        path = folder / name
        if not path.is_file():
            raise InputError(
                f"{title} needs {name} in {folder}; give the folder of treebanks with --data DIR, or choose "
                "among others with --languages"
            )
        return path

    def with_dev(self, share: float) -> tuple[list[Sentence], list[Sentence]]:
        """Sentences to learn from and to choose on: train and dev, or train without its end and this."""
        if not self.language.dev:
            return hold_out(self.train, share)
        dev, _ = read_sentences(str(self._path(self.language.dev)), self.limits[1])
        return self.train, dev

    @property
    def roots(self) -> Roots:
        """As many as the training data asks for."""
        return "single" if all(sentence.heads.count(0) == 1 for sentence in self.train) else "multi"

    def scored(self, system: str, heads: Heads, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """A system's trees of the test set, kept for whoever wants to score them again: a `Tested` by name.

        With labels, a `TestedWithLabels`.
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
