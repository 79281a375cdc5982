"""Raw text with a teacher's trees, and students that learn from it."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from neural_toys import SMALL as NETWORK
from pipeline_toys import SMALL, columns, trained

from arbora.data.columns import Columns
from arbora.data.soft import SoftTrees
from arbora.data.treebank import read_columns
from arbora.errors import InputError, ModelError
from arbora.parsing.ensemble import ensemble
from arbora.progress import Silent
from arbora.search.request import Temperatures
from arbora.storage.model_file import write_model
from arbora.training import silver
from arbora.training.config import make_config
from arbora.training.silver import SilverSettings, distil, make_silver, student_config

TEACHER = trained().pipeline
NAMES = ["Ann", "Bob", "Carla", "Dora", "Emil"]
SENTENCES = [
    f"{name} {verb}s the {noun}." for name in NAMES for verb in ("call", "help") for noun in ("dog", "boat")
]
ALL = SilverSettings(least=0.0, longest=30)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("\n\n".join([*SENTENCES, *SENTENCES[:5], "Ann!"]))
    return path


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr(silver, "SHARD_WORDS", 20)


def forms(files):
    found = [read_columns(file) for file in files]
    return [" ".join(sentence.forms) for each in found for sentence in each.sentences()]


def test_each_sentence_is_parsed_once_as_the_teacher_parses_it(text, tmp_path):
    files = make_silver(TEACHER, text, tmp_path / "silver", ALL)
    assert len(files) > 3
    assert forms(files) == [sentence.replace(".", " .") for sentence in SENTENCES]
    found = Columns.concat([read_columns(file) for file in files])
    parsed = [tree for sentence in SENTENCES for tree in TEACHER(sentence)]
    assert found.heads.tolist() == [word.head for tree in parsed for word in tree]
    assert found.texts("deprel") == [word.deprel for tree in parsed for word in tree]
    assert found.texts("lemma") == [word.lemma for tree in parsed for word in tree]


def test_sentences_are_kept_by_their_probabilities(text, tmp_path):
    means = {s: np.mean([w.head_probability for w in TEACHER(s)[0]]) for s in SENTENCES}
    middle = float(np.median(list(means.values())))
    files = make_silver(TEACHER, text, tmp_path / "silver", SilverSettings(least=middle))
    assert forms(files) == [s.replace(".", " .") for s in SENTENCES if means[s] >= middle]


def test_improbable_heads_stay_unknown(text, tmp_path):
    every = [word.head_probability for sentence in SENTENCES for word in TEACHER(sentence)[0]]
    middle = float(np.median(every))
    settings = SilverSettings(least=0.0, least_head=middle)
    found = Columns.concat(
        [read_columns(f) for f in make_silver(TEACHER, text, tmp_path / "silver", settings)]
    )
    assert (found.heads >= 0).tolist() == [p >= middle for p in every]
    assert all(
        label == "_" for label, head in zip(found.texts("deprel"), found.heads, strict=True) if head < 0
    )


def test_lengths_and_words_are_limited(text, tmp_path):
    assert make_silver(TEACHER, text, tmp_path / "a", SilverSettings(least=0.0, shortest=6)) == []
    few = make_silver(TEACHER, text, tmp_path / "b", SilverSettings(least=0.0, words=30))
    assert 30 <= sum(read_columns(file).words for file in few) < 60


@pytest.mark.parametrize("targets", ["hard", "soft"])
def test_a_student_sees_no_more_words_than_wanted(text, tmp_path, monkeypatch, targets):
    pytest.importorskip("torch", reason="networks are trained with PyTorch")
    seen = []

    def train(treebank, *arguments, soft, **options):
        seen.append((treebank.words, None if soft is None else len(soft)))

    monkeypatch.setattr(silver, "train", train)
    gold = columns(2)
    few = SilverSettings(least=0.0, words=33, targets=targets)
    distil(TEACHER, text, gold, folder=tmp_path / "silver", config={"parser": "neural"}, silver=few)
    ((words, soft),) = seen
    assert 28 <= (words - gold.words) <= 33
    assert soft == (words if targets == "soft" else None)


def test_a_second_run_makes_what_is_missing(text, tmp_path):
    folder = tmp_path / "silver"
    files = make_silver(TEACHER, text, folder, ALL)
    before = {file: file.read_bytes() for file in files}
    files[1].unlink()
    files[0].write_bytes(before[files[2]])  # would be made again if it were parsed again
    assert make_silver(TEACHER, text, folder, ALL) == files
    assert files[1].read_bytes() == before[files[1]]
    assert files[0].read_bytes() == before[files[2]]


def test_other_settings_and_texts_need_another_folder(text, tmp_path):
    make_silver(TEACHER, text, tmp_path / "silver", ALL)
    with rejects(InputError, field="silver"):
        make_silver(TEACHER, text, tmp_path / "silver", SilverSettings(least=0.5))
    text.write_text("Ann calls the dog.")
    with rejects(InputError, field="silver"):
        make_silver(TEACHER, text, tmp_path / "silver", ALL)


def test_a_student_learns_from_both(text, tmp_path):
    gold, dev = columns(10), columns(20, seed=1)
    config = {**SMALL, "parser": "graph"}
    found = distil(TEACHER, text, gold, dev, folder=tmp_path / "silver", config=config, silver=ALL)
    assert found.pipeline.segmenter is TEACHER.segmenter
    assert found.scores["las"] > 50
    assert (tmp_path / "silver" / "manifest.json").exists()
    with rejects(InputError, field="least"):
        none = SilverSettings(least=1.0, shortest=20)
        distil(TEACHER, text, gold, dev, folder=tmp_path / "none", config=config, silver=none)


def test_epochs_and_embeddings_follow_the_amount_of_silver():
    gold = columns(10)
    whole = Columns.concat([gold] * 20)
    chosen = student_config(make_config({"parser": "neural"}), gold, whole, 5)
    assert chosen.parameters["epochs"] == 5
    assert chosen.neural.least == 10
    assert chosen.neural.dropout == 0.1
    assert (chosen.trees, chosen.roots) == ("projective", "single")
    kept = {"parser": "neural", "neural": {"least": 3, "dropout": 0.3}, "parameters": {"epochs": 7}}
    chosen = student_config(make_config(kept), gold, whole, 5)
    assert (chosen.parameters["epochs"], chosen.neural.least, chosen.neural.dropout) == (7, 3, 0.3)
    linear = student_config(make_config({"parser": "graph"}), gold, whole, 5)
    assert (
        2
        <= linear.parameters["epochs"]
        < make_config({"parser": "graph"}).make_learner().settings()["epochs"]
    )


def test_a_network_learns_the_probabilities(text, tmp_path):
    pytest.importorskip("torch", reason="networks are trained with PyTorch")
    gold, dev = columns(10), columns(20, seed=1)
    doubtful = replace(TEACHER.parser, calibration=Temperatures(trees=20.0, labels=20.0))
    teacher = replace(TEACHER, parser=doubtful)
    config = {"parser": "neural", "neural": NETWORK, "parameters": {"epochs": 3, "words": 40}}
    notes = []

    class Notes(Silent):
        def note(self, text):
            notes.append(text)

    options = {"folder": tmp_path / "silver", "config": config, "silver": ALL, "observer": Notes()}
    soft = distil(teacher, text, gold, dev, **options)
    assert any("soft targets" in note for note in notes)
    hard = distil(teacher, text, gold, dev, **{**options, "silver": replace(ALL, targets="hard")})
    assert not np.array_equal(soft.parser.scorer.weights(), hard.parser.scorer.weights())
    again = distil(teacher, text, gold, dev, **options)
    assert np.array_equal(soft.parser.scorer.weights(), again.parser.scorer.weights())


def test_linear_students_have_no_soft_targets(text, tmp_path):
    config = {**SMALL, "parser": "graph"}
    soft = replace(ALL, targets="soft")
    with rejects(InputError, field="targets"):
        distil(TEACHER, text, columns(10), folder=tmp_path / "silver", config=config, silver=soft)


@pytest.mark.parametrize(
    "changes", [{"order": 2}, {"loss": "hinge"}, {"projectivize": "pseudo-projective", "trees": "projective"}]
)
def test_students_that_cannot_learn_softly_learn_hard_trees(text, tmp_path, changes):
    pytest.importorskip("torch", reason="networks are trained with PyTorch")
    config = {"parser": "neural", "neural": NETWORK, "parameters": {"epochs": 1}, **changes}
    options = {"folder": tmp_path / "silver", "config": config}
    distil(TEACHER, text, columns(10), **options, silver=ALL)
    with rejects(InputError, field="targets"):
        distil(TEACHER, text, columns(10), **options, silver=replace(ALL, targets="soft"))


def test_damaged_probabilities_are_rejected(text, tmp_path):
    pytest.importorskip("torch", reason="networks are trained with PyTorch")
    folder = tmp_path / "silver"
    files = make_silver(TEACHER, text, folder, ALL)
    config = {"parser": "neural", "neural": NETWORK, "parameters": {"epochs": 1}}
    (folder / "000001.soft").write_bytes((folder / "000000.soft").read_bytes()[:-9])
    with pytest.raises(ModelError):
        distil(TEACHER, text, columns(10), folder=folder, config=config, silver=ALL)
    lengths = np.diff(read_columns(files[1]).offsets)
    few = SoftTrees.certain(np.zeros(int(lengths.sum()) - 1), np.zeros(int(lengths.sum()) - 1), ())
    write_model(folder / "000001.soft", few.to_tensors(), {"kind": "silver"})
    with pytest.raises(ModelError):
        distil(TEACHER, text, columns(10), folder=folder, config=config, silver=ALL)


def test_an_ensemble_teaches_softly(text, tmp_path):
    pytest.importorskip("torch", reason="networks are trained with PyTorch")
    teacher = replace(TEACHER, parser=ensemble([TEACHER.parser, TEACHER.parser], [2.0, 1.0]))
    config = {"parser": "neural", "neural": NETWORK, "parameters": {"epochs": 1, "words": 40}}
    soft = replace(ALL, targets="soft")
    options = {"folder": tmp_path / "silver", "config": config, "silver": soft}
    found = distil(teacher, text, columns(10), columns(20, seed=1), **options)
    assert found.pipeline.segmenter is TEACHER.segmenter
    assert set(found.scores) == {"las", "uas"}
