"""Edits of heads, labels and tags: whose a value is, cycles in words, and what the parser may change."""

import pytest
from annotation_toys import ROWS, assistant, conllu, draft, edit, make_project
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st

from arbora.annotation import api, arcs, changes
from arbora.annotation.draft import Draft
from arbora.annotation.refusal import Refusal
from arbora.data.columns import parse_sentence
from arbora.data.sentence import NO_HEAD

BARE = conllu(trees=False)


def heads(view):
    return [word.head for word in view.words]


def test_states_follow_the_work(tmp_path):
    project = make_project(tmp_path, BARE)
    assert project.sentence(1).state == "raw"
    draft = Draft.of(parse_sentence(project.store.texts[0]))
    assistant().fill([draft], "single")
    project.put_parsed({project.store.texts[0]: draft.to_sentence().to_conllu()})
    assert project.sentence(1).state == "parsed"
    edit(project, 1, changes.Confirm(words=[1]))
    view = project.sentence(1)
    assert view.state == "touched"
    assert [word.by["head"] for word in view.words] == ["human", "parser", "parser", "parser"]
    edit(project, 1, changes.SetState(state="done"))
    assert "Parser=" not in project.store.texts[0]
    assert {word.by["head"] for word in project.sentence(1).words} == {"human"}
    edit(project, 1, changes.SetState(state="touched"))
    assert project.sentence(1).state == "touched"
    edit(project, 1, changes.Forget(words=[]))
    assert project.sentence(1).state == "parsed"


def test_trees_of_the_file_are_a_humans(tmp_path):
    project = make_project(tmp_path, conllu())
    view = project.sentence(1)
    assert view.state == "done"
    edit(project, 1, changes.SetHead(word=3, head=2))
    assert heads(project.sentence(1)) == [2, 0, 2, 2]
    assert project.sentence(1).state == "done"


def test_given_trees_can_be_left_to_the_parser(tmp_path):
    project = make_project(tmp_path, conllu())
    project.give_to_parser()
    view = project.sentence(1)
    assert view.state == "parsed"
    assert {word.by["head"] for word in view.words} == {"parser"}
    with rejects(Refusal, code="nothing_to_undo"):  # that would make all trees a human's
        project.undo()
    edit(project, 1, changes.Confirm(words=[1]))
    project.give_to_parser()
    assert project.sentence(1).words[0].by["head"] == "human"


def test_one_arc_parses_the_rest_around_it(tmp_path):
    project = make_project(tmp_path, BARE)
    response = edit(project, 1, changes.SetHead(word=2, head=4, deprel="flat"))
    (view,) = response.sentences
    assert (view.words[1].head, view.words[1].deprel) == (4, "flat")
    assert None not in heads(view)
    assert sorted(response.reparsed) == [1, 3, 4]
    known = [column for column, who in view.words[1].by.items() if who == "human"]
    assert known == ["head", "deprel", "upos"]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), max_size=12))
def test_decisions_are_never_replaced_by_the_parser(steps):
    text = "a X _ _|b Y _ _|c X _ _|d Z _ _|e X _ _|f Y _ _".replace("_ _", "0 root")
    sentence = draft(text, trees=False)
    decided = {}
    for word, head in steps:
        try:
            arcs.set_head(sentence, word, head, None, roots="single")
        except Refusal:
            continue
        decided[word] = head
        assistant().fill([sentence], "single")
        assert {word: sentence.node(word).head for word in decided} == decided
        assert NO_HEAD not in [node.head for node in sentence.nodes]
        parse_sentence(sentence.to_sentence().to_conllu())  # it is a tree


def test_cycles_are_explained_in_words():
    sentence = draft(trees=False)
    arcs.set_head(sentence, 1, 2, None, roots="single")
    with rejects(Refusal, code="cycle") as caught:
        arcs.set_head(sentence, 2, 1, None, roots="single")
    assert "reads -> She -> reads" in str(caught.value)
    arcs.set_head(sentence, 2, 1, None, roots="single", release=True)
    assert sentence.decided_heads() == [NO_HEAD, 1, NO_HEAD, NO_HEAD]
    with rejects(Refusal, code="cycle"):
        arcs.set_head(sentence, 3, 3, None, roots="single")


