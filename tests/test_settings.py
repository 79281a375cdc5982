import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora.errors import InputError
from arbora.settings import from_dict, load_config, merge, to_dict, to_toml


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
    ("text", "expected"),
    [
        ("epoch = 1", r"unknown setting 'epoch'; did you mean 'epochs'\? known: epochs, rate"),
        ("[learner]\nlamda = 1", r"unknown setting 'learner.lamda'; did you mean 'learner.lambda'\?"),
        ("[learner]\nlambda_ = 1", "did you mean 'learner.lambda'"),
        ('epochs = "3"', "epochs: expected a whole number, got '3'"),
        ("epochs = 3.0", "epochs: expected a whole number, got 3.0"),
        ("epochs = true", "epochs: expected a whole number, got true"),
        ("averaged = 1", "averaged: expected true or false, got 1"),
        ("rate = nan", "rate: expected a finite number, got nan"),
        ("rate = inf", "rate: expected a finite number, got inf"),
        ("rate = 1" + "0" * 400, "rate: expected a finite number, got 1000"),
        ("order = 4", "order: expected one of 1, 2, 3, got 4"),
        ("order = true", "order: expected one of 1, 2, 3, got true"),
        ('roots = "many"', "roots: expected one of 'single', 'multi', got 'many'"),
        ('seed = "one"', "seed: expected a whole number or none, got 'one'"),
        ("sizes = 3", "sizes: expected a list, each item a whole number, got 3"),
        ("sizes = [1, 2.5]", "sizes: expected a list"),
        ("span = [1]", "span: expected a list of 2 values: a whole number, a finite number"),
        ("learner = 3", "learner: expected a table, got 3"),
        ("extra = {a = [1]}", "extra: expected a table"),
        ("epochs = 1979-05-27", "epochs: expected a whole number"),
        ("epochs = -1", "epochs: expected 0 or more, got -1"),
        ("[learner]\nk = 0", "learner: k: expected at least 1, got 0"),
        ("epochs 3", "expected TOML, .*line 1"),
        ("epochs = 1\nepochs = 2", "expected TOML, .*overwrite"),
        (b"comment = '\xff'", "UTF-8, got byte 0xff at 11"),
        ("x = " + "[" * 50_000, "expected TOML"),
    ],
)
def test_faults_are_told_with_file_name_and_the_nearest(tmp_path, text, expected):
    with pytest.raises(InputError, match=expected) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'train.toml'}: ")


def test_a_value_that_must_be_given(tmp_path):
    with pytest.raises(InputError, match="expected a value for path, got none"):
        load(tmp_path, "", Needy)
    with pytest.raises(OSError, match="No such file"):
        load_config(tmp_path / "none.toml", Needy)
    with pytest.raises(InputError, match="dataclass"):
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
    ("name", "text", "expected"),
    [
        ("epoch", "3", r"^-p epoch=3: unknown setting 'epoch'; did you mean 'epochs'\?"),
        ("lamda", "3", "did you mean 'lambda'"),
        ("learner.x", "3", "unknown setting 'learner.x'"),
        ("learner", "mira", "unknown setting 'learner'"),
        ("k", "3", "means one setting, got 'k'; write learner.k or pruner.k"),
        ("epochs", "ten", "^-p epochs=ten: expected a whole number, got 'ten'"),
        ("epochs", "", "expected a whole number, got ''"),
        ("epochs", "-3", "-p epochs=-3: epochs: expected 0 or more, got -3"),
        ("rate", "nan", "expected a finite number"),
        ("averaged", "maybe", "expected true or false"),
        ("order", "first", "one of 1, 2, 3"),
        ("lambda", "much", "expected a finite number, got 'much'; lambda is learner.lambda"),
        ("span", "1", "a list of 2 values"),
        ("sizes", "1,x", "each item a whole number"),
        ("", "", "unknown setting"),
    ],
)
def test_overrides_that_do_not_fit(name, text, expected):
    with pytest.raises(InputError, match=expected):
        merge(Train(), {name: text})


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
    with pytest.raises(InputError, match=r"^model: unknown setting 'epoch'"):
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
    assert to_toml(Learner(name='a "b"')) == 'name = "a \\u0022b\\u0022"\nlambda = 0.01\nk = 1\n'
    text = to_toml(Train(seed=None))
    assert 'seed = "none"\n' in text
    assert "note" not in text
    assert text.endswith('\n[learner]\nname = "mira"\nlambda = 0.01\nk = 1\n')
    with pytest.raises(InputError, match="Unicode"):
        to_toml(Train(comment="\ud800"))
    with pytest.raises(InputError, match="rate: expected"):
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
