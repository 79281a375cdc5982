"""The treebank on disk: bytes, undo and redo across restarts, crashes, outside edits, locks."""

import json
import os

import pytest
from annotation_toys import ROWS, assistant, conllu, edit, make_project
from errors import rejects

from arbora.annotation import changes, store
from arbora.annotation.journal import Journal
from arbora.annotation.project import Project
from arbora.annotation.refusal import Refusal
from arbora.annotation.texts import split_texts
from arbora.errors import DataError, InputError

THREE = conllu() + conllu("Go VERB 0 root|on ADV 1 advmod", trees=False) + conllu(ROWS.replace("She", "He"))
HEAD = changes.SetHead(word=1, head=0, deprel="root")


def content(project):
    return project.store.file.read_bytes()


def undo_all(project):
    while project.store.undoable:
        project.undo()


@pytest.mark.parametrize(
    "text",
    [
        THREE,
        THREE.replace("\n", "\r\n"),
        "\ufeff" + THREE,
        THREE.rstrip("\n"),
        "\n" + THREE + "\n\n",
        THREE.replace("\n\n", "\n\n\n"),
    ],
)
def test_untouched_sentences_keep_their_bytes(tmp_path, text):
    project = make_project(tmp_path, text)
    before = content(project)
    texts = list(project.store.texts)
    assert "".join(texts).encode() == before
    edit(project, 2, HEAD)
    assert project.store.texts[0] == texts[0]
    assert project.store.texts[2] == texts[2]
    assert content(project) == "".join(project.store.texts).encode() != before
    undo_all(project)
    assert content(project) == before


def test_undo_and_redo_work_across_restarts(tmp_path):
    project = make_project(tmp_path, THREE)
    states = [content(project)]
    steps = [
        HEAD,
        changes.SetForm(word=1, form="Walk"),
        changes.SplitSentence(word=1),
        changes.SetTags(word=1, upos="NOUN"),
    ]
    for change in steps:
        edit(project, 2, change)
        states.append(content(project))
    for before in reversed(states[:-1]):
        project.close()
        project = make_project(tmp_path, None)
        project.undo()
        assert content(project) == before
    with rejects(Refusal, code="nothing_to_undo"):
        project.undo()
    for after in states[1:]:
        project.close()
        project = make_project(tmp_path, None)
        project.redo()
        assert content(project) == after
    with rejects(Refusal, code="nothing_to_redo"):
        project.redo()


def test_an_edit_after_undo_drops_what_could_be_redone(tmp_path):
    project = make_project(tmp_path, THREE)
    edit(project, 2, HEAD)
    project.undo()
    edit(project, 1, changes.SetForm(word=1, form="We"))
    assert project.store.redoable is None
    assert project.store.undoable == "text of She"


def test_undo_steps_over_the_parser(tmp_path):
    project = make_project(tmp_path, THREE)
    before = content(project)
    edit(project, 2, HEAD, reparse=False)
    old = project.store.texts[1]
    draft = conllu("Go VERB 0 root|on ADV 1 other", comments=["# annotation = touched"])
    project.put_parsed({old: draft})
    assert project.store.texts[1] == draft
    project.undo()
    assert content(project) == before


def test_a_torn_line_is_ignored(tmp_path):
    project = make_project(tmp_path, THREE)
    edit(project, 2, HEAD)
    kept = content(project)
    project.close()
    journal = tmp_path / "toy.annotation" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"do":"edit","what":"he')
    project = make_project(tmp_path, None)
    assert content(project) == kept
    assert journal.read_bytes() == whole
    project.undo()
    assert content(project).decode() == THREE


def test_an_edit_is_finished_after_a_crash(tmp_path, monkeypatch):
    project = make_project(tmp_path, THREE)
    before = content(project)
    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):  # as a kill between the journal and the treebank
            edit(project, 2, HEAD)
    assert content(project) == before
    project.close()
    project = make_project(tmp_path, None)
    assert "Human=HEAD,DEPREL" in project.store.texts[1]
    assert project.store.notes
    project.undo()
    assert content(project) == before


def test_an_unfinished_parse_is_dropped_after_a_crash(tmp_path, monkeypatch):
    project = make_project(tmp_path, THREE)
    edit(project, 2, HEAD)
    before = content(project)
    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            project.put_parsed({project.store.texts[0]: conllu("Oh INTJ 0 root")})
    project.close()
    project = make_project(tmp_path, None)
    assert content(project) == before
    assert project.store.undoable


def test_a_full_disk_changes_nothing(tmp_path, monkeypatch):
    project = make_project(tmp_path, THREE)
    edit(project, 1, HEAD_OF_SHE)
    before, journal = content(project), project.store.folder / "journal.jsonl"
    lines = journal.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, "replacing", full)
        with rejects(Refusal, code="not_saved"):
            edit(project, 2, HEAD)
    assert (content(project), journal.read_bytes()) == (before, lines)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with rejects(Refusal, code="not_saved"):
            edit(project, 2, HEAD)
    assert (content(project), journal.read_bytes()) == (before, lines)
    edit(project, 2, HEAD)
    undo_all(project)
    assert content(project).decode() == THREE


HEAD_OF_SHE = changes.SetHead(word=1, head=4)


