"""Neural scorers: what they read of words, what they predict, and their model files."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank
from neural_toys import neural_scorer

from arbora.data.columns import columns_of, parse_text
from arbora.data.encode import Names
from arbora.data.sentence import Sentence
from arbora.errors import InputError, ModelError
from arbora.parsing.parser import Parser
from arbora.scorers.network import rounded
from arbora.scorers.neural import NeuralScorer, VectorTable
from arbora.scorers.vocabulary import BEGIN, END, FIRST_CHARACTER, LONGEST, Vocabulary
from arbora.search.neural import NeuralSearch
from arbora.storage.model_file import read_model, write_model

COLUMNS = treebank(20, seed=3)
NAMES = Names.of(COLUMNS)


def words(*forms):
    return columns_of([Sentence.from_lists(list(forms))])


def test_rows_of_words_vectors_and_characters():
    vocabulary = Vocabulary(("the", "cat"), "theca", ("The", "cat", "dog"))
    found = vocabulary.encode(words("The", "CAT", "dog", "the", "The", "x"))
    assert found.lengths.tolist() == [6]
    assert found.words[found.types].tolist() == [1, 2, 0, 1, 1, 0]
    assert found.vectors[found.types].tolist() == [1, 2, 3, 0, 1, 0]  # as written, then in lower case
    spelled = np.split(found.characters, found.ends[:-1])
    letters = {c: row for row, c in enumerate("theca", start=FIRST_CHARACTER)}
    expected = [BEGIN, 0, letters["h"], letters["e"], END]
    assert spelled[found.types[0]].tolist() == expected


def test_long_words_lose_their_middle():
    form = "a" * LONGEST + "b" * LONGEST
    vocabulary = Vocabulary((), "ab")
    found = vocabulary.encode(words(form))
    half = LONGEST // 2
    assert found.characters.tolist() == [BEGIN, *[3] * half, *[4] * half, END]


def test_rare_words_and_characters_are_unknown():
    columns = parse_text("".join(s.to_conllu() for s in [Sentence.from_lists(["a", "A", "b"])]), "conllu")
    vocabulary = Vocabulary.of(columns, least=2)
    assert vocabulary.words == ("a",)
    assert vocabulary.characters == ""


def test_characters_outside_the_first_plane_are_read():
    vocabulary = Vocabulary((), "😀")
    assert vocabulary.encode(words("😀x")).characters.tolist() == [BEGIN, FIRST_CHARACTER, 0, END]


def test_given_tags_have_rows():
    vocabulary = Vocabulary.of(COLUMNS, tags=("upos",))
    found = vocabulary.encode(COLUMNS)
    tags = ("?", *vocabulary.tags["upos"])
    assert [tags[row] for row in found.tags[0]] == COLUMNS.texts("upos")


def test_no_words_are_no_rows():
    found = Vocabulary(("a",), "a").encode(COLUMNS.select(np.zeros(0, np.int64)))
    assert [array.size for array in (found.types, found.words, found.characters, found.ends)] == [0] * 4


def test_vectors_are_scaled_to_one_length_and_rounded_to_a_byte():
    given = np.random.default_rng(0).normal(size=(30, 9)).astype(np.float32)
    given[7] *= 1e-20
    given[8] *= 1e20
    table = VectorTable.of(np.concatenate([given, np.zeros((1, 9), np.float32)]))
    dense = table.dense()
    assert not dense[0].any()
    assert not dense[-1].any()
    directions = given / np.linalg.norm(given.astype(np.float64), axis=1, keepdims=True)
    expected = 0.5 * np.sqrt(9) * directions
    assert (np.abs(dense[1:-1] - expected).max(axis=1) <= np.abs(expected).max(axis=1) / 254 + 1e-6).all()
    again = VectorTable.of(dense[1:])
    assert np.array_equal(again.values, table.values)


def test_predicted_columns_are_the_best_outputs():
    scorer = neural_scorer(COLUMNS, predicted=("upos",))
    found = scorer.annotate(COLUMNS)
    scores = scorer.native.outputs(scorer.states(COLUMNS), 0, 1)
    assert found.texts("upos") == [scorer.outputs["upos"][tag] for tag in scores.argmax(axis=1)]
    assert found.texts("form") == COLUMNS.texts("form")


def test_tags_and_trees_of_the_same_words_share_their_states():
    scorer = neural_scorer(COLUMNS, predicted=("upos",))
    tagged = scorer.annotate(COLUMNS)
    first = scorer.states(COLUMNS)
    assert scorer.states(tagged) is first
    other = COLUMNS.select(np.arange(len(COLUMNS))[::-1])
    assert scorer.states(other) is not first


def parser_of(**options):
    scorer = neural_scorer(COLUMNS, given=("upos",), predicted=("upos",), **options)
    return Parser(names=NAMES, search=NeuralSearch(scorer, trees="projective", roots="multi"))


@pytest.mark.parametrize("siblings", [0, 3])
@pytest.mark.parametrize("vectors", [True, False])
def test_a_model_file_gives_the_same_parser(siblings, vectors, tmp_path):
    parser = parser_of(siblings=siblings, vectors=vectors)
    parser.save(tmp_path / "m.arbora")
    again = Parser.load(tmp_path / "m.arbora")
    assert all(map(np.array_equal, parser.trees(COLUMNS), again.trees(COLUMNS)))
    assert (again.search.trees, again.search.roots) == ("projective", "multi")
    again.save(tmp_path / "n.arbora")
    assert (tmp_path / "n.arbora").read_bytes() == (tmp_path / "m.arbora").read_bytes()


SETTINGS = {
    "characters": ["aa", 3, None],
    "tags": [{}, {"form": ["a"]}, {"upos": []}, {"upos": ["a\tb"]}, None, {"upos": ["x"]}],
    "outputs": [{"misc": ["a"]}, {"xpos": ["a", "b"]}, {"lemma": ["not a script"]}, 7],
    "root_labels": [[-1], [10**6], "x", [True], None],
    "other_labels": [[0.5]],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in SETTINGS.items() for v in values])
def test_settings_that_do_not_fit_are_rejected(name, value, tmp_path):
    tensors, metadata = parser_of().to_parts()
    metadata["scorer_settings"][name] = value
    write_model(tmp_path / "m.arbora", tensors, metadata)
    with rejects(ModelError):
        Parser.load(tmp_path / "m.arbora")


TENSORS = {
    "words.text": [np.frombuffer(b"\xff\xfe", np.uint8), np.frombuffer(b"a\na", np.uint8), None],
    "vectors.text": [np.zeros(0, np.uint8), None],
    "vectors.values": [np.zeros((3, 2), np.int8), np.zeros((20, 7), np.float32), None],
    "vectors.scales": [np.zeros(3, np.float32), np.full(20, np.nan, np.float32)],
    "word": [np.zeros((2, 6), np.float32), np.zeros((0, 6), np.float32), np.zeros(3, np.int64)],
    "labels.weight": [np.zeros((2, 15), np.float32)],
    "tag1": [np.zeros((2, 4), np.float32)],
    "arcs": [np.full((9, 9), np.inf, np.float32), np.zeros((9, 8), np.float32), None],
    "lstm0.forward.recurrent": [np.zeros((32, 9), np.float32), None],
}


@pytest.mark.parametrize(("name", "array"), [(n, a) for n, arrays in TENSORS.items() for a in arrays])
def test_tensors_that_do_not_fit_are_rejected(name, array, tmp_path):
    tensors, metadata = parser_of().to_parts()
    tensors.pop(f"scorer/{name}", None)
    if array is not None:
        tensors[f"scorer/{name}"] = array
    write_model(tmp_path / "m.arbora", tensors, metadata)
    with rejects(ModelError):
        Parser.load(tmp_path / "m.arbora")


def test_random_changes_of_a_file_give_a_parser_or_an_error(tmp_path):
    """Shapes, dtypes and names of tensors at random: an error or a parser that parses, never a crash."""
    tensors, metadata = parser_of(siblings=3).to_parts()
    rng = np.random.default_rng(0)
    names, outcomes = list(tensors), set()
    for _ in range(300):
        changed = dict(tensors)
        for name in rng.choice(names, rng.integers(1, 3), replace=False):
            array = changed[name]
            match rng.integers(6):
                case 0:
                    del changed[name]
                case 1:
                    changed[name] = array[: rng.integers(0, len(array) + 1)]
                case 2:
                    changed[name] = array.reshape(-1)
                case 3:
                    changed[name] = array.astype(rng.choice(["int8", "float64", "int64", "uint8"]))
                case 4:
                    changed[name] = np.concatenate([array, array])
                case 5:
                    other = changed[str(rng.choice(list(changed)))]
                    changed[name] = other
        write_model(tmp_path / "m.arbora", changed, metadata)
        try:
            Parser.load(tmp_path / "m.arbora").trees(COLUMNS)
            outcomes.add("parsed")
        except (ModelError, InputError) as error:
            outcomes.add(type(error).__name__)
    assert "ModelError" in outcomes


def test_the_scorer_is_named_in_the_file(tmp_path):
    parser_of().save(tmp_path / "m.arbora")
    metadata = read_model(tmp_path / "m.arbora").metadata
    assert (metadata["search"], metadata["scorer"]) == ("neural", NeuralScorer.name)


def test_a_compact_file_is_smaller_and_holds_what_it_was_evaluated_with(tmp_path):
    parser = parser_of(siblings=3)
    compact = parser.rounded()
    parser.save(tmp_path / "whole.arbora")
    parser.save(tmp_path / "m.arbora", quantized=True)
    again = Parser.load(tmp_path / "m.arbora")
    assert again.scorer.is_quantized
    assert all(map(np.array_equal, compact.trees(COLUMNS), again.trees(COLUMNS)))
    again.save(tmp_path / "n.arbora")
    assert (tmp_path / "n.arbora").read_bytes() == (tmp_path / "m.arbora").read_bytes()
    sizes = [
        read_model(tmp_path / name).tensors["scorer/word"].nbytes for name in ("m.arbora", "whole.arbora")
    ]
    assert 4 * sizes[0] == sizes[1]
    scores, exact = again.scorer.score(NAMES.batch(COLUMNS)), parser.scorer.score(NAMES.batch(COLUMNS))
    pairs = [(found[kind], each[kind]) for found, each in zip(scores, exact, strict=True) for kind in each]
    error = np.mean([np.abs(found - expected).mean() for found, expected in pairs])
    assert error < 0.1 * np.mean([np.abs(expected).mean() for _, expected in pairs])


def test_weights_of_half_precision_are_stored_so(tmp_path):
    parser = parser_of()
    scorer = parser.scorer.with_weights(rounded(parser.scorer.weights()))
    Parser(names=NAMES, search=NeuralSearch(scorer)).save(tmp_path / "m.arbora")
    stored = read_model(tmp_path / "m.arbora").tensors
    assert stored["scorer/word"].dtype == np.float16
    again = Parser.load(tmp_path / "m.arbora").scorer
    assert np.array_equal(again.weights(), scorer.weights())


@pytest.mark.parametrize("scales", [None, np.zeros(2, np.float32), np.full(9, np.nan, np.float32), "int8"])
def test_int8_tensors_need_scales(scales, tmp_path):
    tensors, metadata = parser_of().to_parts(quantized=True)
    del tensors["scorer/arcs.scales"]
    if scales is not None:
        tensors["scorer/arcs.scales"] = np.zeros(9, np.int8) if isinstance(scales, str) else scales
    write_model(tmp_path / "m.arbora", tensors, metadata)
    with rejects(ModelError):
        Parser.load(tmp_path / "m.arbora")
