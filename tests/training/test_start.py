"""Training that starts from the weights of a neural model."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank
from neural_toys import SMALL

pytest.importorskip("torch")

from arbora.data.columns import parse_text
from arbora.data.encode import Names
from arbora.errors import InputError, ModelError
from arbora.neural.build import continued
from arbora.neural.settings import NeuralSettings
from arbora.pipeline.pipeline import Pipeline
from arbora.scorers.vocabulary import joined
from arbora.training import train

TRAIN, DEV = treebank(60, seed=1), treebank(20, seed=2)
PARAMETERS = {"epochs": 10, "words": 60, "rate": 0.02, "matrix_rate": 0.05, "warmup": 10}
NEURAL = {**SMALL, "dropout": 0.1, "feature_dropout": 0.1, "hidden_dropout": 0.1}
OTHER = parse_text(
    "".join(
        f"# text = Zelda ships {word}.\n"
        "1\tZelda\tzelda\tXN\t_\tA=B\t2\tvocative\t_\t_\n"
        "2\tships\tship\tVERB\t_\t_\t0\troot\t_\t_\n"
        f"3\t{word}\t{word}\tNOUN\t_\t_\t2\tobj\t_\tSpaceAfter=No\n"
        "4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
        for word in ("ships", "ẞ", "ẞ", "letters") * 3
    ),
    "conllu",
)


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "old.arbora"
    train(TRAIN, DEV, config={"parser": "neural", "neural": NEURAL, "parameters": PARAMETERS}).save(path)
    return str(path)


def adapted(old, columns=OTHER, **changes):
    return train(columns, columns, config={"start": old, "parameters": {"epochs": 8, "words": 30}, **changes})


def test_nothing_changes_before_the_first_step(old):
    parser = Pipeline.load(old).parser
    names = parser.names
    made = continued(parser.search.scorer, TRAIN, names, seed=0, settings=NeuralSettings().resolved())
    for batch in (names.batch(DEV), names.batch(OTHER)):
        pairs = zip(parser.search.scorer.score(batch), made.score(batch), strict=True)
        for before, after in pairs:
            for kind, scores in before.items():
                np.testing.assert_allclose(after[kind], scores, atol=1e-5)


def test_new_tags_are_not_the_best_before_they_are_learned(old):
    """Whatever all old scores have in common, such as a large negative number."""
    scorer = Pipeline.load(old).parser.search.scorer
    shifted = dict(scorer.tensors)
    for name in scorer.outputs:
        shifted[f"output.{name}.bias"] = shifted[f"output.{name}.bias"] - 100.0
    names = Names.of(OTHER)
    names = replace(names, labels=joined(Pipeline.load(old).parser.names.labels, names.labels))
    before = replace(scorer, tensors=shifted)
    made = continued(before, OTHER, names, seed=0, settings=NeuralSettings().resolved())
    assert "XN" in made.outputs["upos"]
    for name in ("upos", "lemma"):
        assert made.annotate(DEV).texts(name) == before.annotate(DEV).texts(name)


def test_words_labels_and_tags_are_added(old):
    before, after = Pipeline.load(old).parser, adapted(old).parser
    assert after.names.labels[: len(before.names.labels)] == before.names.labels
    assert "vocative" in after.names.labels
    words = after.search.scorer.vocabulary
    assert words.words[: len(before.search.scorer.vocabulary.words)] == before.search.scorer.vocabulary.words
    assert "zelda" in words.words
    assert "ẞ" in words.characters
    assert "XN" in after.search.scorer.outputs["upos"]
    assert (after.search.trees, after.search.roots) == (before.search.trees, before.search.roots)


def test_a_domain_is_learned(old, tmp_path):
    before = Pipeline.load(old)
    known = OTHER.select(np.arange(4))
    found = adapted(old, parameters={"epochs": 30, "words": 30, "rate": 0.02, "matrix_rate": 0.05})
    assert found.scores["las"] > 90
    found.save(tmp_path / "new.arbora")
    loaded = Pipeline.load(tmp_path / "new.arbora")
    assert loaded.segmenter is not None
    parsed = loaded.parse([sentence.forms for sentence in known.sentences()])
    assert [tree.deprels[0] for tree in parsed] == ["vocative"] * 4
    assert before.parse([known_words(known)])[0].deprels[0] != "vocative"
    assert loaded("Zelda ships letters.")[0].probability > 0


def known_words(columns):
    return next(iter(columns.sentences())).forms


def test_one_seed_gives_one_model(old, tmp_path):
    files = []
    for number in range(2):
        adapted(old).save(tmp_path / f"{number}.arbora")
        files.append((tmp_path / f"{number}.arbora").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "changes",
    [{"vectors": "x.vec"}, {"encoder": "x"}, {"projectivize": "pseudo-projective"}, {"parser": "graph"}],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_that_the_model_decides_are_rejected(old, changes):
    with rejects(InputError):
        adapted(old, **changes)


def test_models_of_other_kinds_are_rejected(tmp_path):
    config = {"parser": "graph", "order": 1, "only": "parser", "parameters": {"epochs": 1}}
    train(TRAIN, DEV, config=config).save(tmp_path / "graph.arbora")
    with rejects(InputError, field="start"):
        adapted(str(tmp_path / "graph.arbora"))
    with pytest.raises((InputError, ModelError)):
        adapted(str(tmp_path / "none.arbora"))
