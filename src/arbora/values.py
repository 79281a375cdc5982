"""Values of annotated types: read from TOML, JSON or text, and described in messages.

Types are bool, int, float, str, enumerations of strings, Literal, unions, tuple, list and dict with string
keys. TOML has no null, so `"none"` replaces it if a value may be None. Numbers are finite, as in JSON.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

NONE = "none"
WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text", NoneType: NONE}
TRUTH = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class MismatchError(ValueError):
    """A value does not fit its type; the message says what was expected."""


def shown(value: object) -> str:
    """A value in a message: at most 80 characters."""
    text = repr(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def members(kind: Any) -> tuple[Any, ...]:
    """The members of a union, None first, or the type itself."""
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(sorted(get_args(kind), key=lambda member: member is not NoneType))


def described(kind: Any, words: Mapping[Any, str] = WORDS) -> str:
    """A type in messages; `words` are the names of simple types, where they differ."""
    origin, arguments = get_origin(kind), get_args(kind)
    if len(members(kind)) > 1:
        return " or ".join(described(member, words) for member in arguments)
    if known := known_values(kind):
        return f"one of {', '.join(map(repr, known))}" if len(known) > 1 else repr(*known)
    if origin is list or Ellipsis in arguments:
        return f"a list, each item {described(arguments[0])}"
    if origin is tuple:
        return f"a list of {len(arguments)} values: {', '.join(map(described, arguments))}"
    if origin is dict or dataclasses.is_dataclass(kind):
        return "a table"
    return words.get(kind) or WORDS.get(kind, str(kind))


def known_values(kind: Any) -> tuple[Any, ...]:
    """The values of a Literal or an enumeration; none for other types."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    return get_args(kind) if get_origin(kind) is Literal else ()


def is_one_of(value: Any, known: tuple[Any, ...]) -> bool:
    """Whether a value is known; True is not 1."""
    return any(value == each and type(value) is type(each) for each in known)


def convert(value: Any, kind: Any, *, is_text: bool = False) -> Any:
    """The value as the first member of a union that takes it; MismatchError if none does."""
    for member in members(kind):
        with suppress(ValueError):
            return _as_member(from_text(value.strip(), member) if is_text else value, member)
    raise MismatchError(described(kind))


def _as_member(value: Any, kind: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return copy.deepcopy(value)
    if kind is NoneType and (value is None or value == NONE):
        return None
    if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    if kind in (bool, int, str) and type(value) is kind:
        return value
    if is_one_of(value, known_values(kind)):
        return value if origin is Literal else kind(value)
    if origin in (list, tuple) and isinstance(value, list | tuple):
        return origin(map(convert, value, _item_kinds(arguments, len(value))))
    if origin is dict and isinstance(value, Mapping):
        return {name: convert(item, arguments[1]) for name, item in value.items()}
    raise MismatchError(described(kind))


def _item_kinds(arguments: tuple[Any, ...], count: int) -> list[Any]:
    if len(arguments) == 1 or Ellipsis in arguments:
        return [arguments[0]] * count
    if len(arguments) != count:
        raise MismatchError(f"{len(arguments)} values")
    return list(arguments)


def from_text(text: str, kind: Any) -> Any:
    """The value as in a TOML file; ValueError if TOML cannot hold it."""
    origin = get_origin(kind)
    if kind is bool:
        if text.lower() not in TRUTH:
            raise ValueError
        return TRUTH[text.lower()]
    if kind is Any:  # a number or a truth value if it looks like one
        return convert(text, int | float | bool | str, is_text=True)
    if kind in (int, float):
        return kind(text)
    if kind is NoneType:
        return text.lower()
    if known := known_values(kind):
        return next((value for value in known if str(value) == text), text)
    if origin in (list, tuple):
        items = [item for item in text.strip("[]()").split(",") if item.strip()]
        pairs = zip(items, _item_kinds(get_args(kind), len(items)), strict=True)
        return [convert(item, item_kind, is_text=True) for item, item_kind in pairs]
    return text
