"""Parameters of learners: declared once, with range and help, and checked when a learner is made.

A learner is a frozen dataclass whose fields are made by `parameter`. The same declaration serves the
constructor, `arbora info learner NAME`, and values given as text on a command line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from typing import Any, ClassVar, TypeAlias, cast

from arbora.errors import InputError, unknown
from arbora.interfaces import Parameter

Value: TypeAlias = int | float | str


def parameter(default: Any, help: str, **declared: Any) -> Any:  # noqa: A002 - what it is called everywhere
    """A dataclass field with its declaration; keywords as in `Parameter`: above, least, most, choices."""
    return field(default=default, metadata={"help": help, **declared})


class Configured:
    """Base of dataclasses with declared parameters: unknown names and values out of range are InputErrors."""

    name: ClassVar[str]

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """Check the names first: a dataclass would only say that an argument was not expected."""
        if arguments:
            raise InputError(f"{cls.name}: parameters are given by name, got {arguments[0]!r}")
        require_known(options, cls)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for declared in self.parameters():
            check(declared, getattr(self, declared.name), self.name)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """All parameters with their ranges, in order."""
        return tuple(
            Parameter(name=declared.name, kind=type(default), default=default, **declared.metadata)
            for declared in fields(cls)  # type: ignore[arg-type]
            for default in [cast("Value", declared.default)]
        )

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, Value]:
        """Values for the constructor from `NAME=VALUE` pairs of a command line; checked."""
        require_known(texts, cls)
        return {
            declared.name: parsed(declared, texts[declared.name], cls.name)
            for declared in cls.parameters()
            if declared.name in texts
        }

    def settings(self) -> dict[str, Value]:
        """All parameters with their values, as a config file can hold them."""
        return {declared.name: getattr(self, declared.name) for declared in self.parameters()}


def check(declared: Parameter, value: object, owner: str) -> None:
    """InputError unless the value has the right type and lies in the range."""
    accepted = (int, float) if declared.kind is float else declared.kind
    # A bool is an int to Python, but not to the one who wrote `epochs=True`.
    if isinstance(value, accepted) and not isinstance(value, bool) and holds(declared, value):
        return
    raise InputError(f"{owner}: {declared.name} must be {wanted(declared)}, got {value!r}")


def holds(declared: Parameter, value: Any) -> bool:
    """Whether a value of the right type lies in the range."""
    if declared.choices:
        return value in declared.choices
    return (
        not math.isnan(value)
        and (declared.above is None or value > declared.above)
        and (declared.least is None or value >= declared.least)
        and (declared.most is None or value <= declared.most)
    )


def parsed(declared: Parameter, text: str, owner: str) -> Value:
    """A value from a command line."""
    try:
        value = declared.kind(text)
    except ValueError:
        raise InputError(f"{owner}: {declared.name} must be {wanted(declared)}, got {text!r}") from None
    check(declared, value, owner)
    return value


def wanted(declared: Parameter) -> str:
    """The range, as a message says it."""
    return f"one of {', '.join(declared.choices)}" if declared.choices else f"a {declared.range}"


def require_known(names: Iterable[str], configured: type[Configured]) -> None:
    """InputError with the nearest name for the first that is none of the parameters."""
    known = [declared.name for declared in configured.parameters()]
    for name in names:
        if name not in known:
            raise InputError(unknown(f"parameter of {configured.name}", name, known))
