"""Arbora as a component of a spaCy pipeline: `nlp.add_pipe("arbora", config={"model": "en.arbora"})`.

After `pip install 'arbora-nlp[spacy]'`, spaCy finds it by name. Tokens stay as they are. Sentence starts that
are set are kept; without any, sentences end at the punctuation marks of spaCy's `sentencizer`. The parser
reads the tags, lemmas and features of tokens; missing ones are filled in if the model predicts them.
Whitespace tokens attach to the word before them as `dep`, as in spaCy's own models. spaCy allows one root per
sentence: if a model gives several, the others attach to the first.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

try:
    from spacy.attrs import DEP, HEAD
    from spacy.language import Language
    from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
    from spacy.pipeline import Pipe, Sentencizer
    from spacy.tokens import Doc, Span, Token
    from spacy.util import minibatch
except ImportError as error:
    raise ImportError("arbora.integrations.spacy needs spaCy: pip install 'arbora-nlp[spacy]'") from error

import arbora
from arbora.data.sentence import Sentence
from arbora.errors import InputError, ModelError
from arbora.parsing.parsed import Parsed
from arbora.storage.models import is_named, no_model

MODEL_FILE, SETTINGS_FILE = "model.arbora", "cfg"
OF_TOKENS = ("head_probability", "label_probability", "head_entropy")
OF_SENTENCES = ("tree_probability", "tree_entropy")
SPACE_LABEL = "dep"
BROKEN = str.maketrans("\t\n\r", "   ")

for kind, extensions in ((Token, OF_TOKENS), (Span, OF_SENTENCES)):
    for extension in extensions:
        if not kind.has_extension(extension):
            kind.set_extension(extension, default=None)


class ArboraParser(Pipe):
    """Sets heads, labels and sentence starts, and their probabilities.

    Tokens get `token._.head_probability`, `token._.label_probability` (of the label given the head) and
    `token._.head_entropy`; the spans in `doc.sents` get `sentence._.tree_probability` and
    `sentence._.tree_entropy`. They are None if unknown, or with `probabilities=False`.
    """

    def __init__(
        self, name: str = "arbora", *, model: str | None = None, probabilities: bool = True, threads: int = 1
    ) -> None:
        self.name = name
        self.model = model
        self.probabilities = probabilities
        self.threads = threads
        self._loaded: Any = None
        self._sentencizer = Sentencizer()
        if model is not None and (is_named(model) or Path(model).exists()):
            _ = self.parser

    @property
    def parser(self) -> Any:
        """The loaded model; ModelError if there is none of this name."""
        if self._loaded is None:
            if self.model is not None and not is_named(self.model) and not Path(self.model).is_file():
                raise ModelError(no_model(), source=self.model)
            self._loaded = arbora.load(self.model)
        return self._loaded

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one Doc."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, each batch in one native call."""
        for batch in minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self._annotate(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            yield from docs

    def _annotate(self, docs: Sequence[Doc]) -> None:
        sentences = [list(self._sentences_of(doc)) for doc in docs]
        given = [_sentence(words) for of_doc in sentences for _, words in of_doc if words]
        parsed = iter(self.parser.parse(given, probabilities=self.probabilities, threads=self.threads))
        for doc, of_doc in zip(docs, sentences, strict=True):
            _write(doc, [(span, words, next(parsed) if words else None) for span, words in of_doc])

    def _sentences_of(self, doc: Doc) -> Iterator[tuple[Span, list[Token]]]:
        """Yield each sentence, and those of its tokens that are words."""
        given = doc.has_annotation("SENT_START")
        starts = [bool(token.is_sent_start) for token in doc] if given else self._guess_starts(doc)
        firsts = [i for i, start in enumerate(starts) if start or i == 0]
        for start, end in pairwise([*firsts, len(doc)]):
            yield doc[start:end], [token for token in doc[start:end] if not token.is_space]

    def _guess_starts(self, doc: Doc) -> list[bool]:
        """Start sentences after final punctuation, at the next word."""
        (guesses,) = self._sentencizer.predict([doc])
        starts, waiting = [], False
        for token, guess in zip(doc, guesses, strict=True):
            waiting = waiting or (guess and token.i > 0)
            starts.append(waiting and not token.is_space)
            waiting = waiting and token.is_space
        return starts

    # Serialization: the settings and the model file itself, so that a saved pipeline needs nothing else.

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Settings and model as bytes: a line of JSON, and the model file."""
        settings = json.dumps({"probabilities": self.probabilities, "threads": self.threads}).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(self.model or folder)
            if not path.is_file():
                path = Path(folder, MODEL_FILE)
                self.parser.save(path)
            return settings + b"\n" + path.read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> ArboraParser:
        """Read the output of `to_bytes`."""
        with tempfile.TemporaryDirectory() as folder:
            _write_parts(Path(folder), data)
            self.from_disk(folder)  # the mapped memory outlives the file
        self.model = None
        return self

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write a folder with the settings and the model."""
        data = self.to_bytes()
        Path(path).mkdir(parents=True, exist_ok=True)
        _write_parts(Path(path), data)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> ArboraParser:
        """Read the settings and the model from a folder."""
        text = (Path(path) / SETTINGS_FILE).read_bytes()
        try:
            settings = json.loads(text)
        except ValueError:
            settings = None
        if not isinstance(settings, dict) or set(settings) != {"probabilities", "threads"}:
            what = f"expected the settings of an arbora component, got {text[:80]!r}"
            raise InputError(f"{os.fspath(path)}: {what}")
        model = os.fspath(Path(path) / MODEL_FILE)
        self._loaded, self.model = arbora.load(model), model
        self.probabilities, self.threads = bool(settings["probabilities"]), int(settings["threads"])
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, self.to_bytes())


