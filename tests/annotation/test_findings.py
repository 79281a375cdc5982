"""Words that may be wrong: listed, accepted, found right, kept across restarts."""

import pytest
from annotation_toys import conllu, edit, make_project
from errors import rejects

from arbora.annotation import api, changes
from arbora.annotation.findings import NAME, improbable_arcs, invalid_words, key_of
from arbora.annotation.refusal import Refusal
from arbora.annotation.texts import read_draft

WRONG = "She PRON 2 nsubj|reads VERB 0 root|old ADJ 2 amod|books NOUN 2 obj"
ODD = "He PRON 2 subject|sleeps V 0 root"
RIGHT = "They PRON 2 nsubj|write VERB 0 root|new ADJ 4 amod|books NOUN 2 obj"
TEXT = conllu(WRONG) + conllu(ODD) + conllu(RIGHT)


def improbable(project, number, word, probability, head=4, deprel="amod"):
    """The report of a check that proposes another arc."""
    node = read_draft(project.store.texts[number - 1]).nodes[word - 1]
    own = {
        "word": word,
        "head": node.head,
        "deprel": node.deprel,
        "probability": probability,
        "odds": 1 / probability,
    }
    return {"sentence": number - 1, **own, "proposed_head": head, "proposed_deprel": deprel}


def checked(project, *report):
    drafts = [read_draft(text) for text in project.store.texts]
    project.put_findings(improbable_arcs(report, drafts), {})


@pytest.fixture
def project(tmp_path):
    made = make_project(tmp_path, TEXT)
    checked(made, improbable(made, 1, 3, 0.01), improbable(made, 3, 1, 0.002, 4, "det"))
    return made


def places(project, **wanted):
    return [(each.number, each.word) for each in project.findings(api.FindingsRequest(**wanted)).findings]


def settle(project, number, word, **options):
    version = project.summaries[number - 1].version
    return project.settle(api.SettleRequest(number, version, word, **options))


def test_improbable_arcs_come_first_then_faults(project):
    found = project.findings(api.FindingsRequest())
    assert [(each.number, each.word) for each in found.findings] == [(3, 1), (1, 3), (2, 1), (2, 2)]
    assert [each.probability for each in found.findings] == [0.002, 0.01, None, None]
    assert [each.proposal for each in found.findings[1:3]] == [api.Proposal(4, "amod"), None]
    assert found.findings[1].form == "old"
    assert all(each.faults for each in found.findings)
    assert places(project, start=2, count=2) == [(1, 3), (2, 1)]
    assert project.findings(api.FindingsRequest(count=1)).total == 4
    assert [row.suspicious for row in project.rows(api.ListRequest()).sentences] == [1, 0, 1]


def test_an_accepted_proposal_is_settled_and_undo_brings_it_back(project):
    proposal = project.sentence(1).words[2].proposal
    edit(project, 1, changes.SetHead(word=3, head=proposal.head, deprel=proposal.deprel))
    assert (1, 3) not in places(project)
    assert project.sentence(1).words[2].faults == []
    project.undo()
    assert (1, 3) in places(project)


def test_other_edits_of_the_sentence_keep_the_mark(project):
    edit(project, 1, changes.SetTags(word=1, lemma="she"))
    edit(project, 2, changes.SetLabel(word=1, deprel="nsubj"))
    assert places(project) == [(3, 1), (1, 3), (2, 2)]


def test_a_word_found_right_is_not_marked_again(project, tmp_path):
    revision = project.view().revision
    view = settle(project, 1, 3)
    assert (view.words[2].faults, view.words[2].proposal) == ([], None)
    settle(project, 2, 2)
    assert places(project) == [(3, 1), (2, 1)]
    assert project.view().revision > revision
    checked(project, improbable(project, 1, 3, 0.01))
    assert places(project) == [(2, 1)]
    project.close()
    again = make_project(tmp_path, None)
    assert places(again) == [(2, 1)]
    settle(again, 1, 3, right=False)
    assert places(again) == [(1, 3), (2, 1)]


def test_a_changed_arc_is_marked_again(project):
    settle(project, 2, 1)
    edit(project, 2, changes.SetLabel(word=1, deprel="object"))
    assert (2, 1) in places(project)


def test_findings_stay_with_their_sentences(project):
    edit(project, 2, changes.SplitSentence(word=1))
    assert places(project)[:2] == [(4, 1), (1, 3)]


def test_findings_with_faults_are_ignored(project, tmp_path):
    project.close()
    (tmp_path / "toy.annotation" / NAME).write_text('{"arcs": 1}')
    assert places(make_project(tmp_path, None)) == [(2, 1), (2, 2)]


def test_impossible_requests_are_refused(project):
    with rejects(Refusal, code="stale"):
        project.settle(api.SettleRequest(1, "x", 1))
    with rejects(Refusal, code="no_such_word"):
        settle(project, 1, 9)


def test_invalid_words_are_marked_until_they_change(project):
    drafts = [read_draft(text) for text in project.store.texts]
    project.put_findings({}, invalid_words([(0, 2, "first"), (0, 2, "second")], drafts))
    assert project.sentence(1).words[1].faults == ["first", "second"]
    assert places(project)[0] == (1, 2)
    edit(project, 1, changes.SetTags(word=2, feats="Tense=Pres"))
    assert project.sentence(1).words[1].faults == []


def test_keys_are_those_of_the_words():
    one, other = (read_draft(conllu(rows)) for rows in (WRONG, WRONG.replace("4 amod", "2 dep")))
    assert key_of(one) == key_of(other) != key_of(read_draft(conllu(ODD)))
