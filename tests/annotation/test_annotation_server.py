"""The API over HTTP: every endpoint, every error code, the page's files."""

import json
import re
from pathlib import Path

import pytest
from annotation_toys import LIMITS, conllu, make_project
from serving_toys import JSON, Client

from arbora.annotation import refusal
from arbora.annotation.learning import Learning
from arbora.web.annotation import STATUSES, make_application

BOTH = conllu(trees=False) + conllu()


class Page(Client):
    """Calls the API of a project."""

    def __init__(self, folder, text=BOTH, **options):
        self.project = make_project(folder, text, **options)
        self.learning = Learning(self.project, every=0)
        self.application = make_application(self.project, self.learning, LIMITS)

    def version(self, number=1):
        return self.post("/api/sentence", {"number": number}).json["version"]

    def edit(self, number=1, **change):
        wanted = {"number": number, "version": self.version(number), "edit": change}
        return self.post("/api/edit", wanted)


@pytest.fixture
def page(tmp_path):
    return Page(tmp_path)


def test_project(page):
    found = page("GET", "/api/project").json
    assert (found["sentences"], found["words"], found["file"]) == (2, 8, "toy.conllu")
    assert found["states"] == {"raw": 1, "parsed": 0, "touched": 0, "done": 1}
    assert found["orders"] == ["text", "doubt", "diversity"]
    assert found["model"]["probabilities"]
    assert found["learning"]["phase"] == "idle"
    schemas = page("GET", "/openapi.json").json["components"]["schemas"]
    assert set(found) == set(schemas["ProjectView"]["properties"])


def test_sentences(page):
    found = page.post("/api/sentences", {"states": ["done"]}).json
    assert [row["number"] for row in found["sentences"]] == [2]
    assert page.post("/api/sentences", {"contains": "SHE"}).json["total"] == 2
    assert page.post("/api/sentences", {"start": 2, "count": 1}).json["sentences"][0]["number"] == 2
    assert page.post("/api/sentences", {"contains": "nowhere"}).json["total"] == 0


EDITS = [
    {"do": "head", "word": 1, "head": 2, "deprel": "nsubj"},
    {"do": "label", "word": 1, "deprel": "nsubj"},
    {"do": "confirm", "words": []},
    {"do": "forget", "words": [1]},
    {"do": "tags", "word": 1, "upos": "NOUN", "feats": "Number=Sing", "lemma": "she", "xpos": "PRP"},
    {"do": "form", "word": 1, "form": "They"},
    {"do": "space", "word": 1, "after": False},
    {"do": "split_word", "word": 1, "forms": ["S", "he"], "token": True},
    {"do": "join_words", "first": 3, "last": 4},
    {"do": "make_token", "first": 3, "last": 4},
    {"do": "split_sentence", "word": 2},
    {"do": "state", "state": "touched"},
]


@pytest.mark.parametrize("change", EDITS, ids=lambda change: change["do"])
def test_each_edit_is_saved_undone_and_done_again(page, change):
    file = page.project.store.file
    before = file.read_bytes()
    reply = page.edit(2, **change)
    assert reply.status == 200, reply.json
    after = file.read_bytes()
    assert after != before
    assert reply.json["project"]["undo"] == reply.json["what"]
    for view in reply.json["sentences"]:
        assert page.post("/api/sentence", {"number": view["number"]}).json == view
    assert page.post("/api/undo", {}).status == 200
    assert file.read_bytes() == before
    assert page.post("/api/redo", {}).status == 200
    assert file.read_bytes() == after


def test_edits_of_tokens(page):
    page.edit(2, do="make_token", first=3, last=4)
    view = page.edit(2, do="edit_token", first=3, form="ob").json["sentences"][0]
    assert view["tokens"] == [{"first": 3, "last": 4, "form": "ob", "misc": "_"}]
    assert page.edit(2, do="remove_token", first=3).json["sentences"][0]["tokens"] == []


def test_choices_trees_and_questions(page):
    about = {"number": 1, "version": page.version()}
    assert page.post("/api/choices", {**about, "word": 1}).json["labels"]
    assert len(page.post("/api/trees", {**about, "k": 3}).json["trees"]) == 3
    for order in ("text", "doubt", "diversity"):
        for unit in ("sentence", "arc"):
            found = page.post("/api/next", {"order": order, "unit": unit}).json
            assert (found["number"], found["left"]) == (1, 1 if unit == "sentence" else 4)
            assert (found["word"] is None) == (unit == "sentence")
    skip = [[1, word] for word in range(1, 5)]
    assert page.post("/api/next", {"unit": "arc", "order": "doubt", "skip": skip}).json["number"] is None
    assert page.post("/api/next", {"skip": [[1, 0]]}).json["number"] is None


def test_questions_follow_the_decisions(page):
    asked = set()
    for left in (4, 3, 2, 1):
        question = page.post("/api/next", {"unit": "arc", "order": "doubt"}).json
        assert question["left"] == left
        asked.add(question["word"])
        page.edit(1, do="confirm", words=[question["word"]]) if left < 4 else page.edit(
            1, do="head", word=question["word"], head=0 if question["word"] == 2 else 2, deprel="dep"
        )
    assert asked == {1, 2, 3, 4}
    assert page.post("/api/next", {"unit": "arc"}).json["number"] is None


