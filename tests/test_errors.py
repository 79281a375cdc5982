import copy
import pickle

import pytest
from errors import rejects

from arbora.errors import DataError, InputError, ModelError, NoTreeError, UnknownNameError


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("order: expected 1 or 2, got 3", "order"),
        ("k must be a whole number", "k"),
        ("scores[2, 3]: expected a number", "scores[2, 3]"),
        ("run.toml: learner.epochs: expected a whole number", "learner.epochs"),
        ("mira: epochs must be a whole number", "epochs"),
        ("-p epoch=3: unknown setting 'epoch'; known: epochs", "setting"),
        ("sentence 5 of the batch: scores: expected numbers", "sentence 5"),
        ("sentence 0, word 6: expected a head", "sentence 0, word 6"),
        ("sample is not available for non-projective trees", "sample"),
        ("expected a text, got a number", None),
        ("the model has no tagger; missing: tagger", None),
        ("", None),
    ],
)
def test_the_field_is_found_in_the_text(text, field):
    for kind in (InputError, NoTreeError):
        error = kind(text)
        assert (str(error), error.field) == (text, field)


def test_an_explicit_field_is_part_of_the_text():
    error = InputError("expected 1 or 2, got 3", field="order", where="run.toml")
    assert (str(error), error.field) == ("run.toml: order: expected 1 or 2, got 3", "order")


def test_unknown_names_have_a_suggestion():
    with rejects(UnknownNameError, field="learner", name="mirra", suggestion="mira") as caught:
        raise UnknownNameError("learner", "mirra", ["perceptron", "mira"])
    assert all(name in str(caught.value) for name in ("mirra", "mira", "perceptron"))
    assert UnknownNameError("learner", "xyz", ["mira"]).suggestion is None


@pytest.mark.parametrize(
    "error",
    [
        InputError("expected 1 or 2, got 3", field="order"),
        UnknownNameError("learner", "mirra", ["mira"]),
        NoTreeError("sentence 2 of the batch: no tree"),
        DataError("HEAD: expected a number", source="a.conllu", line=3),
        ModelError("tensor 'weights': expected numbers", source="m.arbora"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling_and_copying(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
        assert again.field
