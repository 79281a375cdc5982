"""The peers of benchmarks/training.py and benchmarks/parsing.py: other parsers, trained on the same split.

    python benchmarks/parsing_peers.py                         # train all, whole: some 150 CPU minutes
    python benchmarks/parsing_peers.py --only spacy
    python benchmarks/parsing_peers.py --quick                 # two CPU minutes; same networks, worse trees
    python benchmarks/parsing_peers.py --only udpipe --iterations 3
    python benchmarks/parsing_peers.py --only udpipe_text      # from raw text, for benchmarks/pipeline.py

Trained models are kept outside the repository (see parsing_systems.py), and existing ones are reused. For a
peer that is not installed, the tables show recorded figures.

UDPipe: its parser alone with default settings, gold tags. spaCy: its default CPU pipeline of tok2vec and
parser, which reads words only, on gold tokens. Both choose the best state on dev, like Arbora.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from parsing_systems import Arbora, Convert, Files, MissingError, System, Trained, obtain, say


@dataclass(frozen=True)
class UDPipe:
    """UDPipe 1, a transition parser with a small neural network (C++)."""

    iterations: int = 10
    module: ClassVar[str] = "ufal.udpipe"
    DEFAULT_ITERATIONS: ClassVar[int] = 10
    QUICK_SENTENCES: ClassVar[int] = 2000

    @property
    def name(self) -> str:
        return "udpipe" if self.iterations == self.DEFAULT_ITERATIONS else f"udpipe-{self.iterations}"

    @property
    def minutes(self) -> float:
        return 13.0 * self.iterations

    def shortened(self, *, quick: bool) -> str:
        if quick:
            return f"1 iteration on {self.QUICK_SENTENCES:,} sentences"
        return "" if self.iterations == self.DEFAULT_ITERATIONS else f"{self.iterations} iterations"

    def version(self) -> str:
        return version("ufal.udpipe")

    def train(self, files: Files, folder: Path, *, quick: bool) -> dict[str, Any]:
        from ufal import udpipe

        settings = f"use_gold_tags=1;iterations={1 if quick else self.iterations}"
        train = self._sentences(files.train, self.QUICK_SENTENCES if quick else None)
        dev = self._sentences(files.dev, None)
        error = udpipe.ProcessingError()
        model = udpipe.Trainer.train("morphodita_parsito", train, dev, "none", "none", settings, error)
        if error.occurred():
            raise MissingError(f"UDPipe: {error.message}")
        (folder / "model").write_bytes(model)
        return {"settings": settings}

    @staticmethod
    def _sentences(path: Path, limit: int | None) -> Any:
        from ufal import udpipe

        reader, error = udpipe.InputFormat.newInputFormat("conllu"), udpipe.ProcessingError()
        reader.setText(path.read_text(encoding="utf-8"))
        sentences, sentence = udpipe.Sentences(), udpipe.Sentence()
        while len(sentences) != limit and reader.nextSentence(sentence, error):
            sentences.push_back(sentence)
            sentence = udpipe.Sentence()
        if error.occurred():
            raise MissingError(f"UDPipe: {error.message}")
        return sentences

    def load(self, model: Path, threads: int = 1) -> Convert:
        from ufal import udpipe

        loaded = udpipe.Model.load(str(model))
        if loaded is None:
            raise MissingError(f"UDPipe cannot load {model}")
        pipeline = udpipe.Pipeline(loaded, "conllu", udpipe.Pipeline.NONE, udpipe.Pipeline.DEFAULT, "conllu")

        # The pipeline does not own the model, so keep it alive.
        def convert(source: Path, target: Path, _model: Any = loaded) -> None:
            error = udpipe.ProcessingError()
            text = pipeline.process(source.read_text(encoding="utf-8"), error)
            if error.occurred():
                raise MissingError(f"UDPipe: {error.message}")
            target.write_text(text, encoding="utf-8")

        return convert


@dataclass(frozen=True)
class UDPipeText(UDPipe):
    """UDPipe 1 from raw text: its tokenizer, tagger and lemmatizer, too, with their default settings."""

    @property
    def name(self) -> str:
        return super().name.replace("udpipe", "udpipe_text")

    @property
    def minutes(self) -> float:
        return 40 + 13.0 * self.iterations

    def train(self, files: Files, folder: Path, *, quick: bool) -> dict[str, Any]:
        from ufal import udpipe

        train = self._sentences(files.train, self.QUICK_SENTENCES if quick else None)
        dev = self._sentences(files.dev, None)
        parser = f"iterations={1 if quick else self.iterations}"
        tokenizer = "epochs=5" if quick else ""
        error = udpipe.ProcessingError()
        model = udpipe.Trainer.train("morphodita_parsito", train, dev, tokenizer, "", parser, error)
        if error.occurred():
            raise MissingError(f"UDPipe: {error.message}")
        (folder / "model").write_bytes(model)
        return {"settings": parser}

    def load_text(self, model: Path) -> Callable[[str], str]:
        """A trained model, ready for raw text."""
        from ufal import udpipe

        loaded = udpipe.Model.load(str(model))
        if loaded is None:
            raise MissingError(f"UDPipe cannot load {model}")
        default = udpipe.Pipeline.DEFAULT
        pipeline = udpipe.Pipeline(loaded, "tokenize", default, default, "conllu")

        def convert(text: str, _model: Any = loaded) -> str:
            error = udpipe.ProcessingError()
            found = pipeline.process(text, error)
            if error.occurred():
                raise MissingError(f"UDPipe: {error.message}")
            return str(found)

        return convert


SHORT = 3
"""Iterations of UDPipe's parser that are worth comparing with, where ten take too long."""

