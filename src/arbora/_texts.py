"""Scores as people read them."""

from __future__ import annotations

from collections.abc import Mapping


def show_scores(scores: Mapping[str, float]) -> str:
    """`LAS 85.10, UAS 88.02`."""
    return ", ".join(f"{name.upper()} {value:.2f}" for name, value in scores.items())