def test_words_that_occur_twice_have_numbers():
    sentence = draft("the DET 2 det|the DET 0 root")
    with rejects(Refusal, code="cycle") as caught:
        arcs.set_head(sentence, 2, 1, None, roots="single")
    assert "the (2) -> the (1) -> the (2)" in str(caught.value)


def test_a_second_root_is_refused_or_released():
    sentence = draft()
    with rejects(Refusal, code="two_roots"):
        arcs.set_head(sentence, 1, 0, "root", roots="single")
    arcs.set_head(sentence, 1, 0, "root", roots="single", release=True)
    assert sentence.decided_heads() == [0, NO_HEAD, 4, 2]
    arcs.set_head(sentence, 2, 0, "root", roots="multi")
    assert sentence.decided_heads()[:2] == [0, 0]


def test_without_a_parser_contradicting_proposals_are_dropped(tmp_path):
    project = make_project(tmp_path, conllu(), model=False)
    project.give_to_parser()
    edit(project, 1, changes.SetHead(word=2, head=4))
    assert heads(project.sentence(1)) == [2, 4, 4, None]
    edit(project, 1, changes.SetHead(word=3, head=0))
    assert heads(project.sentence(1))[1:3] == [4, 0]


def test_labels_decide_their_arc():
    sentence = draft(trees=False)
    with rejects(Refusal, code="bad_edit"):
        arcs.set_label(sentence, 1, "nsubj")
    assistant().fill([sentence], "single")
    head = sentence.node(1).head
    arcs.set_label(sentence, 1, "nsubj:x")
    assert sentence.decided_heads()[0] == head
    assistant().fill([sentence], "single")
    assert sentence.node(1).deprel == "nsubj:x"


@pytest.mark.parametrize("value", ["", " x", "a b", "a\tb", "a\nb", "\x00", "x" * 1001])
def test_values_that_no_column_holds_are_refused(value):
    for change in (
        lambda s: arcs.set_label(s, 1, value),
        lambda s: arcs.set_tags(s, 1, {"upos": value}),
        lambda s: arcs.set_form(s, 1, value.replace("a b", "")),
    ):
        with rejects(Refusal, code="bad_edit"):
            change(draft())


def test_features_are_checked_and_sorted():
    sentence = draft()
    arcs.set_tags(sentence, 1, {"feats": "Number=Sing|case=Nom|Abbr=Yes"})
    assert sentence.node(1).feats == "Abbr=Yes|case=Nom|Number=Sing"
    for value in ("Number", "Number=", "A=1|A=2", "|"):
        with rejects(Refusal, code="bad_edit"):
            arcs.set_tags(sentence, 1, {"feats": value})
    with rejects(Refusal, code="bad_edit"):
        arcs.set_tags(sentence, 1, {})


def test_corrections_count_changed_heads_and_labels(tmp_path):
    project = make_project(tmp_path, BARE)
    edit(project, 1, changes.SetHead(word=1, head=2, deprel="nsubj"))
    assert project.sentence(1).corrections == 0  # there was nothing to correct
    old = project.sentence(1).words[2].head
    edit(project, 1, changes.SetHead(word=3, head=1 if old != 1 else 2))
    assert project.sentence(1).corrections == 1
    assert "# corrections = 1" in project.store.texts[0]
    project.undo()
    assert project.sentence(1).corrections == 0


def test_done_needs_all_arcs(tmp_path):
    project = make_project(tmp_path, BARE)
    with rejects(Refusal, code="unfinished"):
        edit(project, 1, changes.SetState(state="done"))


def test_stale_versions_and_unknown_places_are_refused(tmp_path):
    project = make_project(tmp_path, BARE)
    old = project.sentence(1).version
    edit(project, 1, changes.SetHead(word=1, head=2))
    with rejects(Refusal, code="stale"):
        project.edit(api.EditRequest(1, old, changes.Confirm(words=[])))
    with rejects(Refusal, code="no_such_sentence"):
        project.sentence(2)
    with rejects(Refusal, code="no_such_word"):
        edit(project, 1, changes.SetHead(word=5, head=1))
    with rejects(Refusal, code="no_next_sentence"):
        edit(project, 1, changes.JoinSentences())


OWN, OTHERS = st.sampled_from(["head", "deprel", "upos", "lemma"]), st.sampled_from(["xpos", "feats"])


