"""Model files of version 0.1, one of each kind, still load and give the same answers."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import arbora
from arbora.learners import OnlineClassifier

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "0.1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
CLASSIFIER = "classifier"


@pytest.fixture(scope="module")
def sentences():
    return list(islice(arbora.read(FOLDER / "sentences.conllu"), 12))


def test_every_file_is_tested():
    assert {path.stem for path in FOLDER.glob("*.arbora")} == set(EXPECTED)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != CLASSIFIER])
def test_parsers_give_the_same_trees_and_probabilities(name, sentences):
    nlp = arbora.load(FOLDER / f"{name}.arbora")
    plain = nlp.parse(sentences)
    parsed = nlp.parse(sentences, probabilities=True)
    least_risk = nlp.parse(sentences, decode="minimum-risk")
    for tree, sure, risk, expected in zip(plain, parsed, least_risk, EXPECTED[name], strict=True):
        assert list(tree.heads) == expected["heads"]
        assert list(tree.deprels) == expected["labels"]
        if expected["tree"] is None:  # 0.1 gave second-order non-projective trees no probability
            assert 0 < sure.probability <= 1
            continue
        assert list(risk.heads) == expected["risk"]
        assert list(sure.head_probabilities) == pytest.approx(expected["head_probabilities"], abs=1e-8)
        assert sure.probability == pytest.approx(expected["tree"], abs=1e-8)
        assert sure.entropy == pytest.approx(expected["entropy"], abs=1e-6)
        labels = zip(sure.label_probabilities, expected["label_probabilities"], strict=True)
        assert all(now == pytest.approx(then, abs=1e-8) for now, then in labels)
        check_kbest(sure, expected["kbest"])


def check_kbest(sure, expected):
    found = sure.kbest(3)
    assert [list(tree.heads) for tree in found] == [heads for heads, _ in expected]
    assert [tree.probability for tree in found] == pytest.approx([p for _, p in expected], abs=1e-8)


def test_classifiers_give_the_same_classes():
    examples = np.load(FOLDER / "classifier.npy")
    classifier = OnlineClassifier.load(FOLDER / f"{CLASSIFIER}.arbora")
    assert classifier.predict(examples).tolist() == EXPECTED[CLASSIFIER]
