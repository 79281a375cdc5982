import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st

from arbora.errors import InputError, UnknownNameError
from arbora.settings import (
    Configured,
    Settings,
    flat_parameters,
    from_dict,
    load_config,
    merge,
    parameter,
    parameters_of,
    to_dict,
    to_toml,
)


class Roots(StrEnum):
    SINGLE = "single"
    MULTI = "multi"


@dataclass(frozen=True)
class Learner:
    name: str = "mira"
    lambda_: float = 0.01
    k: int = 1

    def __post_init__(self):
        if self.k < 1:
            raise InputError(f"k: expected at least 1, got {self.k}")


@dataclass(frozen=True)
class Pruner:
    keep: int = 10
    k: int = 3


@dataclass(frozen=True)
class Train:
    epochs: int = 10
    rate: float = 0.5
    averaged: bool = True
    comment: str = ""
    order: Literal[1, 2, 3] = 2
    roots: Roots = Roots.SINGLE
    seed: int | None = 1
    note: str | None = None
    stop: int | None = None
    sizes: tuple[int, ...] = (1, 2)
    span: tuple[int, float] = (0, 1.0)
    names: list[str] = field(default_factory=list)
    extra: dict[str, int | float | str] = field(default_factory=dict)
    learner: Learner = field(default_factory=Learner)
    pruner: Pruner | None = None

    def __post_init__(self):
        if self.epochs < 0:
            raise InputError(f"epochs: expected 0 or more, got {self.epochs}")


@dataclass
class Needy:
    path: str


def load(tmp_path, text, cls=Train):
    path = tmp_path / "train.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_config(path, cls)


def test_a_file_sets_what_it_names(tmp_path):
    config = load(
        tmp_path,
        """
        epochs = 3
        rate = 2            # a whole number is a number, too
        roots = "multi"
        seed = "none"
        sizes = [4, 5, 6]
        extra = {a = 1, "b c" = 2.5}
        [learner]
        lambda = 1e-4
        [pruner]
        """,
    )
    assert config == Train(
        epochs=3,
        rate=2.0,
        roots=Roots.MULTI,
        seed=None,
        sizes=(4, 5, 6),
        extra={"a": 1, "b c": 2.5},
        learner=Learner(lambda_=1e-4),
        pruner=Pruner(),
    )
    assert type(config.rate) is float
    assert isinstance(config.roots, Roots)
    assert load(tmp_path, b"\xef\xbb\xbfepochs = 1\r\n").epochs == 1
    assert load(tmp_path, "") == Train()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("epoch = 1", "setting"),
        ("[learner]\nlamda = 1", "setting"),
        ("[learner]\nlambda_ = 1", "setting"),
        ('epochs = "3"', "epochs"),
        ("epochs = 3.0", "epochs"),
        ("epochs = true", "epochs"),
        ("averaged = 1", "averaged"),
        ("rate = nan", "rate"),
        ("rate = inf", "rate"),
        ("rate = 1" + "0" * 400, "rate"),
        ("order = 4", "order"),
        ("order = true", "order"),
        ('roots = "many"', "roots"),
        ('seed = "one"', "seed"),
        ("sizes = 3", "sizes"),
        ("sizes = [1, 2.5]", "sizes"),
        ("span = [1]", "span"),
        ("learner = 3", "learner"),
        ("extra = {a = [1]}", "extra"),
        ("epochs = 1979-05-27", "epochs"),
        ("epochs = -1", "epochs"),
        ("[learner]\nk = 0", "learner"),
        ("epochs 3", None),
        ("epochs = 1\nepochs = 2", None),
        (b"comment = '\xff'", None),
        ("x = " + "[" * 50_000, None),
    ],
)
def test_bad_files_are_rejected_with_their_name(tmp_path, text, field):
    with rejects(InputError, field=field) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'train.toml'}: ")


def test_missing_values_are_rejected(tmp_path):
    with pytest.raises(InputError):
        load(tmp_path, "", Needy)
    with pytest.raises(FileNotFoundError):
        load_config(tmp_path / "none.toml", Needy)
    with rejects(InputError, field="config"):
        load(tmp_path, "", int)