@given(st.lists(OWN, unique=True), st.lists(OTHERS))
def test_marks_round_trip(human, parser):
    sentence = draft()
    node = sentence.node(1)
    node.misc, node.xpos, node.feats = "SpaceAfter=No|Parser=UDPipe", "P", "A=b"
    node.human, node.parser = frozenset(human), frozenset(parser)
    again = Draft.of(parse_sentence(sentence.to_sentence().to_conllu()))
    assert again.nodes == sentence.nodes
    assert sentence.to_sentence(marks=False).misc[0] == "SpaceAfter=No|Parser=UDPipe"


def test_choices_rank_heads_and_labels(tmp_path):
    project = make_project(tmp_path, BARE + conllu(ROWS))
    version = project.summaries[0].version
    choices = project.choices(api.ChoicesRequest(1, version, word=1, head=2))
    shares = [each.probability for each in choices.heads]
    assert sorted(each.head for each in choices.heads) == [0, 2, 3, 4]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    known = [each.probability for each in choices.labels if each.probability is not None]
    assert sum(known) == pytest.approx(1.0, abs=1e-3)
    assert known == sorted(known, reverse=True)
    names = [each.deprel for each in choices.labels]
    assert len(names) == len(set(names))
    assert {"amod", "nsubj", "xcomp"} <= set(names)


def test_probabilities_are_those_of_the_shown_arcs(tmp_path):
    project = make_project(tmp_path, BARE)
    edit(project, 1, changes.SetHead(word=2, head=0, deprel="root"))
    view = project.sentence(1)
    assert all(0 <= word.head_probability <= 1 for word in view.words)
    assert view.doubtful in (1, 3, 4)
    least = min((w for w in view.words if w.id != 2), key=lambda w: w.head_probability * w.label_probability)
    assert view.doubtful == least.id
    assert 0 < view.probability <= 1


def test_trees_are_ranked_around_decisions(tmp_path):
    project = make_project(tmp_path, BARE)
    edit(project, 1, changes.SetHead(word=3, head=1))
    found = project.trees(api.TreesRequest(1, project.summaries[0].version, k=4)).trees
    assert len(found) == 4
    assert all(tree.heads[2] == 1 for tree in found)


@pytest.mark.parametrize(
    ("deps", "after_head", "after_label"),
    [
        ("2:nsubj", "4:nsubj", "4:obl"),
        ("2:nsubj:pass|4:nsubj", "4:nsubj", "4:obl"),
        ("1.1:dep|2:nsubj|10:ref", "1.1:dep|4:nsubj|10:ref", "1.1:dep|4:obl|10:ref"),
        ("3:dep|5:dep", "3:dep|5:dep", "3:dep|5:dep"),  # without the basic arc
        ("3:dep", "3:dep", "3:dep"),
        ("_", "_", "_"),
        ("x", "x", "x"),
    ],
)
def test_enhanced_dependencies_follow_the_arc(deps, after_head, after_label):
    sentence = draft()
    word = next(i for i, node in enumerate(sentence.nodes, 1) if (node.head, node.deprel) == (2, "nsubj"))
    node = sentence.nodes[word - 1]
    node.deps = deps
    arcs.set_head(sentence, word, 4, None, roots="single", release=True)
    assert node.deps == after_head
    arcs.set_label(sentence, word, "obl")
    assert node.deps == after_label


def test_an_arc_that_was_unknown_replaces_the_only_enhanced_one():
    node = draft().nodes[0]
    node.deps = f"{node.head}:{node.deprel}"
    kept = node.deps
    node.fill(head=NO_HEAD, deprel="_")
    assert node.deps == kept
    node.fill(head=3)
    node.fill(deprel="obj")
    assert node.deps == "3:obj"


def test_faults_are_those_of_human_decisions(tmp_path):
    project = make_project(tmp_path, conllu())
    edit(project, 1, changes.SetState(state="touched"))
    edit(project, 1, changes.SetLabel(word=1, deprel="root"))
    assert project.sentence(1).words[0].faults
    project.assistant = None
    edit(project, 1, changes.Forget(words=[1]))
    assert project.sentence(1).words[0].deprel == "root"
    assert not project.sentence(1).words[0].faults
