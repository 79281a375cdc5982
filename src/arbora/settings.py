"""Settings as dataclasses: declared once, read from TOML, changed by NAME=VALUE, stored as JSON.

    @dataclass(frozen=True, kw_only=True)
    class BeamSettings(Settings):
        beam: int = parameter(8, "states kept after each step", least=1, most=10_000)
        update: Literal["early", "standard"] = parameter("early", "when weights are updated")

`Settings` checks types and ranges when an object is made, in code or from text; the command line shows the
same help and ranges. The functions below take any dataclass. Field types are those of `arbora.values`, and
dataclasses of these, which are tables in TOML and have dotted names in NAME=VALUE. A field that ends in `_`,
such as `lambda_`, is called `lambda` outside Python. A static method `elsewhere` may say where an unknown
name belongs.

Every error is an InputError that says where, what was expected, what was given, and the nearest known name.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass
from enum import Enum
from functools import cache
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from arbora.errors import MOST, InputError, UnknownNameError, require_known
from arbora.values import NONE, MismatchError, convert, described, from_text, is_one_of, members, shown

T = TypeVar("T")
MOST_BYTES = 10_000_000  # of a file of settings
_BARE = re.compile(r"[A-Za-z0-9_-]+")


# ---------------------------------------------------------------- declaring


def parameter(default: Any = MISSING, help: str = "", *, factory: Any = MISSING, **declared: Any) -> Any:  # noqa: A002
    """A dataclass field with help and a range: `above`, `least`, `most`, `below`, `choices` of `Parameter`.

    `factory` makes the default where it is mutable.
    """
    return dataclasses.field(default=default, default_factory=factory, metadata={"help": help, **declared})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared setting."""

    name: str
    kind: Any  # Its type: `int`, `float`, `str`, or another of those above
    default: Any = None
    help: str = ""
    above: float | None = None  # The value must be greater than this
    least: float | None = None
    most: float | None = None  # None: `MOST` for whole numbers
    below: float | None = None  # The value must be less than this
    choices: tuple[str, ...] = ()
    attribute: str = ""  # Its name in Python, which may end in `_`
    required: bool = False

    @property
    def range(self) -> str:
        """The allowed values, in words, without a bound that only the computer sets."""
        return self._range(self.most if self.most is None or self.most < MOST else None)

    def _range(self, most: float | None) -> str:
        if self.choices:
            return " | ".join(self.choices)
        bounds = " and ".join(
            f"{sign} {bound if isinstance(bound, int) else f'{bound:.10g}'}"
            for sign, _, bound in self._bounds(most)
        )
        words = {int: f"whole number {bounds}".strip(), float: f"number {bounds}".strip()}
        return described(self.kind, words)

    def _bounds(self, most: float | None) -> list[tuple[str, Callable[[Any, Any], bool], float]]:
        limits = ((">", gt, self.above), (">=", ge, self.least), ("<=", le, most), ("<", lt, self.below))
        return [(sign, holds, bound) for sign, holds, bound in limits if bound is not None]

    def _most(self, kind: Any) -> float | None:
        return MOST if kind is int and self.most is None and self.below is None else self.most

    def accepts(self, value: object) -> bool:
        """Whether a value has the right type and lies in the range."""
        return any(self._accepts(value, member) for member in members(self.kind))

    def _accepts(self, value: Any, kind: Any) -> bool:
        if get_origin(kind) is Literal:
            return is_one_of(value, get_args(kind))
        if kind is str:
            return isinstance(value, str) and (not self.choices or value in self.choices)
        if kind in (int, float):
            # A bool is an int to Python, but `epochs=True` is a mistake.
            if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
                return False
            is_nan = isinstance(value, float) and math.isnan(value)
            return not is_nan and all(
                holds(value, bound) for _, holds, bound in self._bounds(self._most(kind))
            )
        if isinstance(kind, type):
            return isinstance(value, kind)
        return True  # collections are checked when they are read from text

    def from_text(self, text: str, where: str | None = None) -> Any:
        """The value that a command line gives; InputError unless it is allowed."""
        for member in members(self.kind):
            with suppress(ValueError):
                value = from_text(text.strip(), member)
                if self._accepts(value, member):
                    return value
        raise self.error(text, where)

    def error(self, value: object, where: str | None = None) -> InputError:
        """The error that says what was expected instead of this value."""
        expected = f"one of {', '.join(self.choices)}" if self.choices else self._range(self._most(self.kind))
        if expected.startswith(("whole", "number")):
            expected = f"a {expected}"
        return InputError(f"expected {expected}, got {shown(value)}", field=self.name, where=where)


