"""A classifier's file on the command line: its description, and errors if a parser is expected."""

import json

import numpy as np
import pytest

import arbora as package
from arbora.classification import OnlineClassifier
from arbora.errors import ModelError
from arbora.parsing.parser import Parser
from arbora.storage.model_file import read_model, write_model


@pytest.fixture
def classifier(tmp_path):
    """Of 30 classes, which 4 features tell apart, in a file."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.array([f"kind:{i % 30:02}" for i in range(60)])
    path = tmp_path / "classifier.arbora"
    fitted = OnlineClassifier("spv", parameters={"gamma": 0.1}, cost="hierarchical", epochs=1).fit(X, y)
    fitted.save(path)
    fitted.save(tmp_path / "more.arbora", resumable=True)
    return path


def rows(result):
    assert (result.status, result.stderr) == (0, "")
    return dict(line.split("\t", 1) for line in result.stdout.splitlines() if line)


def test_info_describes_a_classifier(arbora, classifier):
    found = rows(arbora("info", classifier))
    assert found["kind"] == "classifier"
    assert found["learner"] == "spv, gamma 0.1"
    assert found["settings"] == "epochs 1, weights averaged, intercept 1.0"
    assert found["features"] == "4"
    assert found["costs"] == "0.5"
    assert found["partial_fit"] == "cannot continue from this file"
    assert found["classes"].startswith("30: kind:00 kind:01 ")
    assert found["classes"].endswith("kind:19 ...")
    assert found["more"] == "--all: every setting, all classes, 2 arrays"
    assert (
        rows(arbora("info", classifier.parent / "more.arbora"))["partial_fit"] == "continues after 60 steps"
    )
    everything = rows(arbora("info", classifier, "--all"))
    assert everything["settings.parameters.gamma"] == "0.1"
    assert everything["classes"].endswith("kind:29")
    assert everything["weights"] == "float32\t150\t600"
    told = json.loads(arbora("info", classifier, "--json").stdout)
    assert (told["kind"], len(told["classes"])) == ("classifier", 30)


@pytest.mark.parametrize("change", ["settings", "classes", "course"])
def test_info_describes_damaged_classifiers(arbora, classifier, change):
    file = read_model(classifier)
    write_model(classifier, {"weights": np.zeros(3)}, {**file.metadata, change: 3})
    assert rows(arbora("info", classifier))["kind"] == "classifier"


def test_classifiers_are_not_accepted_as_parsers(arbora, classifier, synthetic):
    told = "expected a parser, as `arbora train` writes it, got a classifier; "
    told += "`arbora.learners.OnlineClassifier.load` reads it"
    for arguments in (
        ("parse", synthetic[1], "-m", classifier),
        ("train", synthetic[0], "--only", "parser", "--stack", classifier, "-o", classifier.parent / "new"),
    ):
        result = arbora(*arguments)
        assert result.status == 1
        assert f"{classifier}: {told}" in result.stderr
    for load in (package.load, Parser.load):
        with pytest.raises(ModelError, match="got a classifier"):
            load(classifier)


def test_parsers_are_not_accepted_as_classifiers(model):
    with pytest.raises(ModelError, match=r"expected a classifier, .* got a parser; `arbora\.load` reads it"):
        OnlineClassifier.load(model)
