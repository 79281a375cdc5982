"""To and from the objects of other packages, for those who have code on them.

The `conllu` and `pyconll` packages are reached through CoNLL-U text both ways, so that each reads only what
it documents; displaCy draws plain dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arbora.data import conllu as own_format
from arbora.data.sentence import TOKEN_RANGE, span_in
from arbora.errors import InputError

if TYPE_CHECKING:
    import conllu
    from pyconll.unit.sentence import Sentence as PyconllSentence

    from arbora.data.sentence import MultiwordToken, Sentence

ALWAYS_TOLD = ("id", "first", "last", "form", "head", "deprel")


def to_json(
    sentence: Sentence, *, words: Iterable[Any] | None = None, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A sentence as JSON can hold it: `text`, `comments`, `multiword_tokens` if there are some, `words`.

    Columns with `_` are left out. Where it is known, words and multiword tokens have `start` and `end`, in
    characters of the text; MISC then does not say it once more. `words` are those of the sentence with more
    fields, `about` is what else there is to say about it.
    """
    told = [_fields(word._asdict()) for word in (sentence if words is None else words)]
    tokens = [_fields(_token(token, told)) for token in sentence.multiword_tokens]
    known = {"text": sentence.text, "comments": list(sentence.comments), **(about or {})}
    return {**known, **({"multiword_tokens": tokens} if tokens else {}), "words": told}


def _token(token: MultiwordToken, words: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """It stands where its words do, unless it says so itself."""
    start, end = span_in(token.misc)
    if start is None:
        start, end = words[token.first - 1].get("start"), words[token.last - 1].get("end")
    known = {"first": token.first, "last": token.last, "form": token.form, "misc": token.misc}
    return {**known, "start": start, "end": end}


def _fields(of_word: dict[str, Any]) -> dict[str, Any]:
    """What is known of a word or token; some columns always are there, even if as `_`."""
    if of_word["start"] is not None:
        kept = TOKEN_RANGE.sub("", of_word["misc"]).removeprefix("|")
        of_word = {**of_word, "misc": kept or "_"}
    return {name: value for name, value in of_word.items() if name in ALWAYS_TOLD or value not in ("_", None)}


def to_token_list(sentence: Sentence) -> conllu.TokenList:
    """`sentence` as a `conllu.TokenList`; needs `pip install conllu`. O(n).

    Comments become that package's `metadata`, which holds one value per key.
    """
    try:
        import conllu
    except ImportError as error:
        raise InputError("the conllu package is not installed: pip install conllu") from error
    try:
        keep_all = {"__fallback__": lambda key, value: (key, value)}
        return conllu.parse(sentence.to_conllu(), metadata_parsers=keep_all)[0]
    except conllu.exceptions.ParseException as error:
        raise InputError(f"sentence: the conllu package cannot hold it: {error}") from error


def from_token_list(tokens: conllu.TokenList) -> Sentence:
    """Sentence from a `conllu.TokenList`. DataError if it is no sound CoNLL-U. O(n)."""
    try:
        text = tokens.serialize()
    except (AttributeError, TypeError) as error:
        raise InputError(f"tokens: expected a conllu.TokenList with plain values, {error}") from error
    return own_format.parse(text)


def to_pyconll(sentence: Sentence) -> PyconllSentence:
    """`sentence` as a `pyconll.unit.sentence.Sentence`; needs `pip install pyconll`. O(n).

    Comments become that package's metadata, which holds one value per key.
    """
    try:
        import pyconll
        from pyconll.exception import FormatError, ParseError
    except ImportError as error:
        raise InputError("the pyconll package is not installed: pip install 'pyconll>=3'") from error
    try:
        (found,) = pyconll.load_from_string(sentence.to_conllu())
    except (FormatError, ParseError) as error:
        raise InputError(f"sentence: the pyconll package cannot hold it: {error}") from error
    return found


def from_pyconll(sentence: PyconllSentence) -> Sentence:
    """Sentence from a `pyconll` sentence. DataError if it is no sound CoNLL-U. O(n)."""
    try:
        text: str = sentence.conll()
    except Exception as error:  # its FormatError, or anything where it is no such object
        raise InputError(f"sentence: expected a pyconll Sentence that it can write, {error}") from error
    return own_format.parse(text + "\n\n")


def to_displacy(
    sentence: Sentence, *, lemmas: bool = False, head_probabilities: Sequence[float] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """What `spacy.displacy.render(..., manual=True)` draws: words with tags, arcs with labels. O(n).

    `head_probabilities` are written behind the labels. DataError if a word has no head.
    """
    words: list[dict[str, Any]] = []
    arcs: list[dict[str, Any]] = []
    heads = sentence.tree.heads[1:].tolist()
    for word, head in zip(sentence, heads, strict=True):
        shown: dict[str, Any] = {"text": word.form, "tag": "" if word.upos == "_" else word.upos}
        if lemmas:
            shown["lemma"] = None if word.lemma == "_" else word.lemma
        words.append(shown)
        if head == 0:
            continue  # displaCy draws no arc from the root
        label = "" if word.deprel == "_" else word.deprel
        if head_probabilities is not None:
            label = f"{label} {head_probabilities[word.id - 1]:.2f}".strip()
        # Words are counted from 0 here; `dir` is where the arrow points.
        start, end = sorted((word.id - 1, head - 1))
        arcs.append(
            {"start": start, "end": end, "label": label, "dir": "left" if word.id < head else "right"}
        )
    return {"words": words, "arcs": arcs}
