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
    """`sentence` as a `conllu.TokenList`; needs `pip install conllu`. O(n)."""
    try:
        import conllu
    except ImportError as error:
        raise InputError("the conllu package is not installed: pip install conllu") from error
    return conllu.parse(sentence.to_conllu())[0]


def from_token_list(tokens: conllu.TokenList) -> Sentence:
    """Sentence from a `conllu.TokenList`. DataError if it is no sound CoNLL-U. O(n)."""
    return own_format.parse(tokens.serialize())
