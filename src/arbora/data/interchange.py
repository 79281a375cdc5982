"""To and from the `conllu` package, for those who have code on its objects.

Both ways go through CoNLL-U text, so that each package reads only what it documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arbora.data import conllu as own_format
from arbora.errors import InputError

if TYPE_CHECKING:
    import conllu

    from arbora.data.sentence import Sentence


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
