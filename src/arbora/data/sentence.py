"""One annotated sentence: a small immutable value that round-trips to the lines it was read from.

Words are stored by column, as tuples of the strings in the file; `_` means unknown.
In CoNLL-X, CPOSTAG is `upos`, POSTAG is `xpos`, PHEAD and PDEPREL are `deps` and `misc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from arbora.data.tree import Tree
from arbora.errors import DataError, InputError, as_utf8, import_package

if TYPE_CHECKING:
    import conllu
    from pyconll.unit.sentence import Sentence as PyconllSentence

NO_HEAD = -1
Span: TypeAlias = tuple[int, int]  # start and end in a text, in characters
_TOKEN_RANGE = re.compile(r"(?:^|\|)TokenRange=([0-9]{1,18}):([0-9]{1,18})(?=\||$)")
"""The span of a word, in MISC."""
_COLUMNS = ("forms", "lemmas", "upos", "xpos", "feats", "heads", "deprels", "deps", "misc")
_columns_of = attrgetter(*_COLUMNS)
_ALWAYS_IN_JSON = ("id", "first", "last", "form", "head", "deprel")


def split_features(feats: str) -> dict[str, str]:
    """Return FEATS as a dictionary; a feature without `=` maps to the empty string."""
    if feats == "_":
        return {}
    pairs = (part.partition("=") for part in feats.split("|"))
    return {name: value for name, _, value in pairs}


class Word(NamedTuple):
    """One syntactic word: its line, with ID and HEAD as numbers (head -1: unknown).

    `start` and `end` are its span in the text, in characters; None if unknown.
    """

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    deps: str
    misc: str
    start: int | None = None
    end: int | None = None

    @property
    def features(self) -> dict[str, str]:
        """FEATS as a dictionary; a feature without `=` maps to the empty string."""
        return split_features(self.feats)


class MultiwordToken(NamedTuple):
    """A surface token of the words `first` to `last`, e.g. `du` for `de le`."""

    first: int
    last: int
    fields: tuple[str, ...]  # the nine columns after ID

    @property
    def id(self) -> str:
        """The range as in the file: `3-4`."""
        return f"{self.first}-{self.last}"

    @property
    def form(self) -> str:
        return self.fields[0]

    @property
    def misc(self) -> str:
        return self.fields[8]


class EmptyNode(NamedTuple):
    """The `number`-th node without a surface form after word `word`, for enhanced dependencies."""

    word: int
    number: int
    fields: tuple[str, ...]  # the nine columns after ID

    @property
    def id(self) -> str:
        """The number as in the file: `5.1`."""
        return f"{self.word}.{self.number}"

    @property
    def form(self) -> str:
        return self.fields[0]

    @property
    def deps(self) -> str:
        return self.fields[7]


class Origin(NamedTuple):
    """The place and layout of a sentence in its file; `==` of sentences ignores it."""

    source: str = "<text>"
    line: int | None = None
    newline: str = "\n"
    blank_lines_before: int = 0  # at the start of a file
    blank_lines_after: int = 1
    final_newline: bool = True
    byte_order_mark: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """n words by column, with the comments, multiword tokens and empty nodes around them.

    Each column is a tuple of length n. `heads[i]` is the head of word i + 1; 0 is the root, -1 is unknown.
    Iterating gives `Word`s; `sentence[0]` is the first. `spans` locates the words in their text; None: as
    `TokenRange` in MISC says.
    """

    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    deps: tuple[str, ...]
    misc: tuple[str, ...]
    comments: tuple[str, ...] = ()
    multiword_tokens: tuple[MultiwordToken, ...] = ()
    empty_nodes: tuple[EmptyNode, ...] = ()
    origin: Origin = field(default=Origin(), compare=False, repr=False)
    spans: tuple[Span, ...] | None = field(default=None, compare=False, repr=False)
    _tree: Tree | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        lengths = list(map(len, self.columns()))
        if lengths.count(lengths[0]) != len(lengths):
            raise InputError(f"expected equal lengths, got {lengths}", field="columns")
        if self.spans is not None and len(self.spans) != lengths[0]:
            raise InputError(f"spans: expected {lengths[0]}, one per word, got {len(self.spans)}")

    def columns(self) -> tuple[tuple[Any, ...], ...]:
        """Return the nine columns after ID, in the order of a file."""
        return _columns_of(self)

    @classmethod
    def from_lists(
        cls,
        forms: Sequence[str],
        upos: Sequence[str | None] | None = None,
        heads: Sequence[int | None] | None = None,
        deprels: Sequence[str | None] | None = None,
        *,
        lemmas: Sequence[str | None] | None = None,
        xpos: Sequence[str | None] | None = None,
        feats: Sequence[str | None] | None = None,
        deps: Sequence[str | None] | None = None,
        misc: Sequence[str | None] | None = None,
        comments: Sequence[str] = (),
    ) -> Sentence:
        """Make a sentence from plain lists, one entry per word; None (an entry or a list) is `_`.

        Raises InputError for sentences that no CoNLL file can hold: no words, invalid texts, heads that form
        no tree. O(n).
        """
        n = len(forms)
        given: dict[str, Sequence[str | None] | None] = {"forms": forms, "lemmas": lemmas, "upos": upos}
        given |= {"xpos": xpos, "feats": feats, "deprels": deprels, "deps": deps, "misc": misc}
        texts: dict[str, Any] = {name: _checked_texts(name, each, n) for name, each in given.items()}
        marked = [comment if comment.startswith("#") else f"# {comment}" for comment in comments]
        lines = _checked_texts("comments", marked, len(marked))
        if n == 0:
            raise InputError("forms: expected at least one word, got none")
        return cls(heads=_checked_heads(heads, n), comments=lines, **texts)

    def to_lists(self) -> dict[str, list[Any]]:
        """Return the columns as plain lists under the names `from_lists` takes."""
        return {name: list(getattr(self, name)) for name in (*_COLUMNS, "comments")}

    # `conllu` and `pyconll` are reached through CoNLL-U text, the only input and output that both document.

    def to_token_list(self) -> conllu.TokenList:
        """Convert to a `conllu.TokenList`; needs `pip install conllu`. O(n).

        Comments become that package's `metadata`, which holds one value per key.
        """
        conllu = import_package("conllu", "pip install conllu")
        try:
            keep_all = {"__fallback__": lambda key, value: (key, value)}
            return conllu.parse(self.to_conllu(), metadata_parsers=keep_all)[0]
        except conllu.exceptions.ParseException as error:
            raise InputError(f"sentence: the conllu package cannot hold it: {error}") from error

    @staticmethod
    def from_token_list(tokens: conllu.TokenList) -> Sentence:
        """Convert a `conllu.TokenList`; DataError if it is not valid CoNLL-U. O(n)."""
        try:
            text = tokens.serialize()
        except (AttributeError, TypeError) as error:
            raise InputError(f"tokens: expected a conllu.TokenList with plain values, {error}") from error
        return _parse(text)

    def to_pyconll(self) -> PyconllSentence:
        """Convert to a `pyconll.unit.sentence.Sentence`; needs `pip install pyconll`. O(n).

        Comments become that package's metadata, which holds one value per key.
        """
        pyconll = import_package("pyconll", "pip install 'pyconll>=3'")
        try:
            return pyconll.load_from_string(self.to_conllu())[0]
        except (pyconll.exception.FormatError, pyconll.exception.ParseError) as error:
            raise InputError(f"sentence: the pyconll package cannot hold it: {error}") from error

    @staticmethod
    def from_pyconll(sentence: PyconllSentence) -> Sentence:
        """Convert a `pyconll` sentence; DataError if it is not valid CoNLL-U. O(n)."""
        try:
            text: str = sentence.conll()
        except Exception as error:  # its FormatError, or anything if it is no such object
            raise InputError(f"sentence: expected a pyconll Sentence that it can write, {error}") from error
        return _parse(text + "\n\n")

    def to_displacy(
        self, *, lemmas: bool = False, head_probabilities: Sequence[float | None] | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Convert for `spacy.displacy.render(..., manual=True)`; DataError if a head is unknown. O(n).

        `head_probabilities` are appended to the labels. Words are counted from 0.
        """
        words: list[dict[str, Any]] = []
        arcs: list[dict[str, Any]] = []
        for word, head in zip(self, self.tree.heads[1:].tolist(), strict=True):
            lemma, tag, label = ("" if text == "_" else text for text in (word.lemma, word.upos, word.deprel))
            words.append({"text": word.form, "tag": tag, **({"lemma": lemma or None} if lemmas else {})})
            if head == 0:
                continue  # displaCy draws no arc from the root
            share = None if head_probabilities is None else head_probabilities[word.id - 1]
            if share is not None:
                label = f"{label} {share:.2f}".strip()
            start, end = sorted((word.id - 1, head - 1))
            direction = "left" if word.id < head else "right"  # of the arrow
            arcs.append({"start": start, "end": end, "label": label, "dir": direction})
        return {"words": words, "arcs": arcs}

    def to_json(
        self, *, words: Iterable[Any] | None = None, about: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Convert to plain values: `text`, `comments`, `multiword_tokens` if there are some, `words`.

        Columns with `_` are left out. A known span is `start` and `end`, in characters, instead of
        `TokenRange` in MISC. `words` replaces the words by some with more fields; `about` adds fields.
        """
        shown = [_json_fields(word._asdict()) for word in (self if words is None else words)]
        result = {"text": self.text, "comments": list(self.comments), **(about or {})}
        if self.multiword_tokens:
            result["multiword_tokens"] = [_json_token(token, shown) for token in self.multiword_tokens]
        return {**result, "words": shown}

    def __len__(self) -> int:
        return len(self.forms)

    def __iter__(self) -> Iterator[Word]:
        spans = self.spans if self.spans is not None else map(_span_in, self.misc)
        rows = zip(range(1, len(self) + 1), *self.columns(), spans, strict=True)
        return (Word._make((*row, *span)) for *row, span in rows)

    def __getitem__(self, index: int) -> Word:
        position = range(len(self))[index]
        span = self.spans[position] if self.spans is not None else _span_in(self.misc[position])
        return Word._make((position + 1, *(column[position] for column in self.columns()), *span))

    @property
    def tree(self) -> Tree:
        """Heads and labels as a Tree, built once. DataError if a head is unknown."""
        if self._tree is None:
            if NO_HEAD in self.heads:
                word = self.heads.index(NO_HEAD) + 1
                what = f"word {word} has no head: expected a head for each word, got _"
                raise DataError(what, source=self.origin.source, line=self.origin.line)
            object.__setattr__(self, "_tree", Tree.from_heads(self.heads, labels=self.deprels))
        assert self._tree is not None
        return self._tree

    def with_tree(self, tree: Tree) -> Sentence:
        """Return a copy with the heads and, if it has some, the labels of `tree`."""
        if len(tree) != len(self):
            raise InputError(f"tree: expected {len(self)} words, got {len(tree)}")
        labels = self.deprels if tree.labels is None else tree.labels
        return replace(self, heads=tuple(tree.heads[1:].tolist()), deprels=labels)

    @property
    def metadata(self) -> dict[str, str]:
        """Comments of the form `# key = value`; one without `=` maps to the empty string."""
        pairs = (comment[1:].partition("=") for comment in self.comments)
        return {key.strip(): value.strip() for key, _, value in pairs}

    @property
    def text(self) -> str:
        """The `# text` comment; without one, the surface tokens with their spaces."""
        given = self.metadata.get("text")
        if given is not None:
            return given
        covered = {token.first: token for token in self.multiword_tokens}
        parts, shown_to = [], 0
        for word in self:
            if word.id <= shown_to:
                continue
            token = covered.get(word.id, word)
            shown_to = token.last if isinstance(token, MultiwordToken) else word.id
            parts.append(token.form if "SpaceAfter=No" in token.misc.split("|") else token.form + " ")
        return "".join(parts).rstrip(" ")

    def other_lines(self) -> list[str]:
        """Return the lines that are not words: comments, empty nodes, multiword tokens."""
        return [*self.comments, *map(_line, self.empty_nodes), *map(_line, self.multiword_tokens)]

    def lines(self) -> list[str]:
        """Return the lines of the file, without line endings or the blank line after them. O(length)."""
        heads = ("_" if head == NO_HEAD else str(head) for head in self.heads)
        before_head, after_head = self.columns()[:5], self.columns()[6:]
        rows = zip(map(str, range(1, len(self) + 1)), *before_head, heads, *after_head, strict=True)
        extras: dict[int, list[str]] = {}  # by the word that they precede
        for node in self.empty_nodes:
            extras.setdefault(node.word + 1, []).append(_line(node))
        for token in self.multiword_tokens:
            extras.setdefault(token.first, []).append(_line(token))
        lines = [*self.comments]
        for number, row in enumerate(rows, start=1):
            lines += extras.get(number, ())
            lines.append("\t".join(row))
        return lines + extras.get(len(self) + 1, [])

    def to_conllu(self) -> str:
        """Return the sentence as text in the standard layout: LF, one blank line at the end."""
        return "\n".join(self.lines()) + "\n\n"


def _parse(text: str) -> Sentence:
    from arbora.data.columns import parse_sentence  # which imports Sentence

    return parse_sentence(text)


def _line(extra: MultiwordToken | EmptyNode) -> str:
    return "\t".join((extra.id, *extra.fields))


def _span_in(misc: str) -> Span | tuple[None, None]:
    match = _TOKEN_RANGE.search(misc) if "TokenRange=" in misc else None
    return (None, None) if match is None else (int(match[1]), int(match[2]))


def _json_token(token: MultiwordToken, words: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    start, end = _span_in(token.misc)
    if start is None:
        start, end = words[token.first - 1].get("start"), words[token.last - 1].get("end")
    fields = {"first": token.first, "last": token.last, "form": token.form, "misc": token.misc}
    return _json_fields({**fields, "start": start, "end": end})


def _json_fields(fields: dict[str, Any]) -> dict[str, Any]:
    if fields["start"] is not None:
        fields["misc"] = _TOKEN_RANGE.sub("", fields["misc"]).removeprefix("|") or "_"
    return {
        name: value for name, value in fields.items() if name in _ALWAYS_IN_JSON or value not in ("_", None)
    }


def _checked_texts(name: str, values: Sequence[str | None] | None, n: int) -> tuple[str, ...]:
    texts = ("_",) * n if values is None else tuple("_" if value is None else value for value in values)
    if len(texts) != n:
        raise InputError(f"{name}: expected {n} entries, one per word, got {len(texts)}")
    as_utf8(name, "".join(texts))
    for text in texts:
        if not text or "\t" in text or "\n" in text or "\r" in text:
            expected = "texts that are not empty, without tab or line break"
            raise InputError(f"{name}: expected {expected}; got {text!r}")
    return texts


def _checked_heads(heads: Sequence[int | None] | None, n: int) -> tuple[int, ...]:
    if heads is None:
        return (NO_HEAD,) * n
    known = tuple(NO_HEAD if head is None else int(head) for head in heads)
    if len(known) != n:
        raise InputError(f"heads: expected {n} entries, one per word, got {len(known)}")
    # With the root as head of all others, a cycle among the known heads is still found.
    Tree.from_heads([0 if head == NO_HEAD else head for head in known])
    return known


def unparsed(given: Any) -> Any:
    """The sentence that a parsed one holds (`arbora.parsing.parsed.Parsed`); anything else as it is."""
    return getattr(given, "sentence", given)
