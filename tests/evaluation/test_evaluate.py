import io
import json
import warnings
from dataclasses import FrozenInstanceError

import pytest
from errors import rejects
from treebanks import random_treebank, spoil_all

from arbora.data.sentence import Sentence
from arbora.data.treebank import read
from arbora.errors import DataError, InputError
from arbora.evaluation.attachment import evaluate, is_punctuation

# Two sentences; wrong: head of 4 in the first (and its label), root of the second.
GOLD = [
    Sentence.from_lists(
        ["The", "dog", "saw", "cats", "."],
        upos=["DET", "NOUN", "VERB", "NOUN", "PUNCT"],
        heads=[2, 3, 0, 3, 3],
        deprels=["det", "nsubj", "root", "obj", "punct"],
    ),
    Sentence.from_lists(
        ["Prices", "rose", "100", "%"],
        upos=["NOUN", "VERB", "NUM", "SYM"],
        heads=[2, 0, 4, 2],
        deprels=["nsubj", "root", "nummod", "obl:npmod"],
    ),
]
PREDICTED = [
    Sentence.from_lists(
        ["The", "dog", "saw", "cats", "."],
        heads=[2, 3, 0, 2, 3],
        deprels=["det", "nsubj", "root", "nmod", "punct"],
    ),
    Sentence.from_lists(
        ["Prices", "rose", "100", "%"],
        heads=[0, 1, 4, 2],
        deprels=["root", "acl", "nummod", "obl"],
    ),
]


def test_measures_of_a_small_example():
    result = evaluate(GOLD, PREDICTED)
    assert (result.sentences, result.tokens) == (2, 9)
    assert (result.punctuation, result.subtypes) == ("upos", False)
    scores = result.all
    assert (scores.heads, scores.labels, scores.arcs) == (6, 6, 6)
    assert result.uas == pytest.approx(100 * 6 / 9)
    assert (scores.exact_match, scores.exact_match_labelled) == (0, 0)
    assert scores.root_accuracy == 50
    # Content words: 7 in gold (all but det and punct), 7 predicted, 4 right.
    assert (scores.content.gold, scores.content.predicted, scores.content.correct) == (7, 7, 4)
    assert result.nopunct.tokens == 8
    # "%" is punctuation by form, SYM by tag.
    assert result.conllx.tokens == 7
    assert result.conllx.las == pytest.approx(100 * 4 / 7)


def test_subtypes_count_on_request():
    assert evaluate(GOLD, PREDICTED, subtypes=True).all.arcs == 5
    assert evaluate(GOLD, PREDICTED, subtypes=False).all.arcs == 6
    assert "obl" in evaluate(GOLD, PREDICTED).all.by_label
    assert "obl:npmod" in evaluate(GOLD, PREDICTED, subtypes=True).all.by_label
    # The content relations are known by their universal part.
    assert evaluate(GOLD, PREDICTED, subtypes=True).all.content.gold == 7


def test_a_perfect_parse():
    result = evaluate(GOLD, GOLD)
    for scores in (result.all, result.nopunct, result.conllx):
        measures = {name: value for name, value in scores.measures().items() if name != "tokens"}
        assert set(measures.values()) == {100.0}
    assert evaluate(GOLD, GOLD) == result


def test_no_sentences_give_zeros():
    result = evaluate([], [])
    assert (result.sentences, result.tokens, result.uas, result.all.clas) == (0, 0, 0.0, 0.0)
    assert result.all.by_label == {}


def test_exact_match_without_punctuation_leaves_out_sentences_of_punctuation():
    gold = [*GOLD, Sentence.from_lists(["..."], upos=["PUNCT"], heads=[0], deprels=["root"])]
    result = evaluate(gold, gold)
    assert result.all.sentences == 3
    assert result.nopunct.sentences == 2
    assert result.nopunct.exact_match == 100


def test_breakdowns():
    scores = evaluate(GOLD, PREDICTED).all
    subject = scores.by_label["nsubj"]
    assert (subject.gold, subject.predicted, subject.correct) == (2, 1, 1)
    assert (subject.precision, subject.recall) == (100, 50)
    assert subject.f1 == pytest.approx(200 / 3)
    assert scores.by_label["acl"].recall == 0
    roots = scores.by_arc_length["root"]
    assert (roots.gold, roots.predicted, roots.correct) == (2, 2, 1)
    near = scores.by_arc_length["1"]
    assert (near.gold, near.predicted, near.correct) == (5, 4, 3)
    two = scores.by_arc_length["2"]
    assert (two.gold, two.predicted, two.correct) == (2, 3, 2)
    (short,) = scores.by_sentence_length.items()
    assert short[0] == "1-10"
    assert (short[1].tokens, short[1].heads, short[1].arcs, short[1].sentences) == (9, 6, 6, 2)


