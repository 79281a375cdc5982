"""Learning in the background: from arcs alone, from words alone, cancelled, after a restart."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from annotation_toys import assistant, conllu, edit, make_project
from errors import rejects
from graph_toys import treebank
from serving_toys import parser

from arbora.annotation import api, arcs, changes, examples, learner, learning
from arbora.annotation.assistant import without_tags
from arbora.annotation.draft import Draft
from arbora.annotation.learner import Request
from arbora.annotation.learning import Learning
from arbora.annotation.refusal import Refusal
from arbora.data.columns import columns_of, parse_sentence
from arbora.data.sentence import NO_HEAD
from arbora.errors import DataError
from arbora.pipeline.pipeline import Pipeline

GOLD = [sentence for sentence in treebank(60, seed=5).sentences() if len(sentence) > 2]


def bare(sentence):
    n = len(sentence)
    return replace(sentence, heads=(NO_HEAD,) * n, deprels=("_",) * n)


def text_of(sentences):
    return "".join(sentence.to_conllu() for sentence in sentences)


@pytest.fixture
def in_process(monkeypatch):
    """Train in this process, which takes less time than a new one."""

    def run(self, folder, request):
        request.write(folder)
        learner.run(folder)

    monkeypatch.setattr(Learning, "_run_learner", run)
    monkeypatch.setattr(learner, "EPOCHS", 3)


def opened(folder, sentences, **options):
    project = make_project(folder, None if sentences is None else text_of(sentences), model=False)
    background = Learning(project, **{"every": 0, **options})
    background.open()
    background.wait()
    assert background.error is None
    return project, background


def test_a_first_model_is_induced_and_arcs_teach(tmp_path, in_process):
    project, background = opened(tmp_path, [bare(sentence) for sentence in GOLD])
    view = project.view()
    assert view.model.source == "induced"
    assert view.states["parsed"] == len(GOLD)
    for number, sentence in enumerate(GOLD[:20], start=1):
        word = sentence.deprels.index("root") + 1
        edit(project, number, changes.SetHead(word=word, head=0, deprel="root", release=True))
        edit(project, number, changes.SetHead(word=word % len(sentence) + 1, head=word, deprel="nsubj"))
    background.command(api.LearnRequest("start"))
    background.wait()
    view = project.view()
    assert (view.model.source, view.learning.error) == ("learned", None)
    assert view.states["touched"] == 20
    kept = [Draft.of(parse_sentence(text)) for text in project.store.texts[:20]]
    assert [draft.decided for draft in kept] == [2] * 20
    labels = {node.deprel for text in project.store.texts for node in Draft.of(parse_sentence(text)).nodes}
    assert labels <= {"root", "nsubj"}
    points = background.curve().points
    assert [point.source for point in points] == ["induced", "learned"]
    project.close()
    again, _ = opened(tmp_path, None)
    assert again.view().model.source == "learned"
    assert again.view().states["touched"] == 20


def test_enough_decisions_start_a_training(tmp_path, in_process):
    project, background = opened(tmp_path, [*GOLD[:8], bare(GOLD[9])], every=2)
    number = project.view().model.number
    edit(project, 9, changes.SetHead(word=1, head=2, deprel="x"))
    assert background.since == 1
    edit(project, 9, changes.SetLabel(word=1, deprel="y"))
    background.wait()
    view = project.view()
    assert view.model.number > number
    assert (view.learning.since, view.learning.error) == (0, None)
    assert project.sentence(9).words[0].deprel == "y"


def test_held_out_sentences_give_scores_and_teach_nothing(tmp_path, in_process):
    project, background = opened(tmp_path, [*GOLD, bare(GOLD[0])])
    (point,) = background.curve().points
    assert point.held_out_words >= examples.LEAST_HELD_OUT
    assert 20 < point.las <= point.uas <= 100
    written = (project.store.folder / "learning" / "train.conllu").read_text()
    held = [each for each in GOLD if examples.is_held_out(Draft.of(each))]
    assert 0 < len(held) < len(GOLD) / 3
    assert not any(
        f"# sent_id = {each.metadata['sent_id']}\n" in written for each in held if "sent_id" in each.metadata
    )
    assert written.count("\n\n") == len(GOLD) - len(held)


def test_a_given_model_stays_until_a_better_one_is_learned(tmp_path, in_process):
    path = tmp_path / "given.arbora"
    Pipeline(parser=parser()).save(path)
    given = Pipeline.load(path)
    project, background = opened(
        tmp_path, [bare(s) for s in GOLD[:5]], given=given, name="x", given_path=str(path)
    )
    assert project.view().model.name == "x"
    assert project.view().states["parsed"] == 5
    edit(project, 1, changes.Confirm(words=[1]))
    background.command(api.LearnRequest("start"))
    background.wait()
    assert background.error is None
    assert project.view().model.source == "given"  # nothing is held out yet
    assert "x stays" in project.view().learning.message
    assert str(examples.LEAST_HELD_OUT) in project.view().learning.message
    assert [point.source for point in background.curve().points] == ["given"]


def test_why_a_given_model_stays():
    assert learning.why_given_stays(80.0, 80.0, 500) == ""
    assert "70.5" in learning.why_given_stays(70.5, 80.25, 500)
    assert "12" in learning.why_given_stays(None, None, 12)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_treebank_without_sentences_is_rejected(tmp_path, text):
    with rejects(DataError):
        make_project(tmp_path, text, model=False)


def test_a_training_can_be_cancelled_and_runs_once(tmp_path, monkeypatch):
    slow = "import time; time.sleep(60)"
    monkeypatch.setattr(learning, "COMMAND", ("-c", slow))
    project = make_project(tmp_path, conllu(), model=False)
    background = Learning(project)
    background.command(api.LearnRequest("start"))
    while background._process is None:
        time.sleep(0.01)
    with rejects(Refusal, code="learning"):
        background.command(api.LearnRequest("start"))
    edit(project, 1, changes.SetHead(word=1, head=4))  # the API does not wait
    assert background.view().phase == "training"
    background.command(api.LearnRequest("cancel"))
    background.wait(10)
    assert (background.view().phase, background.message) == ("idle", "cancelled")
    with rejects(Refusal, code="not_learning"):
        background.command(api.LearnRequest("cancel"))


@pytest.mark.parametrize("code", ["1/0", 'print(\'{"error": "no"}\')'])
def test_a_failed_training_is_reported(tmp_path, monkeypatch, code):
    monkeypatch.setattr(learning, "COMMAND", ("-c", code))
    project = make_project(tmp_path, conllu(trees=False), model=False)
    background = Learning(project)
    background.command(api.LearnRequest("start"))
    background.wait(60)
    assert background.error
    assert background.view().phase == "idle"
    edit(project, 1, changes.SetHead(word=1, head=4))


def test_the_learner_runs_as_a_process(tmp_path):
    project = make_project(tmp_path, text_of(GOLD[:10]), model=False)
    background = Learning(project)
    folder = background._work_folder()
    (folder / "train.conllu").write_bytes(columns_of(GOLD[:10]).to_bytes())
    background._run_learner(folder, Request("learn"))
    assert Pipeline.load(folder / "model.arbora").parser.gives_labels
    with rejects(learning.LearnerError):
        background._run_learner(folder, Request("learn", start=str(tmp_path / "none.arbora")))
    assert json.loads((folder / "request.json").read_text())["do"] == "learn"


def test_damaged_state_is_ignored(tmp_path, in_process):
    project, _ = opened(tmp_path, GOLD[:5])
    project.close()
    folder = project.store.folder
    (folder / "state.json").write_text("{")
    (folder / "curve.jsonl").write_bytes(b"{}\nx\n")
    again, background = opened(tmp_path, None)
    assert background.curve().points == []
    assert again.view().model is not None


def test_a_tagger_takes_the_place_of_word_classes(tmp_path, in_process, monkeypatch):
    monkeypatch.setattr(examples, "LEAST_TAGGED", 40)
    plain = [without_tags(bare(sentence)) for sentence in GOLD[:20]]
    project, background = opened(tmp_path, plain)
    assert not project.assistant.writes_tags
    assert {word.upos for number in range(1, 21) for word in project.sentence(number).words} == {"_"}
    for number, sentence in enumerate(GOLD[:12], start=1):
        for word, tag in enumerate(sentence.upos, start=1):
            edit(project, number, changes.SetTags(word=word, upos=tag), reparse=False)
    background.command(api.LearnRequest("start"))
    background.wait()
    assert background.error is None
    assert project.assistant.writes_tags
    view = project.sentence(20)
    assert {word.by["upos"] for word in view.words} == {"parser"}
    assert {word.upos for word in view.words} <= {tag for sentence in GOLD for tag in sentence.upos}
    edit(project, 1, changes.SetHead(word=1, head=2, deprel="x"))
    background.command(api.LearnRequest("start"))
    background.wait()
    assert (background.error, project.assistant.source) == (None, "learned")


def test_given_trees_complete_what_teaches(tmp_path):
    drafts = [Draft.of(bare(sentence)) for sentence in GOLD[:4]]
    arcs.set_head(drafts[0], 1, 2, "x", roots="single")
    found = examples.with_proposals(drafts, assistant(), "single")
    assert len(found) == 3 + examples.TIMES
    assert all(NO_HEAD not in sentence.heads for sentence in found)
    assert [(each.heads[0], each.deprels[0]) for each in found[: examples.TIMES]] == [
        (2, "x")
    ] * examples.TIMES
    assert drafts[1].state == "raw"


def test_a_check_marks_improbable_arcs(tmp_path, in_process):
    wrong = replace(GOLD[7], heads=tuple(range(len(GOLD[7]))))
    project = make_project(tmp_path, text_of([*GOLD[:7], wrong, *GOLD[8:]]))
    background = Learning(project, every=0)
    revision = project.view().revision
    background.command(api.LearnRequest("check"))
    background.wait()
    assert background.error is None
    assert project.view().revision > revision
    rows = project.rows(api.ListRequest()).sentences
    assert max(rows, key=lambda row: row.suspicious).number == 8
    words = project.sentence(8).words
    assert sum("improbable" in fault for word in words for fault in word.faults) == rows[7].suspicious > 0


def test_a_check_marks_what_breaks_the_rules(tmp_path, in_process):
    pytest.importorskip("udtools", reason="needs udtools (extra: check)")
    wrong = replace(GOLD[7], feats=("Case=nom", *GOLD[7].feats[1:]))
    project = make_project(tmp_path, text_of([*GOLD[:7], wrong]))
    background = Learning(project, every=0, language="ud")
    background.command(api.LearnRequest("check"))
    background.wait()
    assert background.error is None
    assert any("nom" in fault for fault in project.sentence(8).words[0].faults)
    assert project.findings(api.FindingsRequest()).total > 0


def test_a_check_needs_sentences(tmp_path):
    background = Learning(make_project(tmp_path, conllu()))
    with rejects(Refusal, code="nothing_to_learn"):
        background.command(api.LearnRequest("check"))


def with_some_heads(sentence, words):
    heads = [head if i in words else NO_HEAD for i, head in enumerate(sentence.heads, 1)]
    labels = [label if i in words else "_" for i, label in enumerate(sentence.deprels, 1)]
    return replace(sentence, heads=tuple(heads), deprels=tuple(labels))


def test_likely_arcs_are_added_around_the_given_ones():
    whole = columns_of(GOLD)
    model = learner.learn(whole).parser
    parts = columns_of([with_some_heads(sentence, {1}) for sentence in GOLD])
    added = learner.with_likely_arcs(parts, model, 0.5)
    known = parts.heads >= 0
    assert np.array_equal(added.heads[known], parts.heads[known])
    new = (added.heads >= 0) & ~known
    assert new.mean() > 0.5
    assert (added.heads[new] == whole.heads[new]).mean() > 0.9
    texts, gold = added.texts("deprel"), whole.texts("deprel")
    assert np.mean([texts[i] == gold[i] for i in np.flatnonzero(new)]) > 0.9
    assert all(texts[i] == "_" for i in np.flatnonzero(added.heads < 0))
    assert np.array_equal(learner.with_likely_arcs(parts, model, 1.0).heads, parts.heads)


def test_few_decisions_are_learned_from_alone(monkeypatch):
    """Likely arcs around them would mostly be errors."""
    parts = columns_of([with_some_heads(sentence, {1, 2}) for sentence in GOLD])
    decided = int((parts.heads >= 0).sum())
    asked = []
    monkeypatch.setattr(learner, "with_likely_arcs", lambda columns, parser: asked.append(1) or columns)
    for columns, enough, times in [
        (parts, decided + 1, 0),
        (parts, decided, 1),
        (columns_of(GOLD), 0, 1),  # nothing is open
    ]:
        monkeypatch.setattr(learner, "ENOUGH", enough)
        learner.learn(columns)
        assert len(asked) == times


def test_one_crossing_tree_does_not_stop_a_projective_learner(monkeypatch):
    monkeypatch.setattr(learner, "ENOUGH", 0)
    crossing = replace(GOLD[0], heads=(3, 4, 0, 3, *[3] * (len(GOLD[0]) - 4)))
    columns = columns_of(
        [with_some_heads(crossing, {1, 2, 3}), *(with_some_heads(s, {1, 2}) for s in GOLD[1:])]
    )
    found = learner.learn(columns, trees="projective")
    assert found.parser.search.trees == "projective"


def test_decisions_during_a_training_start_the_next_one(tmp_path, in_process, monkeypatch):
    project, background = opened(tmp_path, [bare(sentence) for sentence in GOLD], every=3)
    trainings = []
    train = Learning._train

    def counted(self):
        trainings.append(self.project.totals.decisions)
        if len(trainings) == 1:
            self.since = 3  # made meanwhile
            with self._lock:
                monkeypatch.setattr(Learning, "_train", lambda self: (trainings.append(0), train(self)))
            return
        train(self)

    monkeypatch.setattr(Learning, "_train", counted)
    for number in (1, 2, 3):
        word = GOLD[number - 1].deprels.index("root") + 1
        edit(project, number, changes.SetHead(word=word, head=0, deprel="root", release=True))
    background.wait()
    assert len(trainings) == 2
    assert background.view().phase == "idle"
