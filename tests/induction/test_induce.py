"""From text without trees to a model: tags or classes, restarts, what is kept on Ctrl-C, errors."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects

from arbora import load, train
from arbora.data.columns import columns_of
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.errors import DataError, InputError
from arbora.induction.induce import InduceConfig, induce, with_classes
from arbora.induction.word_classes import ClassSettings
from arbora.progress import Silent
from arbora.registry import inducers

SENTENCES = list(generate(120, seed=1))
QUICK = {
    "crfae": {"rounds": 1, "passes": 1},
    "dmv": {"rounds": 2},
    "neural-dmv": {"rounds": 1, "first_steps": 5, "steps": 2},
    "convex-mst": {"rounds": 2, "features": 100},
}


def quick(model="crfae", **settings):
    given = {"model": model, "parameters": QUICK.get(model, {}), "only": "parser", "longest": 12}
    return InduceConfig(**{**given, **settings})


def untagged(sentence):
    nothing = ("_",) * len(sentence)
    return replace(sentence, upos=nothing, xpos=nothing, feats=nothing, lemmas=nothing)


class Noted(Silent):
    """Keeps what is told."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("model", list(inducers))
def test_every_model_parses_and_comes_back_from_its_file(model, tmp_path):
    found = induce(SENTENCES, config=quick(model))
    path = tmp_path / "x.arbora"
    found.save(path)
    again = load(path)
    assert again.parser.search.name == "induced"
    assert again.parse(SENTENCES[:20]) == found.pipeline.parse(SENTENCES[:20])
    (sure,) = again.parse(SENTENCES[:1], probabilities=True)
    assert 0.0 < sure.probability <= 1.0
    assert again.parser.about["model"] == model
    assert again.kbest(SENTENCES[0], 3)[0].heads == sure.heads


def test_trees_that_are_there_are_not_looked_at():
    bare = [replace(s, heads=(-1,) * len(s), deprels=("_",) * len(s)) for s in SENTENCES]
    with_trees, without = (induce(given, config=quick()).pipeline for given in (SENTENCES, bare))
    assert with_trees.parse(bare[:20]) == without.parse(bare[:20])


def test_the_best_of_several_starts_is_chosen_and_the_others_are_held_against_it():
    found = induce(SENTENCES, config=quick(restarts=3, seed=2, rules="none"))
    assert [start.seed for start in found.starts] == [2, 3, 4]
    assert found.best.objective == max(start.objective for start in found.starts)
    assert found.best.agreement == 1.0
    assert all(0.0 <= start.agreement <= 1.0 for start in found.starts)
    assert len(found.pipeline.parser.about["starts"]) == 3


def test_one_seed_gives_one_model(tmp_path):
    for name in "ab":
        induce(SENTENCES, config=quick(), threads=1 + (name == "b")).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_words_without_tags_get_classes_and_the_model_a_tagger():
    bare = list(map(untagged, SENTENCES))
    noted = Noted()
    found = induce(
        bare, config=quick(only="all", classes=ClassSettings(count=6, least_count=2)), observer=noted
    )
    assert found.pipeline.tagger is not None
    assert any("classes of words stand for tags" in note for note in noted.notes)
    assert any("rules about tags are not used" in note for note in noted.notes)
    (parsed,) = found.pipeline.parse([list(SENTENCES[0].forms)])
    assert set(parsed.upos) <= {"PUNCT", *(f"C{i:02}" for i in range(6))}
    assert parsed.heads.count(0) == 1


def test_classes_leave_punctuation_alone():
    columns = columns_of(map(untagged, SENTENCES))
    found = with_classes(columns, ClassSettings(count=4, least_count=2), 0, Silent())
    forms, tags = found.strings("form"), found.strings("upos")
    for form, tag in zip(found.ids("form").tolist(), found.ids("upos").tolist(), strict=True):
        assert (tags[tag] == "PUNCT") == (not any(c.isalnum() for c in forms[form]))


@pytest.mark.parametrize("rounds", [0, 2])
def test_ctrl_c_keeps_what_there_is(rounds):
    class Impatient(Silent):
        ended = 0

        def report(self, report):
            self.ended += 1
            if self.ended > rounds:
                raise KeyboardInterrupt

    config = quick(parameters={"rounds": 5, "passes": 1}, restarts=2)
    found = induce(SENTENCES, config=config, observer=Impatient())
    assert found.interrupted
    assert len(found.starts) == 1
    assert len(found.best.history) == rounds + 1