@pytest.mark.parametrize("seed", range(3))
def test_breakdowns_add_up(seed):
    gold = random_treebank(seed, single_root=False)
    result = evaluate(gold, spoil_all(gold, seed))
    for scores in (result.all, result.nopunct, result.conllx):
        assert sum(group.gold for group in scores.by_label.values()) == scores.tokens
        assert sum(group.predicted for group in scores.by_label.values()) == scores.tokens
        assert sum(group.correct for group in scores.by_label.values()) == scores.arcs
        assert sum(group.gold for group in scores.by_arc_length.values()) == scores.tokens
        assert sum(group.correct for group in scores.by_arc_length.values()) == scores.heads
        assert sum(group.arcs for group in scores.by_sentence_length.values()) == scores.arcs
        assert sum(group.exact for group in scores.by_sentence_length.values()) == scores.exact
        assert scores.per_sentence.heads.sum() == scores.heads
        assert list(scores.by_sentence_length) == sorted(
            scores.by_sentence_length, key=lambda name: int(name.rstrip("+").partition("-")[0])
        )


def test_conventions_follow_the_gold_data():
    tags = {"form": ["N", "V", "X"], "upos": ["NOUN", "VERB", "PUNCT"]}
    for rule, names in tags.items():
        gold = random_treebank(0, sentences=5, tags=names)
        result = evaluate(gold, gold)
        assert result.punctuation == rule
        assert result.subtypes == (rule == "form")
    untagged = random_treebank(0, sentences=5, tags=["_"])
    assert evaluate(untagged, untagged).punctuation == "form"
    assert evaluate(untagged, untagged).subtypes is False
    asked = evaluate(untagged, untagged, punctuation="upos")
    assert asked.nopunct.tokens == asked.tokens
    with rejects(InputError, field="punctuation"):
        evaluate(GOLD, GOLD, punctuation="none")


@pytest.mark.parametrize(
    ("form", "answer"),
    [(".", True), ("...", True), ("«", True), ("%", True), ("_", True), ("$", False),
     ("+", False), ("'s", False), ("e.g.", False), ("—", True), ("`", False)],
)  # fmt: skip
def test_punctuation_by_form(form, answer):
    assert is_punctuation(form) is answer


def test_results_are_immutable_and_convert_to_json():
    result = evaluate(GOLD, PREDICTED)
    with pytest.raises(FrozenInstanceError):
        result.tokens = 0
    assert not result.all.per_sentence.heads.flags.writeable
    plain = json.loads(json.dumps(result.to_json(by=["label", "arc-length", "sentence-length"])))
    for key in ("uas", "las", "uas_nopunct", "las_nopunct", "uas_conllx", "las_conllx", "clas"):
        assert 0 <= plain[key] <= 100
    assert (plain["sentences"], plain["tokens"], plain["tokens_nopunct"]) == (2, 9, 8)
    assert plain["by_label"]["nsubj"]["recall"] == 50
    assert plain["by_sentence_length"]["1-10"]["tokens"] == 9
    without = result.to_json(by=["label"], nopunct=True)
    assert "punct" in plain["by_label"]
    assert "punct" not in without["by_label"]
    with rejects(InputError, field="by"):
        result.to_json(by=["length"])


def official(gold, predicted, labels=("UAS", "LAS", "CLAS")):
    from udtools import udeval

    texts = ("".join(s.to_conllu() for s in side) for side in (gold, predicted))
    loaded = [udeval.load_conllu(io.StringIO(text), "test", {"multiple_roots_okay": True}) for text in texts]
    scores = udeval.evaluate(*loaded)
    return {name: scores[name] for name in labels}


def assert_equals_official(gold, predicted):
    """Equal floats, not close ones."""
    scores = evaluate(gold, predicted).all
    theirs = official(gold, predicted)
    assert scores.uas == 100 * theirs["UAS"].f1
    assert scores.las == 100 * theirs["LAS"].f1
    assert scores.clas == 100 * theirs["CLAS"].f1
    assert scores.content.precision == 100 * theirs["CLAS"].precision
    assert scores.content.recall == 100 * theirs["CLAS"].recall
    assert 0 < scores.las < scores.uas < 100


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("single_root", [True, False])
def test_agrees_with_the_official_scorer_on_random_trees(seed, single_root):
    gold = random_treebank(seed, single_root=single_root)
    assert_equals_official(gold, spoil_all(gold, seed))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("UD_English-EWT", "en_ewt-ud-dev.conllu"),
        ("UD_Turkish-IMST", "tr_imst-ud-test.conllu"),
        ("UD_Portuguese-Bosque", "pt_bosque-ud-test.conllu"),
        ("UD_Basque-BDT_r1.4", "eu-ud-test.conllu"),
    ],
)
def test_agrees_with_the_official_scorer_on_treebanks(folder, name, real_sentences):
    gold = real_sentences(folder, name, 200)
    for seed in range(2):
        assert_equals_official(gold, spoil_all(gold, seed))


def nltk_scores(gold, predicted):
    """(LAS, UAS) as fractions, by NLTK."""
    from nltk.parse import DependencyEvaluator, DependencyGraph

    def graph(sentence):
        rows = zip(sentence.forms, sentence.upos, sentence.heads, sentence.deprels, strict=True)
        lines = "\n".join("\t".join(map(str, row)) for row in rows)
        return DependencyGraph(lines, cell_separator="\t", top_relation_label="root")

    with warnings.catch_warnings():
        # It expects one name for the label of roots and warns of any other.
        warnings.simplefilter("ignore")
        sides = [[graph(sentence) for sentence in side] for side in (predicted, gold)]
        return DependencyEvaluator(*sides).eval()


