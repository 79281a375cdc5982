"""Rich's console as every verb uses it; the one place that knows about NO_COLOR.

Rich takes NO_COLOR (no-color.org) by the letter: it drops colours and still sends codes for bold and the
like. Who sets it wants a terminal without codes, so none are sent.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console  # which takes long to import, and few runs need


def wants_codes() -> bool:
    """Whether a terminal may be sent escape codes: unless NO_COLOR is set to anything but nothing."""
    return not os.environ.get("NO_COLOR")


def draws_bars() -> bool:
    """Whether stderr is a terminal that may be sent escape codes."""
    return sys.stderr is not None and sys.stderr.isatty() and wants_codes()


def make_console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """A console on stdout or stderr that shows text as it is: no numbers or names picked out in colour."""
    from rich.console import Console

    return Console(
        stderr=stderr,
        soft_wrap=soft_wrap,
        highlight=False,
        color_system="auto" if wants_codes() else None,
    )


def silence_help() -> None:
    """Let Typer, which makes consoles of its own for help, send no codes either where none are wanted."""
    if not wants_codes():
        from typer import rich_utils

        rich_utils.COLOR_SYSTEM = None