Rows = list[list[str]]
"""The word lines of a sentence, cut into columns."""


def sentences_of(path: Path) -> Iterator[Rows]:
    """Words of CoNLL-U sentences: spaCy reads nothing else."""
    rows: Rows = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line == "\n":
                yield rows
                rows = []
            elif line[0] != "#":
                row = line.rstrip("\n").split("\t")
                if row[0].isdecimal():
                    rows.append(row)
    if rows:
        yield rows


@dataclass(frozen=True)
class SpaCy:
    """spaCy's default CNN, a transition parser (Cython)."""

    name: ClassVar[str] = "spacy"
    module: ClassVar[str] = "spacy"
    minutes: ClassVar[float] = 18
    QUICK_STEPS: ClassVar[int] = 200

    def shortened(self, *, quick: bool) -> str:
        return f"{self.QUICK_STEPS} steps" if quick else ""

    def version(self) -> str:
        return version("spacy")

    def train(self, files: Files, folder: Path, *, quick: bool) -> dict[str, Any]:
        from spacy.cli.init_config import init_config
        from spacy.cli.train import train

        config = init_config(lang="en", pipeline=["parser"], optimize="efficiency", gpu=False)
        if quick:
            config["training"]["max_steps"] = self.QUICK_STEPS
        config.to_disk(folder / "config.cfg")
        paths = {}
        for part, path in (("train", files.train), ("dev", files.dev)):
            self._convert(path, folder / f"{part}.spacy")
            paths[f"paths.{part}"] = str(folder / f"{part}.spacy")
        train(folder / "config.cfg", folder / "spacy", overrides=paths)
        (folder / "spacy" / "model-best").rename(folder / "model")
        shutil.rmtree(folder / "spacy")
        for written in paths.values():
            Path(written).unlink()
        return {"steps": int(config["training"]["max_steps"])}

    @staticmethod
    def _convert(source: Path, target: Path) -> None:
        """Gold trees in spaCy's own format; spaces are marked unknown, so that it keeps gold tokens."""
        import spacy
        from spacy.tokens import Doc, DocBin

        vocab, docs = spacy.blank("en").vocab, DocBin(attrs=["HEAD", "DEP"])
        for rows in sentences_of(source):
            heads = [int(row[6]) - 1 if row[6] != "0" else i for i, row in enumerate(rows)]
            deps = ["ROOT" if row[7] == "root" else row[7] for row in rows]
            docs.add(Doc(vocab, words=[row[1] for row in rows], heads=heads, deps=deps))
        docs.to_disk(target)

    def load(self, model: Path, threads: int = 1) -> Convert:
        import spacy
        from spacy.tokens import Doc

        nlp = spacy.load(model)

        def convert(source: Path, target: Path) -> None:
            # A few megabytes of text at a time, so that memory does not grow with the file.
            sentences = sentences_of(source)
            with target.open("w", encoding="utf-8") as out:
                while piece := list(islice(sentences, 2000)):
                    docs = (Doc(nlp.vocab, words=[row[1] for row in rows]) for rows in piece)
                    for rows, doc in zip(piece, nlp.pipe(docs), strict=True):
                        for i, (row, token) in enumerate(zip(rows, doc, strict=True)):
                            head, label = token.head.i, token.dep_
                            row[6] = "0" if head == i else str(head + 1)
                            row[7] = "root" if label == "ROOT" else label
                            row[8] = "_"
                            out.write("\t".join(row) + "\n")
                        out.write("\n")

        return convert


def peers(iterations: int | None = None) -> dict[str, System]:
    """All peers; UDPipe with the given number of iterations, if any."""
    udpipe = UDPipe() if iterations is None else UDPipe(iterations)
    return {"udpipe": udpipe, "spacy": SpaCy()}


def text_peers(iterations: int | None = None) -> dict[str, System]:
    """Peers of benchmarks/pipeline.py."""
    return {"udpipe_text": UDPipeText() if iterations is None else UDPipeText(iterations)}


def system_of(name: str) -> System:
    """The system of that name, peer or ours."""
    kind, _, detail = name.partition("-")
    if kind in text_peers():
        return text_peers(int(detail) if detail else None)[kind]
    if kind == "arbora":
        return Arbora.named(name)
    return peers(int(detail) if detail else None)[kind]


def is_installed(system: System) -> bool:
    try:
        return importlib.util.find_spec(system.module) is not None
    except ModuleNotFoundError:
        return False


def obtain_peer(system: System, files: Files, *, quick: bool) -> Trained:
    """The trained model of a peer; raises MissingError if it cannot be trained."""
    if not is_installed(system):
        raise MissingError("not installed")
    return obtain(system, files, quick=quick)


def positive(text: str) -> int:
    """A positive whole number as an argument."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, got {number}")
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short trainings: same networks, worse trees")
    parser.add_argument("--only", choices=sorted({**peers(), **text_peers()}), help="one of the peers")
    parser.add_argument("--iterations", type=positive, help="UDPipe's, some 13 CPU minutes each (default 10)")
    arguments = parser.parse_args()
    try:
        files = Files.find()
    except MissingError as missing:
        say(f"skipped: {missing}")
        return 0
    failed = False
    known = {**peers(arguments.iterations), **text_peers(arguments.iterations)}
    for name, system in known.items():
        if name not in ([arguments.only] if arguments.only else peers()):
            continue
        try:
            trained = obtain_peer(system, files, quick=arguments.quick)
            say(f"{name}: {trained.folder}, {trained.record['cpu'] / 60:.1f} CPU minutes")
        except MissingError as missing:
            say(f"{name}: {missing}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