def parameters_of(cls: type[Any]) -> tuple[Parameter, ...]:
    """The fields of a dataclass, in order."""
    return _declared(cls)  # type: ignore[arg-type]


@cache
def _declared(cls: type[Any]) -> tuple[Parameter, ...]:
    if not dataclasses.is_dataclass(cls):
        raise InputError(f"config: expected a dataclass, got {cls.__name__}")
    hints = get_type_hints(cls)
    found = []
    for field in (field for field in dataclasses.fields(cls) if field.init):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        kind, value = hints[field.name], None if default is MISSING else default
        choices = tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()
        known = {"attribute": field.name, "choices": choices, **field.metadata}
        required = default is MISSING
        found.append(Parameter(field.name.rstrip("_"), kind, value, required=required, **known))
    return tuple(found)


class Settings:
    """Base class of settings dataclasses: InputError for values of the wrong type or out of range."""

    def __post_init__(self) -> None:
        for declared in parameters_of(type(self)):
            value = getattr(self, declared.attribute)
            if not declared.accepts(value):
                raise declared.error(value, self.name if isinstance(self, Configured) else None)


class Configured(Settings):
    """Base class of learners and inducers, which a registry makes from a name and parameters."""

    name: ClassVar[str]

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """Check the names first: a dataclass would raise a TypeError."""
        if arguments:
            raise InputError(f"{cls.name}: parameters are given by name, got {arguments[0]!r}")
        cls._require_known(options)
        return super().__new__(cls)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """All parameters with their ranges, in order."""
        return parameters_of(cls)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, Any]:
        """Values for the constructor from the NAME=VALUE pairs of a command line; checked."""
        cls._require_known(texts)
        return {p.name: p.from_text(texts[p.name], cls.name) for p in cls.parameters() if p.name in texts}

    def settings(self) -> dict[str, Any]:
        """All parameters with their values, as a config file can hold them."""
        return to_dict(self)

    @classmethod
    def _require_known(cls, names: Iterable[str]) -> None:
        for name in names:
            require_known(f"parameter of {cls.name}", name, [declared.name for declared in cls.parameters()])


# ---------------------------------------------------------------- reading


def load_config(path: str | os.PathLike[str], cls: type[T]) -> T:
    """Read settings from a TOML file; fields that it does not name keep their defaults.

    InputError if the file is not TOML or does not fit `cls`; OSError if it cannot be read.
    """
    import tomllib  # lazy: most users of this module read no file

    source = os.fspath(path)
    with Path(path).open("rb") as stream:
        try:
            content = stream.read(MOST_BYTES + 1)
        except OSError as error:
            raise OSError(error.errno, error.strerror, source) from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{source}: expected a TOML file of at most {MOST_BYTES:,} bytes, got more")
    try:
        values = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#04x} at {error.start}"
        raise InputError(f"{source}: expected TOML in UTF-8, got {byte}; save it as UTF-8") from None
    except (RecursionError, ValueError) as error:
        what = str(error) or "nested too deeply"
        raise InputError(f"{source}: not valid TOML: {what}; write lines such as `name = value`") from None
    return from_dict(cls, values, source=source)


def from_dict(
    cls: type[T], values: Mapping[str, Any], *, source: str = "config", prefix: str = "", base: Any = None
) -> T:
    """The inverse of `to_dict`: checks names and types; `source` begins the messages.

    `prefix`: the name of a table, with a dot. `base`: where fields that are not named come from.
    """
    known = {declared.name: declared for declared in parameters_of(cls)}
    if not isinstance(values, Mapping):
        raise InputError(f"{source}: expected a table, got {shown(values)}")
    arguments = {}
    for name, value in values.items():
        if name not in known:
            elsewhere = getattr(cls, "elsewhere", lambda _: None)(name)
            if elsewhere is not None:
                raise InputError(f"{source}: unknown setting {prefix + name!r}; did you mean {elsewhere}?")
            raise UnknownNameError("setting", prefix + name, [prefix + n for n in known], where=source)
        declared = known[name]
        arguments[declared.attribute] = _converted(value, declared, source, prefix)
    for name, declared in known.items():
        if base is None and declared.required and declared.attribute not in arguments:
            raise InputError(f"{source}: expected a value for {prefix}{name}, got none; add it")
    try:
        return cls(**arguments) if base is None else dataclasses.replace(base, **arguments)
    except InputError as error:
        raise InputError(str(error), field=prefix[:-1] or None, where=source) from None


