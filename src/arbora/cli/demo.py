"""`arbora demo`: decode and draw a small built-in example."""

from __future__ import annotations


def demo() -> None:
    """Decode a small built-in example and draw its tree."""
    print("Arbora")
