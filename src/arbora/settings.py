"""Settings as dataclasses: read from TOML, changed by NAME=VALUE, stored as JSON, written as TOML again.

Any dataclass will do. Its fields are the names that are known, its annotations the types that are checked:
bool, int, float, str, enumerations of strings, Literal, `X | None` and other unions, tuple, list, dict with
names of strings, and dataclasses of these, which are tables in TOML and are named with a dot in NAME=VALUE.
`lambda_` is called `lambda` outside, as every field that ends in `_` since Python has the word for itself.
Ranges are the class's own affair: what its `__post_init__` says with InputError is told with the file's name.
A static method `elsewhere`, where a class has one, says where a name that it does not know belongs.

TOML has no null: `"none"` stands for it, and always means it, where a field may be None. Numbers are finite,
as in JSON. Every fault is an InputError that says where, what was expected, what was found, and which known
name is nearest.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from arbora.errors import InputError, unknown

T = TypeVar("T")
NONE = "none"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text", NoneType: NONE}
_TRUTH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class _MismatchError(Exception):
    """A value that does not fit its type; says what was expected."""


def load_config(path: str | os.PathLike[str], cls: type[T]) -> T:
    """The settings in a TOML file; fields that it does not name keep their defaults.

    InputError where the file is no TOML or does not fit `cls`; OSError where it cannot be read.
    """
    import tomllib  # here, since most who import settings read no file

    source = os.fspath(path)
    try:
        values = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}: expected TOML in UTF-8, got byte {error.object[error.start]:#04x} at {error.start}; "
            "save it as UTF-8"
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        what = str(error) or "nested too deeply"
        raise InputError(
            f"{source}: expected TOML, got something else: {what}; write lines such as `name = value`"
        ) from None
    return from_dict(cls, values, source=source)


def from_dict(cls: type[T], values: Mapping[str, Any], *, source: str = "config") -> T:
    """The inverse of `to_dict`: names and types are checked; `source` begins the messages."""
    result: T = _build(cls, values, source, "")
    return result


def to_dict(config: Any) -> dict[str, Any]:
    """All fields, defaults included, as JSON can say them: dicts, lists, text, numbers, booleans, None."""
    return {name: _plain(getattr(config, field.name)) for name, field in _fields(type(config)).items()}


def merge(config: T, overrides: Mapping[str, str], *, option: str = "-p") -> T:
    """A copy with values given as text, e.g. `{"epochs": "5", "learner.lambda": "0.1"}`.

    A name without a dot may also be that of a field in a table, if only one table has it. Lists are
    written with commas. `option` is what messages put before NAME=VALUE.
    """
    if not overrides:
        return config
    values = to_dict(config)
    for name, text in overrides.items():
        where = f"{option} {name}={text}".strip()
        path, kind, fallback = _find(config, name, where)
        try:
            value = _parsed(text, kind)
        except _MismatchError as error:
            raise InputError(f"{where}: expected {error}, got {text!r}{fallback}") from None
        table = values
        for step in path[:-1]:
            if table.get(step) is None:
                table[step] = {}
            table = table[step]
        table[path[-1]] = _plain(value)
    given = " ".join(f"{option} {name}={text}".strip() for name, text in overrides.items())
    return from_dict(type(config), values, source=given)


def to_toml(config: Any) -> str:
    """TOML text from which `load_config` makes an equal config; defaults are written out, too."""
    return "".join(_toml_table(config, ()))


# ---------------------------------------------------------------- fields and types


def _fields(cls: type[Any]) -> dict[str, Field[Any]]:
    if not dataclasses.is_dataclass(cls):
        raise InputError(f"config: expected a dataclass, got {cls.__name__}")
    return {field.name.rstrip("_"): field for field in dataclasses.fields(cls) if field.init}


def _members(kind: Any) -> tuple[Any, ...]:
    """The members of a union, None first, or the type itself."""
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(sorted(get_args(kind), key=lambda member: member is not NoneType))


def _described(kind: Any) -> str:
    """What messages call a type."""
    if len(_members(kind)) > 1:
        return " or ".join(_described(member) for member in reversed(_members(kind)))
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "one of " + ", ".join(repr(member.value) for member in kind)
    if origin in (list, tuple):
        items = [item for item in arguments if item is not Ellipsis]
        if origin is tuple and Ellipsis not in arguments:
            return f"a list of {len(items)} values: {', '.join(map(_described, items))}"
        return f"a list, each item {_described(items[0])}"
    if origin is dict or dataclasses.is_dataclass(kind):
        return "a table"
    return _WORDS.get(kind, str(kind))


# ---------------------------------------------------------------- reading


def _build(cls: type[Any], values: Mapping[str, Any], source: str, prefix: str, base: Any = None) -> Any:
    """An instance of a dataclass from a table; `prefix` is the table's name with a dot.

    What the table does not name is as in `base`, where there is one: a field may have defaults of its own.
    """
    fields, hints = _fields(cls), get_type_hints(cls)
    arguments = {}
    for name, value in values.items():
        if name not in fields:
            elsewhere = cls.elsewhere(name) if hasattr(cls, "elsewhere") else None
            if elsewhere is not None:
                raise InputError(f"{source}: unknown setting {prefix + name!r}; did you mean {elsewhere}?")
            raise InputError(f"{source}: {unknown('setting', prefix + name, [prefix + n for n in fields])}")
        field = fields[name]
        arguments[field.name] = _converted(value, hints[field.name], source, prefix + name, _default(field))
    missing = [name for name, field in fields.items() if field.name not in arguments and _is_required(field)]
    if missing and base is None:
        raise InputError(f"{source}: expected a value for {prefix}{missing[0]}, got none; add it")
    try:
        return cls(**arguments) if base is None else dataclasses.replace(base, **arguments)
    except InputError as error:
        table = f"{prefix[:-1]}: " if prefix else ""
        raise InputError(f"{source}: {table}{error}") from None


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _default(field: Field[Any]) -> Any:
    """What a field is where it is not given; None where it must be."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _converted(value: Any, kind: Any, source: str, name: str, default: Any = None) -> Any:
    """A TOML or JSON value as its field's type."""
    for member in _members(kind):
        if dataclasses.is_dataclass(member) and isinstance(member, type) and isinstance(value, Mapping):
            base = default if type(default) is member else None
            return _build(member, value, source, f"{name}.", base)
    try:
        return _as(value, kind)
    except _MismatchError as error:
        raise InputError(f"{source}: {name}: expected {error}, got {_shown(value)}") from None


