"""The error of an annotation that cannot be made, with a code for programs."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from arbora.errors import ArboraError

Code: TypeAlias = Literal[
    "no_such_sentence",
    "stale",
    "changed_outside",
    "nothing_to_undo",
    "nothing_to_redo",
    "learning",
    "not_learning",
    "exists",
    "no_model",
    "sentence_too_long",
    "bad_request",
    "no_such_word",
    "cycle",
    "two_roots",
    "unfinished",
    "bad_conllu",
    "bad_edit",
    "no_next_sentence",
    "nothing_to_learn",
    "not_saved",
]
CODES: tuple[str, ...] = get_args(Code)


class Refusal(ArboraError):  # noqa: N818 (what it is called in the API)
    """An edit or a question that cannot be answered; `code` is for programs, `str()` for people."""

    def __init__(self, code: Code, message: str) -> None:
        self.code: Code = code
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.code, str(self))