def test_files(page, tmp_path):
    page.edit(2, do="head", word=1, head=4)
    changed = conllu().replace("\t2\tnsubj", "\t4\tnsubj")
    assert page.post("/api/export", {"states": ["done"]}).body.decode() == changed
    assert b"Human=HEAD" in page.post("/api/export", {"marks": True}).body
    assert page.post("/api/save", {"name": "copy.conllu"}).json == {"file": "copy.conllu"}
    assert (tmp_path / "copy.conllu").exists()
    page.project.store.file.write_text(conllu())
    assert page("GET", "/api/project").json["changed_outside"]
    assert page.edit(1, do="form", word=1, form="We").code == "changed_outside"
    assert page.post("/api/reload", {}).json["sentences"] == 1
    assert page("GET", "/api/curve").json["held_out"]


def test_the_pages_files_are_served(page):
    assert page("GET", "/tree.js").headers["content-type"].startswith("text/javascript")
    assert page("GET", "/index.html").status == 404


def refusals(page):
    """A request for each code, and the status."""
    version = page.version()
    about = {"number": 1, "version": version}
    done = {"number": 2, "version": page.version(2)}

    def change(of=about, **edit):
        return page.post("/api/edit", {**of, "edit": edit})

    yield "no_such_sentence", page.post("/api/sentence", {"number": 3})
    yield "stale", change({**about, "version": "x"}, do="confirm", words=[])
    yield "nothing_to_undo", page.post("/api/undo", {})
    yield "nothing_to_redo", page.post("/api/redo", {})
    yield "not_learning", page.post("/api/learn", {"do": "cancel"})
    yield "exists", page.post("/api/save", {"name": "toy.conllu"})
    yield "bad_request", page.post("/api/save", {"name": "../x.conllu"})
    yield "no_such_word", change(do="head", word=9, head=1)
    yield "no_such_word", page.post("/api/choices", {**about, "word": 1, "head": 1})
    yield "cycle", change(done, do="head", word=2, head=1)
    yield "two_roots", change(done, do="head", word=1, head=0)
    yield "unfinished", change(do="state", state="done")
    yield "bad_edit", change(do="form", word=1, form="a\tb")
    yield "no_next_sentence", change(done, do="join_sentences")
    yield "sentence_too_long", change(do="join_sentences")
    page.project.assistant = None
    yield "no_model", page.post("/api/trees", about)
    page.project.store.file.write_text("1\tx\n")
    yield "changed_outside", change(do="form", word=1, form="We")
    yield "bad_conllu", page.post("/api/reload", {})
    page.project.store.file.unlink()
    yield "not_saved", page.post("/api/reload", {})


ELSEWHERE = {"learning", "nothing_to_learn"}  # tested with learning


def test_every_code(page):
    page.project.limits = page.project.limits.__class__(words=7)
    seen = set()
    for code, reply in refusals(page):
        assert (reply.code, reply.status) == (code, STATUSES.get(code, 422)), reply.json
        seen.add(code)
    assert seen == {*refusal.CODES} - ELSEWHERE


@pytest.mark.parametrize(
    "body",
    [
        {"number": 1},
        {"number": 1, "version": "x", "edit": {"do": "other"}},
        {"number": 1, "version": "x", "edit": {"do": "head", "word": 0, "head": 1}},
        {"number": 1, "version": "x", "edit": {"do": "head", "word": 1, "head": -1}},
        {"number": 1, "version": "x", "edit": {"do": "head", "word": 1, "head": 1, "more": 1}},
        {"number": 1, "version": "x", "edit": {"do": "split_word", "word": 1, "forms": ["a"]}},
        {"number": 1, "version": "x", "edit": {"do": "form", "word": 1, "form": "x" * 2000}},
    ],
)
def test_malformed_edits_are_rejected(page, body):
    assert (page.post("/api/edit", body).status, page.post("/api/edit", body).code) == (422, "bad_request")


def test_documented_requests_are_answered(tmp_path):
    guide = (Path(__file__).resolve().parents[2] / "docs" / "annotate-api.md").read_text()
    page = Page(tmp_path, 3 * BOTH)
    lines = re.findall(r"^\$ curl -s localhost:8080(\S+)(?:.* -d '(.*)')?", guide, flags=re.MULTILINE)
    assert len(lines) > 4
    for path, body in lines:
        body = body.replace("9f8e7d6c5b4a", page.version(3))
        reply = page.post(path, json.loads(body)) if body else page("GET", path)
        assert reply.status == 200, (path, reply.json)


def test_other_sites_are_rejected(page):
    body = json.dumps({"number": 1}).encode()
    for headers, code in (
        ({**JSON, "origin": "http://evil.example"}, "bad_origin"),
        ({**JSON, "sec-fetch-site": "cross-site"}, "bad_origin"),
        ({"content-type": "text/plain"}, "bad_type"),
        ({**JSON, "host": "evil.example"}, "bad_host"),
    ):
        assert page("POST", "/api/sentence", body, headers).code == code


def test_without_a_model_questions_come_in_text_order(tmp_path):
    page = Page(tmp_path, model=False)
    found = page.post("/api/next", {"order": "doubt"}).json
    assert found["number"] == 1
    assert found["notes"]
    about = {"number": 1, "version": page.version(), "word": 1}
    labels = [each["deprel"] for each in page.post("/api/choices", about).json["labels"]]
    assert labels[:3] == ["nsubj", "amod", "obj"]
    assert "root" not in labels