def _converted(value: Any, declared: Parameter, source: str, prefix: str) -> Any:
    """A TOML or JSON value as its field's type."""
    name, default = prefix + declared.name, declared.default
    for member in members(declared.kind):
        if dataclasses.is_dataclass(member) and isinstance(member, type) and isinstance(value, Mapping):
            base = default if type(default) is member else None
            return from_dict(member, value, source=source, prefix=f"{name}.", base=base)
    try:
        return convert(value, declared.kind)
    except MismatchError as error:
        raise InputError(f"expected {error}, got {shown(value)}", field=name, where=source) from None


# ---------------------------------------------------------------- NAME=VALUE


def merge(config: T, overrides: Mapping[str, str], *, option: str = "-p") -> T:
    """A copy with values given as text, e.g. `{"epochs": "5", "learner.lambda": "0.1"}`.

    The last part of a dotted name is enough if only one setting has it. Lists are written with commas.
    Messages put `option` before NAME=VALUE.
    """
    if not overrides:
        return config
    values = to_dict(config)
    for name, text in overrides.items():
        where = f"{option} {name}={text}".strip()
        path, kind, full_name = _find(config, name, where)
        table = values
        for step in path[:-1]:
            if table.get(step) is None:
                table[step] = {}
            table = table[step]
        try:
            table[path[-1]] = _plain(convert(text, kind, is_text=True))
        except MismatchError as error:
            raise InputError(f"{where}: expected {error}, got {text!r}{full_name}") from None
    given = " ".join(f"{option} {name}={text}".strip() for name, text in overrides.items())
    return from_dict(type(config), values, source=given)


def flat_parameters(cls: type[Any], default: Any = None) -> dict[str, Parameter]:
    """All settings that are not tables, by their names with dots; `default` holds the defaults of a table."""
    found: dict[str, Parameter] = {}
    for declared in parameters_of(cls):
        value = declared.default if default is None else getattr(default, declared.attribute)
        tables: list[Any] = [member for member in members(declared.kind) if dataclasses.is_dataclass(member)]
        if not tables:
            found[declared.name] = dataclasses.replace(declared, default=value)
        for table in tables:
            for inner in flat_parameters(table, value).values():
                name = f"{declared.name}.{inner.name}"
                found[name] = dataclasses.replace(inner, name=name)
    return found


def _find(config: Any, name: str, where: str) -> tuple[list[str], Any, str]:
    """Path and type of the setting called `name`, and what a message about its value ends with."""
    known = flat_parameters(type(config))
    if name in known:
        return name.split("."), known[name].kind, ""
    first, _, rest = name.partition(".")
    if rest and first in known and get_origin(known[first].kind) is dict:
        return [first, rest], get_args(known[first].kind)[1], ""
    lasts = [each.rpartition(".")[2] for each in known]
    found = [each for each, last in zip(known, lasts, strict=True) if last == name]
    if len(found) > 1:
        raise InputError(f"{where}: several settings are called {name!r}; write {' or '.join(found)}")
    if not found:
        is_short = [not rest and lasts.count(last) == 1 for last in lasts]
        names = [last if short else each for each, last, short in zip(known, lasts, is_short, strict=True)]
        raise UnknownNameError("setting", name, names, where=where)
    return found[0].split("."), known[found[0]].kind, f"; {name} is {found[0]}"


# ---------------------------------------------------------------- writing


def to_dict(config: Any) -> dict[str, Any]:
    """All fields, defaults included, as JSON types: dicts, lists, text, numbers, booleans, None."""
    return {each.name: _plain(getattr(config, each.attribute)) for each in parameters_of(type(config))}


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


def to_toml(config: Any) -> str:
    """TOML text from which `load_config` makes an equal config; defaults are written, too."""
    return "".join(_toml_table(config, ()))


def _toml_table(config: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The lines of one table, then those of the tables in it."""
    if path:
        yield f"\n[{'.'.join(map(_toml_key, path))}]\n"
    tables: list[tuple[str, Any]] = []
    for declared in parameters_of(type(config)):
        name, value = declared.name, getattr(config, declared.attribute)
        if dataclasses.is_dataclass(value):
            tables.append((name, value))
        elif value is not None or declared.required or declared.default is not None:
            yield f"{_toml_key(name)} = {_toml_value(_plain(value), name)}\n"
    for name, value in tables:
        yield from _toml_table(value, (*path, name))


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml_value(name, name)


def _toml_value(value: Any, name: str) -> str:
    """A value in TOML; strings, numbers and booleans are written as in JSON."""
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(item, name) for item in value)}]"
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(key)} = {_toml_value(item, name)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    try:
        text = json.dumps(NONE if value is None else value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError):
        expected = "valid Unicode text, a finite number, a boolean, a list or a table"
        raise InputError(f"expected {expected}, got {value!r}", field=name) from None
    return text.replace("\x7f", "\\u007f")
