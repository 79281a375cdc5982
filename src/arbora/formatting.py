"""Scores and numbers as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def show_scores(scores: Mapping[str, float]) -> str:
    """`LAS 85.10, UAS 88.02`."""
    return ", ".join(f"{name.upper()} {value:.2f}" for name, value in scores.items())


def describe(array: NDArray[Any] | None) -> str:
    """`float32 of shape (3, 4)`; `none` without an array."""
    return "none" if array is None else f"{array.dtype} of shape {array.shape}"


def counted(number: int, noun: str, several: str | None = None) -> str:
    """`1 sentence`, `2 sentences`; `several`: more than one, where that is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