def test_ctrl_c_before_the_first_round_is_passed_on(monkeypatch):
    def stop(self, *given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(inducers.factory("crfae"), "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        induce(SENTENCES, config=quick())


def test_rules_may_be_ones_own(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("VERB -> NOUN, PRON  # subjects and objects\nROOT -> VERB\n")
    found = induce(SENTENCES, config=quick(rules=str(path)))
    assert found.pipeline.parser.about["rules"] == [["ROOT", "VERB"], ["VERB", "NOUN"], ["VERB", "PRON"]]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"model": "crfea"}, "inducer"),
        ({"parameters": {"ruonds": 1}}, "parameter of crfae"),
        ({"parameters": {"rounds": 0}}, "rounds"),
        ({"rules": "no/such/file"}, None),
        ({"restarts": 0}, "restarts"),
        ({"longest": 0}, "longest"),
        ({"only": "some"}, "only"),
        ({"lngest": 3}, "setting"),
    ],
)
def test_bad_settings_are_rejected(settings, field):
    with rejects(InputError, field=field):
        induce(SENTENCES, config={"only": "parser", **settings})


def test_no_words_and_no_short_sentences_are_told():
    with rejects(DataError, source="<sentences>"):
        induce([], config=quick())
    long = [s for s in SENTENCES if np.count_nonzero(np.array(s.upos) != "PUNCT") > 3]
    with rejects(DataError, source="<sentences>"):
        induce(long, config=quick(longest=1))


def test_a_model_without_a_treebank_guides_one_with(tmp_path):
    path = str(tmp_path / "induced.arbora")
    induce(SENTENCES, config=quick()).save(path)
    small = {"only": "parser", "order": 1, "tree_bits": 14, "label_bits": 14}
    plan = {**small, "stack": path, "parameters": {"epochs": 2}}
    trained = train(SENTENCES[:40], SENTENCES[40:60], config=plan)
    assert trained.parser.names.guide.search.name == "induced"
    (tree,) = trained.parser.parse(SENTENCES[70:71])
    trained.save(tmp_path / "both.arbora")
    again = load(tmp_path / "both.arbora")
    assert again.parser.names.guide.search.name == "induced"
    assert again.parse(SENTENCES[70:71]) == [tree]


def test_ctrl_c_while_the_tagger_is_learned_keeps_the_parser(monkeypatch):
    def stop(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("arbora.induction.induce.Tools.of", stop)
    found = induce(SENTENCES, config=quick(only="all"))
    assert found.interrupted
    assert found.pipeline.parts == ("parser",)


def test_rules_that_are_not_about_the_text_are_told(tmp_path, caplog):
    path, noted = tmp_path / "mine.txt", Noted()
    path.write_text("verb -> noun")
    found = induce(SENTENCES, config=quick(rules=str(path)), observer=noted)
    assert "rules: 0 of 1 pair are of tags that the text has" in noted.notes
    assert "no rule is about the tags of this text (ADJ" in caplog.text
    without = induce(SENTENCES, config=quick(rules="none"))
    assert found.best.objective == without.best.objective


def test_messages_use_the_singular_for_one():
    sentence = Sentence.from_lists(["dog", "cat"], upos=["NOUN", "NOUN"])
    noted = Noted()
    found = induce([sentence], config=quick(longest=2), observer=noted)
    told = "crfae: learns from 1 of 1 sentence, those of at most 2 words, with 1 tag"
    assert noted.notes[:2] == [told, "rules: 1 of 45 pairs is of tags that the text has"]
    assert " over 1 tag, " in repr(found.pipeline.parser)


def test_classes_are_for_words_without_tags():
    with rejects(InputError, field="classes.rounds"):
        induce(SENTENCES, config=quick(classes=ClassSettings(rounds=3)))


def test_sentences_of_a_single_word_are_told(caplog):
    words = [Sentence.from_lists([word], upos=["NOUN"]) for word in ("dog", "cat", "sleeps", "runs")]
    induce(words, config=quick())
    assert "4 of 4 sentences to learn from have a single word" in caplog.text
    caplog.clear()
    induce([*words[:1], *SENTENCES[:20]], config=quick())
    assert "single word" not in caplog.text


def test_words_without_a_tag_among_others_are_told():
    some = [replace(SENTENCES[0], upos=("_", *SENTENCES[0].upos[1:])), *SENTENCES[1:]]
    noted = Noted()
    induce(some, config=quick(), observer=noted)
    assert any(note.startswith("1 of ") and "has no UPOS tag" in note for note in noted.notes)
