"""Conversion to and from the objects of other packages, as methods of `Sentence`.

`conllu` and `pyconll` are reached through CoNLL-U text, the only input and output that both document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arbora.errors import InputError

if TYPE_CHECKING:
    import conllu
    from pyconll.unit.sentence import Sentence as PyconllSentence

    from arbora.data.sentence import Sentence


def to_token_list(sentence: Sentence) -> conllu.TokenList:
    """Convert to a `conllu.TokenList`; needs `pip install conllu`. O(n).

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
    """Convert a `conllu.TokenList`; DataError if it is not valid CoNLL-U. O(n)."""
    try:
        text = tokens.serialize()
    except (AttributeError, TypeError) as error:
        raise InputError(f"tokens: expected a conllu.TokenList with plain values, {error}") from error
    return _parse(text)


def to_pyconll(sentence: Sentence) -> PyconllSentence:
    """Convert to a `pyconll.unit.sentence.Sentence`; needs `pip install pyconll`. O(n).

    Comments become that package's metadata, which holds one value per key.
    """
    try:
        import pyconll
        from pyconll.exception import FormatError, ParseError
    except ImportError as error:
        raise InputError("the pyconll package is not installed: pip install 'pyconll>=3'") from error
    try:
        return pyconll.load_from_string(sentence.to_conllu())[0]
    except (FormatError, ParseError) as error:
        raise InputError(f"sentence: the pyconll package cannot hold it: {error}") from error


def from_pyconll(sentence: PyconllSentence) -> Sentence:
    """Convert a `pyconll` sentence; DataError if it is not valid CoNLL-U. O(n)."""
    try:
        text: str = sentence.conll()
    except Exception as error:  # its FormatError, or anything if it is no such object
        raise InputError(f"sentence: expected a pyconll Sentence that it can write, {error}") from error
    return _parse(text + "\n\n")


def _parse(text: str) -> Sentence:
    from arbora.data.columns import parse_sentence  # which imports Sentence

    return parse_sentence(text)


def to_displacy(
    sentence: Sentence, *, lemmas: bool = False, head_probabilities: Sequence[float | None] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Convert for `spacy.displacy.render(..., manual=True)`; DataError if a head is unknown. O(n).

    `head_probabilities` are appended to the labels. Words are counted from 0.
    """
    words: list[dict[str, Any]] = []
    arcs: list[dict[str, Any]] = []
    for word, head in zip(sentence, sentence.tree.heads[1:].tolist(), strict=True):
        shown: dict[str, Any] = {"text": word.form, "tag": "" if word.upos == "_" else word.upos}
        if lemmas:
            shown["lemma"] = None if word.lemma == "_" else word.lemma
        words.append(shown)
        if head == 0:
            continue  # displaCy draws no arc from the root
        label = "" if word.deprel == "_" else word.deprel
        share = None if head_probabilities is None else head_probabilities[word.id - 1]
        if share is not None:
            label = f"{label} {share:.2f}".strip()
        start, end = sorted((word.id - 1, head - 1))
        direction = "left" if word.id < head else "right"  # of the arrow
        arcs.append({"start": start, "end": end, "label": label, "dir": direction})
    return {"words": words, "arcs": arcs}