def _restored(name: str, data: bytes) -> ArboraParser:
    return ArboraParser(name).from_bytes(data)


def _write_parts(folder: Path, data: bytes) -> None:
    settings, _, model = data.partition(b"\n")
    (folder / SETTINGS_FILE).write_bytes(settings)
    (folder / MODEL_FILE).write_bytes(model)


@Language.factory(
    "arbora",
    assigns=["token.head", "token.dep", "token.is_sent_start", "doc.sents"],
    default_config={"model": None, "probabilities": True, "threads": 1},
    default_score_weights={"dep_uas": 0.5, "dep_las": 0.5},
)
def make_arbora(nlp: Language, name: str, model: str | None, probabilities: bool, threads: int) -> Pipe:
    """Make the component for `nlp.add_pipe("arbora", config=...)`.

    `model` is a file or a name, as in `arbora.load`, or None for the bundled English model. `probabilities`
    also computes probabilities, which takes longer. `threads` is the number of native threads.
    """
    made = ArboraParser(name, model=model, probabilities=probabilities, threads=threads)
    # A pipeline that is read from disk lists its components. It brings its own model; the path may be gone.
    is_saved = name in nlp._meta.get("components", ()) and name not in nlp.component_names
    if model is not None and not is_saved:
        _ = made.parser
    return made


def _sentence(tokens: Sequence[Token]) -> Sentence:
    """The words of a sentence, with the annotation that its tokens have."""

    def column(texts: Iterable[str]) -> list[Any]:
        return [text.translate(BROKEN) or None for text in texts]

    forms, upos, lemmas, xpos = (
        column(getattr(token, name) for token in tokens) for name in ("text", "pos_", "lemma_", "tag_")
    )
    # In the order of Universal Dependencies, which ignores case, unlike spaCy's.
    feats = ("|".join(sorted(str(token.morph).split("|"), key=str.lower)) for token in tokens)
    return Sentence.from_lists(forms, upos, lemmas=lemmas, xpos=xpos, feats=column(feats))


def _write(doc: Doc, found: Sequence[tuple[Span, list[Token], Parsed | Sentence | None]]) -> None:
    """Set heads and labels of all sentences at once, which also sets where sentences start."""
    heads = np.arange(len(doc), dtype=np.int64)
    labels = np.full(len(doc), doc.vocab.strings.add(SPACE_LABEL), dtype=np.uint64)
    for span, words, parsed in found:
        # Spaces hang on the word before them; at the start of a sentence, on the first word.
        head = words[0].i if words else span.start
        for token in span:
            head = head if token.is_space else token.i
            heads[token.i] = head
        if parsed is None:
            labels[span.start] = doc.vocab.strings.add("ROOT")
        else:
            sentence = parsed.sentence if isinstance(parsed, Parsed) else parsed
            _set_words(words, sentence, heads, labels)
    offsets = (heads - np.arange(len(doc))).astype(np.uint64)
    if len(doc):
        doc.from_array([HEAD, DEP], np.stack([offsets, labels], axis=1))
    for span, words, parsed in found:
        if isinstance(parsed, Parsed):
            span._.tree_probability, span._.tree_entropy = parsed.probability, parsed.entropy
            for token, word in zip(words, parsed, strict=True):
                for name, value in zip(
                    OF_TOKENS, (word.head_probability, word.label_probability, word.entropy), strict=True
                ):
                    token._.set(name, value)


def _set_words(tokens: Sequence[Token], sentence: Sentence, heads: Any, labels: Any) -> None:
    first_root = next(token.i for token, head in zip(tokens, sentence.heads, strict=True) if head <= 0)
    for token, word in zip(tokens, sentence, strict=True):
        heads[token.i] = tokens[word.head - 1].i if word.head > 0 else first_root
        # spaCy's name for the root's label, which its other components look for.
        is_root = word.head == 0 and word.deprel.lower() in ("root", "_")
        label = "ROOT" if is_root else "" if word.deprel == "_" else word.deprel
        labels[token.i] = token.vocab.strings.add(label)
        if not token.pos_ and word.upos in PARTS_OF_SPEECH:
            token.pos_ = word.upos
        for name, value in (("tag_", word.xpos), ("lemma_", word.lemma)):
            if not getattr(token, name) and value != "_":
                setattr(token, name, value)
        if not token.has_morph() and word.feats != "_":
            token.set_morph(word.feats)
