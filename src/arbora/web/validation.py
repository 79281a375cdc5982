"""Messages about malformed requests that list what is allowed: values of enumerations, or names of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import inspect

_MESSAGE = re.compile(
    r"(?P<what>Invalid(?: enum)? value|Object contains unknown field) (?P<got>.*?)(?: - at `\$(?P<path>.*)`)?"
)
_STEP = re.compile(r"\.([^.\[]+)|\[")
MOST = 300
"""Characters of a message of the library."""


def explain(error: msgspec.ValidationError, kind: type) -> str:
    """The message of an error in the JSON of a type, with the values or fields that are allowed there."""
    found = _MESSAGE.fullmatch(str(error))
    if found is None:
        return str(error)[:MOST]
    path = found["path"] or ""
    is_field = found["what"].endswith("field")
    allowed = [*dict.fromkeys(_fields(kind, path) if is_field else _values(kind, path))]
    if not allowed:
        return str(error)[:MOST]
    place = f"{path.lstrip('.')}: " if path else ""
    got = found["got"][:MOST]
    expected = f"expected {'one of ' if len(allowed) > 1 else ''}{', '.join(allowed)}"
    return f"{place}unknown field {got}; {expected}" if is_field else f"{place}{expected}, got {got}"


def _values(kind: type, path: str) -> Iterator[str]:
    """The values of the enumerations at a place; or, for the field that tells objects apart, its values."""
    parent, _, name = path.rpartition(".")
    for each in _types_at(kind, parent):
        if isinstance(each, inspect.StructType) and each.tag_field == name:
            yield str(each.tag)
    for each in _types_at(kind, path):
        if isinstance(each, inspect.LiteralType):
            yield from map(str, each.values)


def _fields(kind: type, path: str) -> list[str]:
    """The fields of the object at a place; none where it can be of several types."""
    objects = [each for each in _types_at(kind, path) if isinstance(each, inspect.StructType)]
    return [field.encode_name for field in objects[0].fields] if len(objects) == 1 else []


def _types_at(kind: type, path: str) -> list[inspect.Type]:
    """The types that a value can have at a place such as `.states[0]`."""
    types = list(_alternatives(inspect.type_info(kind)))
    for step in _STEP.finditer(path):
        inside = (each for type_ in types for each in _inside(type_, step[1]))
        types = [each for type_ in inside for each in _alternatives(type_)]
    return types


def _alternatives(type_: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(type_, inspect.Metadata):
        yield from _alternatives(type_.type)
    elif isinstance(type_, inspect.UnionType):
        for each in type_.types:
            yield from _alternatives(each)
    else:
        yield type_


def _inside(type_: inspect.Type, name: str | None) -> Iterator[inspect.Type]:
    """The type of a field, or without a name that of the items of a list."""
    if isinstance(type_, inspect.StructType) and name is not None:
        yield from (field.type for field in type_.fields if field.encode_name == name)
    elif isinstance(type_, inspect.ListType) and name is None:
        yield type_.item_type