def test_an_outside_edit_is_noticed_and_not_overwritten(tmp_path):
    project = make_project(tmp_path, THREE)
    edit(project, 2, HEAD)
    other = conllu("Other NOUN 0 root").encode()
    project.store.file.write_bytes(other)
    assert project.view().changed_outside
    for attempt in (lambda: edit(project, 1, HEAD_OF_SHE), project.undo):
        with rejects(Refusal, code="changed_outside"):
            attempt()
    with rejects(Refusal, code="changed_outside"):
        project.put_parsed({project.store.texts[0]: conllu("Oh INTJ 0 root")})
    assert content(project) == other
    assert project.save_copy("mine.conllu").file == "mine.conllu"
    assert "Human=HEAD" in (tmp_path / "mine.conllu").read_text()
    view = project.reload()
    assert (view.sentences, view.undo, view.changed_outside) == (1, None, False)
    edit(project, 1, changes.SetForm(word=1, form="Others"))
    undo_all(project)
    assert content(project) == other
    assert (project.store.folder / "journal-1.jsonl").exists()


def test_an_outside_edit_between_sessions_starts_undo_anew(tmp_path):
    project = make_project(tmp_path, THREE)
    edit(project, 2, HEAD)
    edit(project, 1, HEAD_OF_SHE)
    project.close()
    other = conllu("Other NOUN 0 root").encode()
    project.store.file.write_bytes(other)
    project = make_project(tmp_path, None)
    assert content(project) == other
    assert (project.store.undoable, len(project.store.notes)) == (None, 1)


def test_an_old_version_that_comes_back_stays(tmp_path):
    """A backup that somebody restores is not rolled forward."""
    project = make_project(tmp_path, THREE)
    for word in ("We", "You"):
        edit(project, 1, changes.SetForm(word=1, form=word))
    project.close()
    project.store.file.write_bytes(THREE.encode())
    assert content(make_project(tmp_path, None)).decode() == THREE


def test_a_touched_file_with_the_same_content_is_no_outside_edit(tmp_path):
    project = make_project(tmp_path, THREE)
    project.store.file.write_bytes(THREE.encode())
    assert not project.view().changed_outside
    edit(project, 2, HEAD)


def test_a_deleted_file_is_an_outside_edit(tmp_path):
    project = make_project(tmp_path, THREE)
    project.store.file.unlink()
    with rejects(Refusal, code="changed_outside"):
        edit(project, 2, HEAD)
    with rejects(Refusal, code="not_saved"):
        project.reload()


def test_a_malformed_outside_version_is_not_loaded(tmp_path):
    project = make_project(tmp_path, THREE)
    project.store.file.write_text("1\tword\n")
    with rejects(Refusal, code="bad_conllu"):
        project.reload()
    assert len(project.store.texts) == 3
    with rejects(Refusal, code="changed_outside"):
        edit(project, 2, HEAD)


def test_a_second_process_is_refused(tmp_path):
    project = make_project(tmp_path, THREE)
    with pytest.raises(InputError):
        make_project(tmp_path, None)
    with pytest.raises(InputError):  # another folder, but the same treebank
        Project(project.store.file, tmp_path / "other")
    project.close()
    make_project(tmp_path, None).close()


@pytest.mark.parametrize(
    "line", [b"{}\n", b'{"journal":2}\n', b"[1]\n", b"\xff\n", b'{"journal":1,"digest":"x"}\n{"do":1}\n']
)
def test_a_damaged_journal_is_kept_under_another_name(tmp_path, line):
    (tmp_path / "toy.annotation").mkdir(parents=True)
    (tmp_path / "toy.annotation" / "journal.jsonl").write_bytes(line)
    project = make_project(tmp_path, THREE)
    assert (project.store.folder / "journal-1.jsonl").read_bytes() == line
    edit(project, 2, HEAD)


def test_copies_have_plain_names_and_replace_nothing(tmp_path):
    project = make_project(tmp_path, THREE)
    for name in ("../x.conllu", "", "x.txt", ".x.conllu", "a\nb.conllu", "/tmp/x.conllu"):
        with rejects(Refusal, code="bad_request"):
            project.save_copy(name)
    with rejects(Refusal, code="exists"):
        project.save_copy("toy.conllu")


def test_malformed_and_compressed_treebanks_are_rejected(tmp_path):
    for number, text in enumerate(("1\tword\n", "\x1f\x8bx", conllu().replace("\t2\t", "\t1\t"))):
        with pytest.raises(DataError):
            make_project(tmp_path / str(number), text.encode("latin-1").decode("latin-1"))


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    leftover = tmp_path / ".toy.conllu.0badcafe.tmp"
    leftover.write_text("half")
    make_project(tmp_path, THREE)
    assert not leftover.exists()


def test_the_journal_gives_the_bytes_of_the_treebank(tmp_path):
    """Replaying all lines from the first version gives the last one."""
    project = make_project(tmp_path, THREE)
    for number, change in (
        (2, HEAD),
        (1, changes.SplitSentence(word=2)),
        (1, changes.JoinSentences()),
        (3, HEAD_OF_SHE),
    ):
        edit(project, number, change)
    project.undo()
    texts = split_texts(THREE.encode(), "x")
    for line in (project.store.folder / "journal.jsonl").read_text().splitlines()[1:]:
        splices = [store.Splice(*each) for each in json.loads(line)["splices"]]
        texts = store.spliced(texts, splices)
        assert texts is not None
    assert "".join(texts).encode() == content(project)
    assert Journal.read(project.store.folder / "journal.jsonl").digest == project.store.digest


def test_no_model_is_needed(tmp_path):
    project = make_project(tmp_path, THREE, model=False)
    assert edit(project, 2, HEAD).sentences[0].words[1].head is None
    project.adopt(assistant())