def test_overrides_are_text():
    given = {
        "epochs": " 7 ",
        "rate": "1e-3",
        "averaged": "no",
        "comment": "a, b = [c]",
        "order": "3",
        "roots": "multi",
        "seed": "none",
        "note": "x",
        "sizes": "3, 4,5",
        "span": "(2, 3)",
        "names": "a,b",
        "extra.depth": "4",
        "extra.half": "0.5",
        "extra.word": "w",
        "learner.k": "2",
        "lambda": "0.25",
        "keep": "4",
    }
    assert merge(Train(), given) == Train(
        7, 1e-3, False, "a, b = [c]", 3, Roots.MULTI, None, "x", None, (3, 4, 5), (2, 3.0), ["a", "b"],
        {"depth": 4, "half": 0.5, "word": "w"}, Learner("mira", 0.25, 2), Pruner(4),
    )  # fmt: skip
    assert merge(Train(), {}) == Train()
    assert merge(Train(sizes=(1,)), {"sizes": ""}).sizes == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k", "3"),  # of two tables
        ("epochs", "ten"),
        ("epochs", ""),
        ("epochs", "-3"),
        ("rate", "nan"),
        ("averaged", "maybe"),
        ("order", "first"),
        ("lambda", "much"),
        ("span", "1"),
        ("sizes", "1,x"),
    ],
)
def test_bad_overrides_are_rejected(name, text):
    with pytest.raises(InputError):
        merge(Train(), {name: text})


@pytest.mark.parametrize("name", ["epoch", "lamda", "learner.x", "learner", ""])
def test_overrides_of_unknown_settings_are_rejected(name):
    with rejects(InputError, field="setting"):
        merge(Train(), {name: "3"})


def test_merging_leaves_the_original_alone():
    config = Train(extra={"a": 1}, names=["x"])
    merged = merge(config, {"extra.a": "2", "names": "y"})
    assert (config.extra, config.names, merged.extra, merged.names) == ({"a": 1}, ["x"], {"a": 2}, ["y"])


def test_a_dictionary_is_json_and_reads_back():
    config = Train(seed=None, roots=Roots.MULTI, pruner=Pruner(2), extra={"a": 1.5})
    values = json.loads(json.dumps(to_dict(config)))
    assert values["learner"] == {"name": "mira", "lambda": 0.01, "k": 1}
    assert (values["seed"], values["roots"], values["sizes"]) == (None, "multi", [1, 2])
    assert from_dict(Train, values) == config
    with rejects(InputError, field="setting"):
        from_dict(Train, {"epoch": 1}, source="model")


words = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(0, 2**63)
not_none = words.filter(lambda text: text != "none")
configs = st.builds(
    Train,
    epochs=whole,
    rate=numbers,
    averaged=st.booleans(),
    comment=words,
    order=st.sampled_from([1, 2, 3]),
    roots=st.sampled_from(Roots),
    seed=st.none() | whole,
    note=st.none() | not_none,
    stop=st.none() | whole,
    sizes=st.lists(whole, max_size=3).map(tuple),
    span=st.tuples(whole, numbers),
    names=st.lists(words, max_size=3),
    extra=st.dictionaries(words, whole | numbers | words, max_size=3),
    learner=st.builds(Learner, words, numbers, st.integers(1, 9)),
    pruner=st.none() | st.builds(Pruner, whole, whole),
)


@given(configs)
def test_toml_and_json_read_back_equal(tmp_path_factory, config):
    assert load(tmp_path_factory.getbasetemp(), to_toml(config)) == config
    assert from_dict(Train, json.loads(json.dumps(to_dict(config)))) == config


def test_toml_looks_as_one_would_write_it():
    assert to_toml(Learner(name='a "b"')) == 'name = "a \\"b\\""\nlambda = 0.01\nk = 1\n'
    text = to_toml(Train(seed=None))
    assert 'seed = "none"\n' in text
    assert "note" not in text
    assert text.endswith('\n[learner]\nname = "mira"\nlambda = 0.01\nk = 1\n')
    with pytest.raises(InputError):
        to_toml(Train(comment="\ud800"))
    with rejects(InputError, field="rate"):
        to_toml(Train(rate=float("nan")))