@pytest.mark.parametrize("seed", range(3))
def test_the_conllx_rule_agrees_with_nltk_on_random_trees(seed):
    gold = random_treebank(seed)
    predicted = spoil_all(gold, seed)
    scores = evaluate(gold, predicted).conllx
    las, uas = nltk_scores(gold, predicted)
    assert (scores.las, scores.uas) == (100 * las, 100 * uas)


def test_the_conllx_rule_on_the_danish_test_file(real_sentences):
    gold = real_sentences("CoNLLX_Danish-DDT", "danish_ddt_test.conll")
    predicted = spoil_all(gold, 0, labels=("subj", "dobj", "mod", "<subj:pobj>", "<subj:nobj>"))
    result = evaluate(gold, predicted)
    assert (result.tokens, result.conllx.tokens, result.sentences) == (5852, 5010, 322)
    # Not UD tags, so the general scores without punctuation follow the CoNLL-X rule, too.
    assert result.punctuation == "form"
    assert result.nopunct == result.conllx
    las, uas = nltk_scores(gold, predicted)
    assert (result.conllx.las, result.conllx.uas) == (100 * las, 100 * uas)


def test_sentences_must_be_the_same():
    names = ("gold.conllu", "mine.conllu")
    with rejects(DataError, source="mine.conllu"):
        evaluate(GOLD, PREDICTED[:1], names=names)
    with rejects(DataError, source="mine.conllu"):
        evaluate(GOLD[:1], PREDICTED, names=names)
    other = Sentence.from_lists(["Prices", "fell", "100", "%"], heads=[2, 0, 4, 2])
    with rejects(DataError, source="mine.conllu", field="sentence 2, word 2"):
        evaluate(GOLD, [PREDICTED[0], other], names=names)
    shorter = Sentence.from_lists(["Prices", "rose"], heads=[2, 0])
    with rejects(DataError, source="mine.conllu", field="sentence 2"):
        evaluate(GOLD, [PREDICTED[0], shorter], names=names)


def test_errors_name_file_and_line(tmp_path):
    def row(number, form, head=0):
        return f"{number}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"

    gold = tmp_path / "gold.conllu"
    # Lines: 1 word, 2 blank, 3 comment, 4 word, 5 multiword token, 6 word, 7 empty node, 8 word.
    start = row(1, "Yes") + "\n# sent_id = 2\n" + row(1, "The") + row("2-3", "don't", "_")
    text = start + row(2, "do", 1) + row("2.1", "x", "_") + row(3, "not", 1) + "\n"
    gold.write_text(text, encoding="utf-8")
    mine = tmp_path / "mine.conllu"

    def place(changed):
        mine.write_text(changed, encoding="utf-8")
        with pytest.raises(DataError) as found:
            evaluate(read(gold), read(mine))
        return found.value.source, found.value.line

    assert place(text.replace("not", "nit")) == (str(mine), 8)
    assert place(text.replace(row(3, "not", 1), row(3, "not", "_"))) == (str(mine), 8)
    assert place(text.replace(row(3, "not", 1), row(3, "not", 1) + row(4, "!", 1))) == (str(mine), 3)
    assert place(text + text) == (str(mine), 10)
    assert place(row(1, "Yes") + "\n") == ("predicted", None)


def test_missing_heads_are_rejected_on_either_side():
    bare = Sentence.from_lists(list(GOLD[0].forms), upos=list(GOLD[0].upos))
    with rejects(DataError, source="predicted"):
        evaluate(GOLD, [bare, PREDICTED[1]])
    with rejects(DataError, source="gold"):
        evaluate([bare, GOLD[1]], PREDICTED)


def test_streams_are_read_once_and_side_by_side():
    open_pairs = 0

    def stream(sentences, step):
        nonlocal open_pairs
        for sentence in sentences:
            open_pairs += step
            assert -1 <= open_pairs <= 1
            yield sentence

    gold = random_treebank(0)
    assert evaluate(stream(gold, 1), stream(gold, -1)).uas == 100


def test_large_treebanks_have_the_scores_of_their_parts():
    gold = random_treebank(0, sentences=200)
    predicted = spoil_all(gold, 0)
    repeat = 200_000 // sum(map(len, gold)) + 1
    once, often = evaluate(gold, predicted), evaluate(gold * repeat, predicted * repeat)
    assert often.tokens == repeat * once.tokens
    assert (often.uas, often.las) == pytest.approx((once.uas, once.las))


def test_clas_is_for_labels_of_universal_dependencies():
    ud = [Sentence.from_lists(["a", "b", "c"], heads=[2, 0, 2], deprels=["nsubj:pass", "root", "punct"])]
    assert evaluate(ud, ud).all.clas == 100.0
    other = [Sentence.from_lists(["a", "b", "c"], heads=[2, 0, 2], deprels=["SBJ", "ROOT", "P"])]
    assert evaluate(other, other).all.clas is None
    assert "clas" not in evaluate(other, other).to_json()
