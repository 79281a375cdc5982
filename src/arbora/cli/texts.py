"""Scores and times as people read them."""

from __future__ import annotations

from arbora.formatting import show_scores as show_scores


def show_loss(loss: float) -> str:
    """A number of mistakes, `1,204`, or a mean, `0.0312`."""
    return f"{loss:,.0f}" if loss >= 1 or loss == 0 else f"{loss:.2g}"


def show_seconds(seconds: float) -> str:
    """`4.2 s`, `3:05 min`, `1:02:03 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"