def test_tables_keep_the_defaults_of_their_own_field():
    """Not those of their class, which may be others."""

    @dataclass(frozen=True)
    class Inner:
        size: int = 1
        rate: float = 0.5

    @dataclass(frozen=True)
    class Outer:
        plain: Inner = field(default_factory=Inner)
        large: Inner = field(default_factory=lambda: Inner(size=9, rate=2.0))
        fixed: Inner = Inner(rate=3.0)

    given = {"plain": {"size": 4}, "large": {"size": 5}, "fixed": {"size": 6}}
    assert from_dict(Outer, given) == Outer(Inner(4, 0.5), Inner(5, 2.0), Inner(6, 3.0))
    assert from_dict(Outer, to_dict(from_dict(Outer, given))) == from_dict(Outer, given)


@dataclass(frozen=True, kw_only=True)
class Beam(Settings):
    width: int = parameter(8, "states kept", least=1, most=100)
    limit: int | Literal["auto"] = parameter("auto", "states in training", least=1)
    rate: float = parameter(0.5, "step size", above=0.0, below=1.0)
    far: float | None = parameter(None, "distance", least=0.0, below=float("inf"))
    update: Literal["early", "late"] = parameter("early", "when to update")
    prior: str = parameter("gauss", "the prior", choices=("gauss", "laplace"))
    sizes: dict[str, int] = parameter(factory=dict, help="by name")
    lambda_: float = parameter(0.1, "regularization", least=0.0)


@dataclass(frozen=True)
class Search:
    beam: Beam = field(default_factory=Beam)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", 0),
        ("width", 101),
        ("width", 2.0),
        ("width", True),
        ("limit", "many"),
        ("limit", 0),
        ("limit", 2**31),
        ("rate", 0.0),
        ("rate", 1.0),
        ("rate", float("nan")),
        ("rate", "0.5"),
        ("far", float("inf")),
        ("far", -1.0),
        ("update", "never"),
        ("prior", "cauchy"),
        ("lambda", -1.0),
    ],
)
def test_values_out_of_range_are_rejected_wherever_they_come_from(name, value):
    given = {"lambda_" if name == "lambda" else name: value}
    with rejects(InputError, field=name):
        Beam(**given)
    with rejects(InputError, field=name):
        from_dict(Beam, {name: value})
    with pytest.raises(InputError):
        from_dict(Search, {"beam": {name: value}})
    if not isinstance(value, str | bool):
        with pytest.raises(InputError):
            merge(Search(), {f"beam.{name}": str(value)})


def test_values_in_range_are_accepted():
    assert Beam(limit=2**31 - 1).limit == 2**31 - 1
    assert Beam(width=1, limit=3, rate=0.1, far=0, update="late", prior="laplace").limit == 3
    assert merge(Search(), {"limit": "7", "far": "none"}).beam == Beam(limit=7)
    assert Beam().sizes == {}
    assert Beam().sizes is not Beam().sizes


def test_declarations_have_help_and_ranges():
    declared = {each.name: each for each in parameters_of(Beam)}
    assert declared["width"].help == "states kept"
    assert declared["width"].range == "whole number >= 1 and <= 100"
    assert declared["limit"].range == "whole number >= 1 or 'auto'"
    assert declared["rate"].range == "number > 0 and < 1"
    assert declared["prior"].range == "gauss | laplace"
    assert declared["lambda"].default == 0.1
    assert declared["sizes"].default == {}
    flat = flat_parameters(Search)
    assert next(iter(flat)) == flat["beam.width"].name == "beam.width"
    assert flat["beam.lambda"].default == 0.1


@dataclass(frozen=True, kw_only=True)
class Sgd(Configured):
    name = "sgd"
    rate: float = parameter(0.1, "step size", above=0.0)
    epochs: int | Literal["auto"] = parameter("auto", "passes", least=1)


def test_parameters_are_named_and_given_as_text():
    assert Sgd.parse({"rate": " inf ", "epochs": "3"}) == {"rate": float("inf"), "epochs": 3}
    assert Sgd.parse({"epochs": "auto"}) == {"epochs": "auto"}
    assert Sgd(rate=1).settings() == {"rate": 1, "epochs": "auto"}
    for text in ("0", "nan", "fast"):
        with rejects(InputError, field="rate"):
            Sgd.parse({"rate": text})
    for make in (Sgd, lambda **given: Sgd.parse(given)):
        with rejects(UnknownNameError, field="parameter of sgd", suggestion="rate"):
            make(rates="1")
    with pytest.raises(InputError):
        Sgd(0.5)


def test_files_of_settings_are_small(tmp_path):
    with rejects(InputError):
        load_config("/dev/zero", Train)