def _shown(value: object) -> str:
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _as(value: Any, kind: Any) -> Any:
    """The value itself, or as the one type of a union that takes it; _MismatchError where none does."""
    for member in _members(kind):
        try:
            return _as_member(value, member)
        except _MismatchError:
            continue
    raise _MismatchError(_described(kind))


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
    if origin is Literal and any(value == known and type(value) is type(known) for known in arguments):
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        for known in kind:
            if value == known.value:
                return known
    if origin in (list, tuple) and isinstance(value, list | tuple):
        kinds = _item_kinds(arguments, len(value))
        return origin(_as(item, item_kind) for item, item_kind in zip(value, kinds, strict=True))
    if origin is dict and isinstance(value, Mapping):
        return {name: _as(item, arguments[1]) for name, item in value.items()}
    raise _MismatchError(_described(kind))


def _item_kinds(arguments: tuple[Any, ...], count: int) -> list[Any]:
    if len(arguments) == 1 or Ellipsis in arguments:
        return [arguments[0]] * count
    if len(arguments) != count:
        raise _MismatchError(f"{len(arguments)} values")
    return list(arguments)


# ---------------------------------------------------------------- NAME=VALUE


def _leaves(cls: type[Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every field by its path, those of tables after the table's own."""
    hints = get_type_hints(cls)
    for name, field in _fields(cls).items():
        kind = hints[field.name]
        tables: list[Any] = [member for member in _members(kind) if dataclasses.is_dataclass(member)]
        if not tables:
            yield (name,), kind
        for table in tables:
            for path, below in _leaves(table):
                yield (name, *path), below


def _find(config: Any, name: str, where: str) -> tuple[tuple[str, ...], Any, str]:
    """Path and type of the field called `name`, and what a message about its value ends with."""
    leaves = dict(_leaves(type(config)))
    path = tuple(name.split("."))
    if path in leaves:
        return path, leaves[path], ""
    if len(path) > 1 and get_origin(leaves.get(path[:1])) is dict:
        return (path[0], ".".join(path[1:])), get_args(leaves[path[:1]])[1], ""
    found = [leaf for leaf in leaves if leaf[-1] == name]
    if len(found) > 1:
        names = " or ".join(".".join(leaf) for leaf in found)
        raise InputError(f"{where}: expected a name that means one setting, got {name!r}; write {names}")
    if not found:
        lasts = [leaf[-1] for leaf in leaves]  # shown where a last part alone would do, too
        known = [
            leaf[-1] if len(path) == 1 and lasts.count(leaf[-1]) == 1 else ".".join(leaf) for leaf in leaves
        ]
        raise InputError(f"{where}: {unknown('setting', name, known)}")
    return found[0], leaves[found[0]], f"; {name} is {'.'.join(found[0])}"


def _parsed(text: str, kind: Any) -> Any:
    """Text as a value of a type; of a union, as the first member that takes it."""
    text = text.strip()
    for member in _members(kind):
        try:
            return _as_member(_from_text(text, member), member)
        except (_MismatchError, ValueError):
            continue
    raise _MismatchError(_described(kind))


def _from_text(text: str, kind: Any) -> Any:
    """What a TOML file would have for it; ValueError where that cannot be."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ValueError
        return _TRUTH[text.lower()]
    if kind is int:
        return int(text)
    if kind is float:
        return float(text)
    if kind is NoneType:
        return text.lower()
    if origin is Literal:
        same = [known for known in arguments if str(known) == text]
        return same[0] if same else text
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((known.value for known in kind if str(known.value) == text), text)
    if origin in (list, tuple):
        items = [item for item in text.strip("[]()").split(",") if item.strip()]
        return [
            _parsed(item, item_kind)
            for item, item_kind in zip(items, _item_kinds(arguments, len(items)), strict=True)
        ]
    return text


# ---------------------------------------------------------------- writing


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_dict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _toml_table(config: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Lines of one table, then those of the tables in it."""
    if path:
        yield f"\n[{'.'.join(map(_toml_key, path))}]\n"
    tables: list[tuple[str, Any]] = []
    for name, field in _fields(type(config)).items():
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            tables.append((name, value))
        elif value is not None or field.default is not None:
            yield f"{_toml_key(name)} = {_toml_value(_plain(value), name)}\n"
    for name, value in tables:
        yield from _toml_table(value, (*path, name))


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml_text(name)


def _toml_value(value: Any, name: str) -> str:
    if value is None:
        return f'"{NONE}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value))
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(item, name) for item in value)}]"
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(key)} = {_toml_value(item, name)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    raise InputError(f"{name}: expected text, a finite number, a boolean, a list or a table, got {value!r}")


def _toml_text(value: str) -> str:
    """A basic string; what may not stand in one as it is becomes an escape."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"expected text that is valid Unicode, got {value!r}") from None
    escape: Callable[[re.Match[str]], str] = lambda match: f"\\u{ord(match[0]):04x}"  # noqa: E731
    return '"' + re.sub(r'["\\\x00-\x1f\x7f]', escape, value) + '"'
