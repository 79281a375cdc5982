"""Training of whole models: their parts, the tags that the parser sees, and reproducibility."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from pipeline_toys import SMALL, TAGGER, WORDS, columns, conllu, texts, trained, without

from arbora.data.columns import columns_of, parse_text
from arbora.data.synthetic import generate
from arbora.errors import ArboraError, InputError
from arbora.pipeline.lemmatizer import train_lemmatizer
from arbora.pipeline.pipeline import FILLED, Pipeline, WordAnnotator
from arbora.pipeline.tagger import train_tagger
from arbora.pipeline.words import WordSettings
from arbora.progress import Silent
from arbora.registry import learners
from arbora.training import pipeline as training
from arbora.training.annotation import BLOCK, jackknife
from arbora.training.pipeline import jackknifed, train


class Listening(Silent):
    """Records all events."""

    def __init__(self):
        self.notes, self.stages, self.reports = [], [], []

    def note(self, text):
        self.notes.append(text)

    def begin(self, task, total=None, **options):
        self.stages.append(task)

    def report(self, report):
        self.reports.append(report)


class StopAfter(Silent):
    """Ctrl-C after an epoch of a stage."""

    def __init__(self, stage, epoch):
        self.at = stage, epoch

    def report(self, report):
        if (report.stage, report.epoch.number) == self.at:
            raise KeyboardInterrupt


def parsed(text):
    return parse_text(text, "conllu")


def saved(found, path, **options):
    found.save(path, **options)
    return path.read_bytes()


# ---------------------------------------------------------------- the parts


def test_a_full_treebank_trains_all_parts():
    heard = Listening()
    found = train(columns(40), columns(20, 1), config=SMALL, observer=heard)
    assert found.pipeline.parts == ("segmenter", "tagger", "lemmatizer", "parser")
    own = [stage for stage in heard.stages if not stage.startswith("fold ")]
    assert own == ["segmenter", "tags", "morphology", "lemmas", "jackknifing", "labels", "pruner", "tree"]
    assert [r["stage"] for r in found.reports] == [
        r.stage for r in heard.reports if not r.stage.startswith("fold ")
    ]
    wanted = {"words", "sentences", "upos", "morphology", "lemmas", "las", "uas"}
    assert found.pipeline.about["dev"].keys() == wanted
    assert found.scores.keys() == {"las", "uas"}
    for stage in set(own) - {"jackknifing"}:
        assert sum(r["best"] for r in found.reports if r["stage"] == stage) >= 1
    assert found.retagged
    assert len([note for note in heard.notes if "jackknifing" in note]) == 1
    assert {"fold 1 of 2: tags", "fold 2 of 2: tags"} < set(heard.stages)


@pytest.mark.parametrize(
    ("places", "parts", "notes"),
    [
        ((3,), ("segmenter", "parser"), ["tagger: none", "lemmatizer: none"]),
        ((2,), ("segmenter", "tagger", "parser"), ["lemmatizer: none"]),
        (("text",), ("segmenter", "tagger", "lemmatizer", "parser"), []),
        (("text", 2, 3), ("segmenter", "parser"), ["tagger: none", "lemmatizer: none"]),
        ((4, 5), ("segmenter", "tagger", "lemmatizer", "parser"), []),
    ],
    ids=str,
)
def test_parts_without_training_data_are_left_out(places, parts, notes, tmp_path):
    heard = Listening()
    bank = parsed(without(conllu(30), *places))
    found = train(bank, parsed(without(conllu(10, 1), *places)), config=SMALL, observer=heard)
    assert found.pipeline.parts == parts
    for note in notes:
        assert sum(each.startswith(note) for each in heard.notes) == 1
    assert sum(": none, since" in each for each in heard.notes) == len(notes)
    assert found.retagged == ("tagger" in parts)
    found.save(tmp_path / "m")
    again = Pipeline.load(tmp_path / "m")
    assert again.parts == parts
    words = [["Ann", "calls", "the", "dog", "."]]
    assert again.parse(words) == found.pipeline.parse(words)


def test_few_lemmas_train_no_lemmatizer():
    half = conllu(30).split("\n\n")
    for share, has in ((10, True), (20, False)):
        text = "\n\n".join([without(s, 2) for s in half[:share]] + half[share:])
        assert ("lemmatizer" in train(parsed(text), config=SMALL).pipeline.parts) == has


def test_training_a_parser_alone(tmp_path):
    found = train(columns(30), config={**SMALL, "only": "parser"})
    assert found.pipeline.parts == ("parser",)
    assert not found.retagged
    assert saved(found, tmp_path / "a") == saved(found.parser, tmp_path / "b")


def test_small_treebanks(small_treebank):
    # Some of its heads are not known.
    found = train(small_treebank, config={**SMALL, "learner": "adagrad"})
    assert found.pipeline.parts == ("segmenter", "tagger", "lemmatizer", "parser")
    one = train(columns(1), config=SMALL)  # nothing to jackknife
    assert one.pipeline.tagger is not None
    assert not one.retagged
    assert train(columns(3), config={**SMALL, "folds": 50}).retagged


def test_a_synthetic_treebank_with_tags_only():
    found = train(generate(60, seed=1), generate(30, seed=2), config=SMALL)
    assert found.pipeline.about["dev"]["upos"] > 75
    assert "morphology" not in found.pipeline.about["dev"]


def test_scores_of_parts_are_those_of_their_training():
    dev = list(generate(30, seed=2))
    found = train(generate(40, seed=1), dev, config=SMALL)
    before = found.scores_before(found.pipeline, columns_of(dev))
    assert before == {name: found.pipeline.about["dev"][name] for name in ("upos", "lemmas")}
    assert before["upos"] < 100


def test_a_dev_set_without_annotation():
    heard = Listening()
    found = train(columns(30), parsed(without(conllu(10, 1), "text")), config=SMALL, observer=heard)
    assert "words" not in found.pipeline.about["dev"]
    assert found.pipeline.segmenter is not None


# ---------------------------------------------------------------- the same bytes


@pytest.mark.parametrize("quantized", [False, True])
def test_seeds_and_threads(tmp_path, quantized):
    bank, dev = columns(30), columns(10, 1)
    first = saved(train(bank, dev, config=SMALL), tmp_path / "a", quantized=quantized)
    assert saved(train(bank, dev, config=SMALL, threads=2), tmp_path / "b", quantized=quantized) == first
    other = saved(train(bank, dev, config={**SMALL, "seed": 1}), tmp_path / "c", quantized=quantized)
    assert other != first


@pytest.mark.parametrize("at", [("labels", 2), ("tree", 2)])
def test_resuming_gives_the_same_bytes(tmp_path, at):
    bank, dev = columns(30), columns(10, 1)
    config = {**SMALL, "parameters": {"epochs": 3}}
    whole = saved(train(bank, dev, config=config), tmp_path / "whole")
    kept = tmp_path / "m.checkpoint"
    try:
        train(bank, dev, config=config, observer=StopAfter(*at), checkpoint=kept)
    except KeyboardInterrupt:
        assert at[0] != "tree"
    assert kept.exists()
    again = train(bank, dev, config=config, checkpoint=kept, resume=True)
    assert not again.interrupted
    assert saved(again, tmp_path / "again") == whole


@pytest.mark.parametrize("stage", ["tags", "morphology", "lemmas", "segmenter"])
def test_ctrl_c_before_the_parser_saves_nothing(tmp_path, stage):
    with pytest.raises(KeyboardInterrupt):
        train(columns(30), config=SMALL, observer=StopAfter(stage, 1), checkpoint=tmp_path / "c")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- jackknifing


def test_jackknifing_never_tags_training_sentences(monkeypatch):
    seen, calls = [], []

    def watching(which, real):
        def call(given, dev, *arguments, **options):
            assert dev is None
            calls.append(which)
            seen.append(set(given.native.extra_texts()))
            return real(given, dev, *arguments, **options)

        return call

    tools = training.Tools.of(columns(40), None, training.make_config(SMALL), 1, Silent())
    monkeypatch.setattr(training, "train_tagger", watching("tagger", train_tagger))
    monkeypatch.setattr(training, "train_lemmatizer", watching("lemmatizer", train_lemmatizer))
    applied = []

    class Watched(WordAnnotator):
        def annotate(self, columns, *, threads=1):
            applied.append(set(columns.native.extra_texts()))
            return super().annotate(columns, threads=threads)

    monkeypatch.setattr(training, "WordAnnotator", Watched)
    config = training.make_config({**SMALL, "folds": 4})
    bank = unique_ids(40)
    found = jackknifed(bank, config, tools, 1, Silent())
    assert calls == ["tagger", "lemmatizer"] * 4
    ids = {text for text in bank.native.extra_texts() if "sent_id" in text}
    held = [{text for text in each if "sent_id" in text} for each in applied]
    assert sum(map(len, held)) == 40
    assert set().union(*held) == ids
    for fold, (tagger_saw, lemmatizer_saw) in enumerate(zip(seen[::2], seen[1::2], strict=True)):
        assert not held[fold] & tagger_saw
        assert not held[fold] & lemmatizer_saw
        assert held[fold] | {t for t in tagger_saw if "sent_id" in t} == ids
    assert texts(found, "form") == texts(bank, "form")
    assert np.array_equal(found.heads, bank.heads)


def unique_ids(sentences):
    return parsed(conllu(sentences))


def test_jackknifed_tags_are_in_order():
    bank = columns(40)
    shuffled = np.random.default_rng(3).permutation(40)
    parts, number_of = [], {}
    for number, held in enumerate((shuffled[:7], np.sort(shuffled[7:30]), shuffled[30:])):
        part = bank.select(held)
        for column in FILLED:
            named = [f"{column}{number}-{s}-{w}" for s in held for w in range(5)]
            part = part.with_column(column, np.arange(part.words, dtype=np.int32), named)
            number_of |= {int(s): number for s in held}
        words = np.concatenate([np.arange(bank.offsets[s], bank.offsets[s + 1]) for s in held])
        parts.append((words, part))
    found = training._put_together(bank, parts)
    for column in FILLED:
        assert texts(found, column) == [
            f"{column}{number_of[s]}-{s}-{w}" for s in range(40) for w in range(5)
        ]
    for column in ("form", "deprel", "misc"):
        assert texts(found, column) == texts(bank, column)


@pytest.mark.parametrize(("sentences", "folds"), [(3, 3), (10, 4), (BLOCK * 5, 5), (BLOCK * 5 + 3, 5)])
def test_folds_share_all_sentences(sentences, folds):
    bank = columns(sentences)
    found = [fold.held for fold in jackknife(bank, folds)]
    assert len(found) == folds
    assert all(len(each) for each in found)
    words = np.concatenate([fold.words for fold in jackknife(bank, folds)])
    assert sorted(words.tolist()) == list(range(bank.words))
    assert max(map(len, found)) - min(map(len, found)) <= BLOCK


def test_gold_tags(monkeypatch):
    def never(*_, **__):
        raise AssertionError("nothing is jackknifed")

    monkeypatch.setattr(training, "jackknifed", never)
    found = train(columns(30), columns(10, 1), config={**SMALL, "tags": "gold"})
    assert found.pipeline.tagger is not None
    assert not found.retagged


def test_resumed_scores_use_the_same_tags():
    found = trained()
    assert found.scores_of(found.pipeline, columns(20, seed=1)) == found.scores
    before = found.scores_before(found.pipeline, columns(20, seed=1), threads=2)
    assert before == {name: found.pipeline.about["dev"][name] for name in ("upos", "morphology", "lemmas")}
    rounded = found.scores_of(found.pipeline.rounded(), columns(20, seed=1), threads=2)
    assert rounded.keys() == found.scores.keys()


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"only": "tagger"},
        {"tags": "silver"},
        {"folds": 1},
        {"folds": 101},
        {"tagger": {"upos": {"bits": 7}}},
        {"tagger": {"upos": {"bits": 27}}},
        {"tagger": {"upos": {"learner": "pegasus"}}},
        {"tagger": {"morphology": {"parameters": {"epoch": 2}}}},
        {"lemmatizer": {"parameters": {"C": -1.0}}},
        {"lemmatizer": {"learners": "mira"}},
        {"segmenter": {"epochs": 0}},
    ],
    ids=str,
)
def test_bad_settings_are_rejected_before_training(wrong, monkeypatch):
    monkeypatch.setattr(training, "_segmenter", None)
    with pytest.raises(InputError):
        train(columns(10), config={**SMALL, **wrong})


@pytest.mark.parametrize("name", ["perceptron", "mira", "pegasos", "one_slack", "log_linear", "adagrad"])
def test_any_learner_trains_word_models(name):
    parameters = {"epochs": 3 if name == "log_linear" else 8}
    parameters |= {"lam": 0.01} if name == "pegasos" else {}
    settings = WordSettings(bits=10, learner=name, parameters=parameters)
    _, reports = train_tagger(columns(30), columns(10, 1), type(TAGGER)(upos=settings, morphology=WORDS))
    assert max(report["dev"]["upos"] for report in reports if report["stage"] == "tags") > 90
    has_seed = any(parameter.name == "seed" for parameter in learners.factory(name).parameters())
    assert settings.create(5).settings().get("seed", None) == (5 if has_seed else None)


def test_settings_of_one_part_do_not_change_others():
    changed = training.make_config({"lemmatizer": {"bits": 18}, "tagger": {"morphology": {"bits": 18}}})
    usual = training.make_config(None)
    assert changed.lemmatizer == replace(usual.lemmatizer, bits=18)
    assert changed.tagger.morphology == replace(usual.tagger.morphology, bits=18)
    assert changed.tagger.upos == usual.tagger.upos


def test_treebanks_without_the_column_are_rejected():
    with pytest.raises(InputError):
        train_tagger(parsed(without(conllu(5), 3)))
    with pytest.raises(InputError):
        train_lemmatizer(parsed(without(conllu(5), 2)))
    with pytest.raises(ArboraError):
        train(parsed(""), config=SMALL)
    with pytest.raises(ArboraError):
        train(columns(5), parsed(""), config=SMALL)


# ---------------------------------------------------------------- tagger and lemmatizer alone


def test_tags_and_lemmas_of_new_sentences():
    tagger, reports = train_tagger(columns(60), columns(20, 1), TAGGER)
    lemmatizer, more = train_lemmatizer(columns(60), columns(20, 1), WORDS)
    gold = columns(30, seed=5)
    bare = parsed(without(conllu(30, seed=5), 2, 3, 4, 5))
    found = lemmatizer.lemmatize(tagger.tag(bare))
    for column in FILLED:
        assert texts(found, column) == texts(gold, column)
    for column in ("form", "deprel", "misc"):
        assert texts(found, column) == texts(bare, column)
    assert np.array_equal(found.heads, bare.heads)
    assert Counter(report["stage"] for report in reports + more) == {"tags": 3, "morphology": 3, "lemmas": 3}
    two = lemmatizer.lemmatize(tagger.tag(bare, threads=2), threads=2)
    assert two.to_bytes() == found.to_bytes()


def test_analyses_fit_their_tag():
    tagger = trained().pipeline.tagger
    noise = "".join(f"1\t{word}" + "\t_" * 8 + "\n\n" for word in ("x", "🌳", "3.5", "ﷺ", "e\u0301" * 50))
    found = tagger.tag(parsed(noise))
    for upos, xpos, feats in zip(*(texts(found, c) for c in ("upos", "xpos", "feats")), strict=True):
        assert (xpos, feats) in tagger.analyses[tagger.tags.index(upos)]


def test_unknown_tags_get_analyses():
    pipeline = trained().pipeline
    odd = parsed("1\tdogs\t_\tMOOD\t_\t_\t_\t_\t_\t_\n\n")
    found = pipeline.lemmatizer.lemmatize(pipeline.tagger.analyse(odd))
    assert texts(found, "upos") == ["MOOD"]
    assert texts(found, "lemma") != ["_"]


def test_words_without_tags_or_lemmas_are_skipped_in_training():
    lines = conllu(40).split("\n")
    holes = "\n".join(without(line, 2, 3) if i % 5 == 0 else line for i, line in enumerate(lines))
    tagger, _ = train_tagger(parsed(holes), None, TAGGER)
    lemmatizer, _ = train_lemmatizer(parsed(holes), None, WORDS)
    assert "_" not in tagger.tags
    found = lemmatizer.lemmatize(tagger.tag(columns(20, 2)))
    same = [a == b for a, b in zip(texts(found, "lemma"), texts(columns(20, 2), "lemma"), strict=True)]
    assert np.mean(same) > 0.9
    assert "_" not in texts(found, "lemma")


def test_spaces_are_guessed_if_the_treebank_has_none():
    sentences = columns(40).sentences()
    bare = columns_of(replace(each, comments=(), misc=("_",) * len(each)) for each in sentences)
    for spaces, expected in (("given", None), ("guessed", "guessed"), ("auto", "guessed")):
        config = {**SMALL, "segmenter": {"spaces": spaces, "epochs": 2}}
        pipeline = train(bare, bare, config=config).pipeline
        assert pipeline.about.get("spaces") == expected
        assert (pipeline.segmenter is None) == (expected is None)
    assert [len(sentence) for sentence in pipeline("Ann calls the dogs.")] == [5]
