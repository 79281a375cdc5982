"""The types of edits in the annotation API, distinguished by `do`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

WordNumber = Annotated[int, Meta(ge=1, lt=10**6, description="The number of a word.")]
Node = Annotated[int, Meta(ge=0, lt=10**6, description="The number of a word; 0 is the root.")]
Text = Annotated[str, Meta(max_length=1000)]


class Object(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object with exactly these fields."""


class Edit(Object, tag_field="do"):
    """One change of a sentence."""


class SetHead(Edit, tag="head"):
    """Decide a head, and a label if it is given. `release`: contradicting decisions become the parser's."""

    word: WordNumber
    head: Node
    deprel: Text | None = None
    release: bool = False


class SetLabel(Edit, tag="label"):
    """Decide a label, and with it the head."""

    word: WordNumber
    deprel: Text


class Confirm(Edit, tag="confirm"):
    """Decide that heads and labels are right as they are; no words: all."""

    words: Annotated[list[WordNumber], Meta(max_length=10_000)]


class Forget(Edit, tag="forget"):
    """Let the parser change heads and labels again; no words: all."""

    words: Annotated[list[WordNumber], Meta(max_length=10_000)]


class SetTags(Edit, tag="tags"):
    """Decide tags or the lemma; null: as it is."""

    word: WordNumber
    upos: Text | None = None
    xpos: Text | None = None
    feats: Text | None = None
    lemma: Text | None = None


class SetForm(Edit, tag="form"):
    """Correct the form of a word."""

    word: WordNumber
    form: Text


class SetSpace(Edit, tag="space"):
    """Say whether a space follows a word, or the multiword token that ends with it."""

    word: WordNumber
    after: bool


class SplitWord(Edit, tag="split_word"):
    """Split a word; `token`: a multiword token with the old form covers the new words."""

    word: WordNumber
    forms: Annotated[list[Text], Meta(min_length=2, max_length=20)]
    token: bool = False


class JoinWords(Edit, tag="join_words"):
    """Join neighbouring words to one."""

    first: WordNumber
    last: WordNumber
    form: Text | None = None


class MakeToken(Edit, tag="make_token"):
    """Cover words with a multiword token."""

    first: WordNumber
    last: WordNumber
    form: Text | None = None


class EditToken(Edit, tag="edit_token"):
    """Correct the form of the multiword token that begins with a word."""

    first: WordNumber
    form: Text


class RemoveToken(Edit, tag="remove_token"):
    """Remove the multiword token that begins with a word; its words stay."""

    first: WordNumber


class SplitSentence(Edit, tag="split_sentence"):
    """Split a sentence after a word."""

    word: WordNumber


class JoinSentences(Edit, tag="join_sentences"):
    """Join the next sentence to this one."""


class SetState(Edit, tag="state"):
    """Say that all is right (done), or that it is not (touched)."""

    state: Literal["done", "touched"]


AnyEdit: TypeAlias = (
    SetHead
    | SetLabel
    | Confirm
    | Forget
    | SetTags
    | SetForm
    | SetSpace
    | SplitWord
    | JoinWords
    | MakeToken
    | EditToken
    | RemoveToken
    | SplitSentence
    | JoinSentences
    | SetState
)
