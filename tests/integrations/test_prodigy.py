"""Prodigy's tasks: what is written, what comes back, and what annotators send."""

import json

import pytest
from errors import rejects

from arbora.data.columns import parse_text
from arbora.data.synthetic import generate
from arbora.errors import DataError
from arbora.integrations.prodigy import from_task, read_tasks, to_task, write_tasks

CONLLU = """# sent_id = s-1
# text = Elle va au parc, mais...
1	Elle	elle	PRON	_	Person=3	2	nsubj	_	_
2	va	aller	VERB	_	_	0	root	_	_
3-4	au	_	_	_	_	_	_	_	_
3	à	à	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	parc	parc	NOUN	_	_	2	obl	_	SpaceAfter=No
6	,	,	PUNCT	_	_	7	punct	_	_
7	mais	mais	CCONJ	_	_	_	_	_	SpaceAfter=No
8	...	...	_	_	_	2	_	_	_

"""
(SENTENCE,) = parse_text(CONLLU).sentences()
WORDS = ["She", "reads", "books", "."]


def task(relations=(), words=WORDS, **more):
    """As `db-out` writes it, without what reading does not need."""
    tokens = [{"text": word, "id": i, "ws": True, "disabled": False} for i, word in enumerate(words)]
    listed = [{"head": head, "child": child, "label": label} for head, child, label in relations]
    return {"text": " ".join(words), "tokens": tokens, "relations": listed, "answer": "accept", **more}


WHOLE = [(1, 0, "nsubj"), (1, 1, "root"), (1, 2, "obj"), (1, 3, "punct")]


def test_a_task_has_what_the_interface_needs():
    made = to_task(SENTENCE)
    assert made["text"] == "Elle va à le parc, mais..."
    assert [token["text"] for token in made["tokens"]] == list(SENTENCE.forms)
    assert [token["id"] for token in made["tokens"]] == [*range(8)]
    assert all(made["text"][t["start"] : t["end"]] == t["text"] for t in made["tokens"])
    relations = {(each["head"], each["child"], each["label"]) for each in made["relations"]}
    assert {(1, 0, "nsubj"), (1, 1, "root"), (1, 7, None)} <= relations
    assert len(relations) == 7  # a word has no head
    first = made["relations"][0]
    assert first["head_span"] == {"start": 5, "end": 7, "token_start": 1, "token_end": 1, "label": None}
    assert made["spans"][1] == {"start": 5, "end": 7, "token_start": 1, "token_end": 1, "label": "VERB"}
    assert made["meta"] == {"sent_id": "s-1"}
    json.dumps(made)


def test_words_of_a_token_that_is_cut_have_no_space_between_them():
    rows = "1\tdo\t_\tAUX\t_\t_\t0\troot\t_\t_\n2\tn't\t_\tPART\t_\t_\t1\tadvmod\t_\t_\n"
    (cut,) = parse_text("1-2\tdon't" + "\t_" * 7 + "\tSpaceAfter=No\n" + rows + "\n").sentences()
    assert to_task(cut)["text"] == "don't"


def test_everything_comes_back():
    for sentence in [SENTENCE, *generate(30, seed=4)]:
        assert from_task(json.loads(json.dumps(to_task(sentence)))) == sentence


def test_files_come_back(tmp_path):
    given = list(generate(20, seed=5))
    assert write_tasks(given, tmp_path / "tasks.jsonl") == 20
    reader = read_tasks(tmp_path / "tasks.jsonl")
    assert list(reader) == given
    assert (reader.skipped, reader.unaccepted) == (0, 0)


def test_annotated_tasks():
    made = to_task(SENTENCE)
    changed = [each for each in made["relations"] if each["child"] != 4]
    changed.append({"head": 0, "child": 4, "label": "new"})
    found = from_task({**made, "relations": changed, "answer": "accept", "_view_id": "relations"})
    assert (found.heads[4], found.deprels[4]) == (1, "new")
    assert found.multiword_tokens == SENTENCE.multiword_tokens
    assert found.lemmas == SENTENCE.lemmas


def test_tasks_of_others():
    found = from_task(task(WHOLE, spans=[{"token_start": 1, "token_end": 1, "label": "VERB"}]))
    assert found.heads == (2, 0, 2, 2)
    assert found.deprels == ("nsubj", "root", "obj", "punct")
    assert found.upos == ("_", "VERB", "_", "_")
    assert found.text == "She reads books ."
    assert from_task(task(WHOLE[:1] + WHOLE[2:])).heads == (2, 0, 2, 2)  # the root is left out
    assert from_task(task(WHOLE[:1])).heads == (2, -1, -1, -1)
    assert from_task(task()).heads == (-1, -1, -1, -1)
    old = {**task(), "arcs": [{"head": 1, "child": 0, "label": "nsubj"}]}
    assert from_task(old).heads == (2, -1, -1, -1)
    one = {**task(), "arc": {"head": 1, "child": 2, "label": "obj"}}
    assert from_task(one).heads == (-1, -1, 2, -1)
    phrase = task(spans=[{"token_start": 0, "token_end": 1, "label": "VERB"}, {"label": "PERSON"}])
    assert set(from_task(phrase).upos) == {"_"}


def test_tokens_of_white_space_are_no_words():
    words = ["She", "\n\n", "reads"]
    found = from_task(task([(2, 0, "nsubj"), (2, 2, "root")], words))
    assert (found.forms, found.heads) == (("She", "reads"), (2, 0))
    with rejects(DataError):
        from_task(task([(1, 0, "nsubj")], words))


@pytest.mark.parametrize("answer", ["reject", "ignore"])
def test_other_answers_are_skipped(answer, tmp_path):
    lines = [task(WHOLE, answer=answer), task(WHOLE)]
    (tmp_path / "out.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    reader = read_tasks(tmp_path / "out.jsonl")
    assert len(list(reader)) == 1
    assert reader.unaccepted == 1


BAD = [
    "3",
    "[]",
    "{}",
    "{",
    "NaN",
    "[" * 100_000,
    '{"tokens": 3}',
    '{"tokens": [3]}',
    '{"tokens": []}',
    '{"tokens": [{"text": " "}]}',
    *(
        json.dumps(each)
        for each in (
            task([(0, 1, "a"), (1, 0, "b")]),
            task([(0, 1, "a"), (2, 1, "b")]),
            task([(9, 1, "a")]),
            task([(-1, 1, "a")]),
            task([("0", 1, "a")]),
            task([(True, 0, "a")]),
            task([([], {}, "a")]),
            task([(1, 0, "a\tb")]),
            {**task(), "relations": "x"},
            {**task(), "conllu": "1\ta\n"},
        )
    ),
]


@pytest.mark.parametrize("line", BAD)
def test_malformed_tasks_name_their_line(line, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(task(WHOLE)) + "\n" + line + "\n")
    with rejects(DataError, source=str(path), line=2):
        list(read_tasks(path))
    lenient = read_tasks(path, lenient=True)
    assert len(list(lenient)) == 1
    assert lenient.skipped == 1
