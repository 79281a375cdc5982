"""Trained parsers: what they take and give, every other byte of a file, and model files whole or damaged."""

import gzip
from copy import deepcopy
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from errors import rejects
from graph_toys import BITS, config, treebank
from training_toys import Recorder

from arbora.data.columns import parse_text
from arbora.data.tree import Tree
from arbora.errors import ArboraError, DataError, InputError, ModelError
from arbora.parsing.parser import Parser
from arbora.search.pruner import PrunerSettings
from arbora.storage.model_file import read_model, write_model
from arbora.training import train

TRAIN, DEV = treebank(40, seed=1, nonprojective=0.2), treebank(15, seed=2, nonprojective=0.2)
KINDS = {
    "second order": {"trees": "projective"},
    "crossing": {"trees": "nonprojective"},
    "lifted": {"projectivize": "pseudo-projective"},
    "multi": {"trees": "projective", "roots": "multi"},
    "joint": {"order": 1, "labels": "joint"},
    "no labels": {"labels": "none", "pruner": False},
    "max-marginal": {
        "trees": "projective",
        "pruner_settings": PrunerSettings(rule="max-marginal", bits=10, among=8),
    },
    "tree-odds": {
        "trees": "projective",
        "roots": "multi",
        "pruner_settings": PrunerSettings(rule="tree-odds", bits=10, log_odds=4.0),
    },
}


@pytest.fixture(scope="module")
def parsers():
    return {name: train(TRAIN, config=config(epochs=2, **options)).parser for name, options in KINDS.items()}


@pytest.fixture(scope="module")
def parser(parsers):
    return parsers["second order"]


each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_lists_sentences_and_columns_give_the_same_trees(kind, parsers):
    parser = parsers[kind]
    heads, labels = parser.trees(DEV)
    assert heads.shape == labels.shape == (DEV.words,)
    given = list(DEV.sentences())
    parsed = parser.parse(given, threads=2)
    assert [head for sentence in parsed for head in sentence.heads] == heads.tolist()
    names = [parser.names.labels[label] if label >= 0 else "_" for label in labels.tolist()]
    assert [name for sentence in parsed for name in sentence.deprels] == names
    assert all(after.comments == before.comments for before, after in zip(given, parsed, strict=True))
    assert parser.parse(iter(given)) == parsed
    words = [list(sentence.forms) for sentence in given]
    bare = parser.parse(words)
    assert [list(sentence.forms) for sentence in bare] == words
    assert bare == parser.parse([tuple(each) for each in words])
    for first, last in pairwise(DEV.offsets.tolist()):
        tree = Tree.from_heads(heads[first:last].tolist())
        assert tree.is_projective() or parser.search.trees == "nonprojective" or kind == "lifted"
        assert parser.search.roots == "multi" or list(heads[first:last]).count(0) == 1


@each_kind
def test_trees_do_not_depend_on_threads_or_on_company(kind, parsers):
    parser = parsers[kind]
    heads, labels = parser.trees(DEV)
    for threads in (2, 3, 50):
        again = parser.trees(DEV, threads=threads)
        assert np.array_equal(heads, again[0])
        assert np.array_equal(labels, again[1])
    alone = [parser.parse([sentence])[0] for sentence in DEV.sentences()]
    assert alone == parser.parse(DEV.sentences())


def test_what_is_no_sentence_is_an_error(parser):
    assert parser.parse([]) == []
    for bad in ("words", ["words"], [["a", 3]], [[b"a"]], [[]], [[""]], [["a\tb"]], [["a\nb"]], [["\ud800"]]):
        with pytest.raises(InputError):
            parser.parse(bad)
    odd = ["#", "1-2", "_", "a b", "\x01root", "🌳"]
    (sentence,) = parser.parse([odd])
    assert list(sentence.forms) == odd


def expected_output(source, parser):
    """The text with new trees, line by line."""
    columns = parse_text(source, "conllu")
    heads, labels = parser.trees(columns)
    trees = iter(zip(heads.tolist(), labels.tolist(), strict=True))
    lines = []
    for line in source.split("\n"):
        fields = line.split("\t")
        if len(fields) == 10 and fields[0].lstrip("\ufeff").isdigit():
            head, label = next(trees)
            fields[6:8] = [str(head), parser.names.labels[label] if label >= 0 else "_"]
        lines.append("\t".join(fields))
    assert next(trees, None) is None
    return "\n".join(lines)


FORMS = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no last line break": lambda text: text.rstrip("\n"),
    "blank lines": lambda text: "\n\n" + text.replace("\n\n", "\n\n\n") + "\n",
    "byte order mark": lambda text: "\ufeff" + text,
}


@each_kind
@pytest.mark.parametrize("form", FORMS)
def test_every_other_byte_of_a_file_stays(kind, form, parsers, small_treebank, tmp_path):
    text = FORMS[form](small_treebank.read_text(encoding="utf-8"))
    (tmp_path / "in.conllu").write_bytes(text.encode())
    observer = Recorder()
    parsers[kind].parse_file(tmp_path / "in.conllu", tmp_path / "out.conllu", observer=observer)
    found = (tmp_path / "out.conllu").read_bytes().decode()
    assert found == expected_output(text, parsers[kind])
    assert found != text
    assert observer.examples == 12


def test_sentences_are_written_as_files_are(parser, small_treebank):
    text = small_treebank.read_text(encoding="utf-8")
    parsed = parser.parse(parse_text(text, "conllu").sentences())
    assert "".join(sentence.to_conllu() for sentence in parsed) == expected_output(text, parser)


def test_files_may_be_compressed_long_and_of_another_format(parser, tmp_path):
    text = DEV.to_bytes().decode() * 150  # more than one piece of reading
    (tmp_path / "in.conllu.gz").write_bytes(gzip.compress(text.encode()))
    observer = Recorder()
    parser.parse_file(tmp_path / "in.conllu.gz", tmp_path / "out.conllu.gz", threads=2, observer=observer)
    assert observer.examples == 150 * len(DEV)
    found = gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()).decode()
    assert found == expected_output(DEV.to_bytes().decode(), parser) * 150
    (tmp_path / "in.conll").write_text("1\tYes\tyes\tINTJ\tUH\ta|b\t0\troot\t_\t_\n\n")
    parser.parse_file(tmp_path / "in.conll", tmp_path / "out.conll", format="conllx")
    fields = (tmp_path / "out.conll").read_text().split("\t")
    assert fields[:7] == ["1", "Yes", "yes", "INTJ", "UH", "a|b", "0"]
    (tmp_path / "empty.conllu").write_text("")
    parser.parse_file(tmp_path / "empty.conllu", tmp_path / "none.conllu")
    assert (tmp_path / "none.conllu").read_bytes() == b""


def test_a_bad_file_leaves_no_half_of_an_output(parser, tmp_path):
    (tmp_path / "in.conllu").write_text(DEV.to_bytes().decode() + "1\tbad\n\n")
    (tmp_path / "out.conllu").write_text("before")
    with rejects(DataError, line=138):
        parser.parse_file(tmp_path / "in.conllu", tmp_path / "out.conllu")
    assert (tmp_path / "out.conllu").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.conllu", "out.conllu"]
    reader = parser.parse_file(tmp_path / "in.conllu", tmp_path / "out.conllu", lenient=True)
    assert reader.skipped == 1
    assert (tmp_path / "out.conllu").read_text() == expected_output(DEV.to_bytes().decode(), parser)


@pytest.mark.parametrize("kind", ["second order", "crossing", "max-marginal"])
def test_two_thousand_words_are_parsed(kind, parsers):
    words = [f"{form}{i % 7}" for i, form in enumerate(sorted(set(DEV.strings("form"))) * 100)][:2000]
    (sentence,) = parsers[kind].parse([words])
    assert len(sentence) == len(words) == 2000
    tree = Tree.from_heads(list(sentence.heads))
    assert list(sentence.heads).count(0) == 1
    assert tree.is_projective() or kind == "crossing"


# Model files


@each_kind
@pytest.mark.parametrize("quantized", [False, True])
def test_a_model_file_holds_the_whole_parser(kind, quantized, parsers, tmp_path):
    parser = parsers[kind]
    parser.save(tmp_path / "model", quantized=quantized)
    loaded = Parser.load(tmp_path / "model")
    assert (loaded.scorer.settings, loaded.names) == (parser.scorer.settings, parser.names)
    assert loaded.about == parser.about
    assert np.array_equal(loaded.scorer.seen, parser.scorer.seen)
    assert (loaded.search.pruner is None) == (parser.search.pruner is None)
    heads, labels = parser.trees(DEV)
    found_heads, found_labels = loaded.trees(DEV)
    if not quantized:
        assert np.array_equal(heads, found_heads)
        assert np.array_equal(labels, found_labels)
    # A byte per weight: near enough that hardly a tree changes.
    assert np.mean(heads == found_heads) > 0.95
    assert np.mean(labels == found_labels) > 0.95
    loaded.save(tmp_path / "again", quantized=quantized)
    if not quantized:
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_quantized_models_are_smaller(parser, tmp_path):
    for quantized in (False, True):
        parser.save(tmp_path / str(quantized), quantized=quantized)
    assert (tmp_path / "True").stat().st_size < 0.6 * (tmp_path / "False").stat().st_size


def test_files_that_are_no_parser_are_rejected(parser, tmp_path):
    write_model(tmp_path / "model", {"tree": np.zeros(4, dtype=np.float32)}, {"kind": "tagger", "hash": 1})
    with rejects(ModelError, source=str(tmp_path / "model"), field=None):
        Parser.load(tmp_path / "model")
    write_model(tmp_path / "model", {}, {**parser.to_parts()[1], "hash": 2})
    with rejects(ModelError, field="hash"):
        Parser.load(tmp_path / "model")
    with rejects(ModelError, source=str(tmp_path / "nothing")):
        Parser.load(tmp_path / "nothing")
    (tmp_path / "text").write_bytes(DEV.to_bytes())
    with rejects(ModelError, source=str(tmp_path / "text")):
        Parser.load(tmp_path / "text")


def stored(parser, tmp_path, **options):
    """What a parser's file holds."""
    parser.save(tmp_path / "model", **options)
    return read_model(tmp_path / "model")


def load_changed(file, change, tmp_path):
    """Load a well-formed file whose content was changed: `change(tensors, metadata)`."""
    tensors, metadata = dict(file.tensors), deepcopy(dict(file.metadata))
    change(tensors, metadata)
    write_model(tmp_path / "changed", tensors, metadata)
    return Parser.load(tmp_path / "changed")


@pytest.mark.parametrize("quantized", [False, True])
def test_tensors_that_do_not_fit_are_rejected(quantized, parser, tmp_path):
    file = stored(parser, tmp_path, quantized=quantized)
    for name, array in file.tensors.items():
        others = (
            None,
            array[:-1],
            np.concatenate([array, array[:1]]),
            array[:0],
            array.reshape(1, -1),
            array.astype(np.float64 if array.dtype != np.float64 else np.float32),
        )
        for other in others:

            def change(tensors, metadata, name=name, other=other):
                del tensors[name]
                if other is not None:
                    tensors[name] = other

            with rejects(ModelError, source=str(tmp_path / "changed")):
                load_changed(file, change, tmp_path)


def entries(value, path=()):
    """Every place in nested metadata."""
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from entries(item, (*path, name))
    elif isinstance(value, list):
        for i, item in enumerate(value[:2]):
            yield from entries(item, (*path, i))


def test_metadata_that_does_not_fit_is_refused_or_harmless(parser, tmp_path):
    """Each entry missing, or something else: a ModelError, or a parser that parses, and nothing worse."""
    file = stored(parser, tmp_path)
    kept = {name: value for name, value in file.metadata.items() if name != "about"}
    refusals, parsed = [], 0
    for path in list(entries(kept))[1:]:
        for other in (None, -1, 3, 1e99, "x", [1, 2], {"a": 1}, True, 2**70):

            def change(tensors, metadata, path=path, other=other):
                at = metadata
                for step in path[:-1]:
                    at = at[step]
                at[path[-1]] = deepcopy(other)

            try:
                load_changed(file, change, tmp_path).parse([["a", "b", "c"]])
                parsed += 1
            except ModelError as error:
                refusals.append(str(error))
    assert all(message.startswith(str(tmp_path / "changed")) for message in refusals)
    assert len(refusals) > 5 * parsed > 0


def test_names_that_repeat_are_refused(parser, tmp_path):
    file = stored(parser, tmp_path)
    for field in ("tags", "labels"):

        def change(tensors, metadata, field=field):
            metadata[field][1] = metadata[field][0]

        with rejects(ModelError, field=field):
            load_changed(file, change, tmp_path)


def test_weights_that_are_no_numbers_are_refused(parsers, tmp_path):
    for parser in parsers.values():
        file = stored(parser, tmp_path)
        for name in file.tensors.keys() & {"tree", "labels", "pruner"}:
            for bad in (np.nan, np.inf, -np.inf, 3e38):

                def change(tensors, metadata, name=name, bad=bad):
                    tensors[name] = np.where(
                        np.arange(len(tensors[name])) % 3, tensors[name], np.float32(bad)
                    )

                with rejects(ModelError, field=f"tensor '{name}'"):
                    load_changed(file, change, tmp_path)


def test_damaged_files_are_errors_and_never_crash(parser, tmp_path):
    parser.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    random = Random(5)
    for length in (0, 1, 8, 100, start - 1, start, start + 5, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ModelError):
            Parser.load(tmp_path / "cut")
    for _ in range(150):  # the header is checked to the byte
        spoilt = bytearray(whole)
        for _ in range(random.choice([1, 1, 2, 20])):
            spoilt[random.randrange(start)] ^= 1 << random.randrange(8)
        (tmp_path / "spoilt").write_bytes(spoilt)
        with pytest.raises(ModelError):
            Parser.load(tmp_path / "spoilt")
    for _ in range(60):  # whatever weights of the right checksum are, there are trees or an error
        spoilt = bytearray(whole)
        for _ in range(2000):
            spoilt[random.randrange(start, len(whole))] = random.choice(
                [0, 0x7F, 0x80, 0xFF, 0xC0, random.randrange(256)]
            )
        (tmp_path / "spoilt").write_bytes(spoilt)
        with rejects(ModelError, field="data"):
            Parser.load(tmp_path / "spoilt")
        try:
            heads, _ = Parser.from_file(read_model(tmp_path / "spoilt")).trees(DEV)
        except ArboraError:
            continue
        assert heads.shape == (DEV.words,)


def test_saving_into_a_missing_folder_is_rejected(parser, tmp_path):
    with rejects(ModelError, source=str(tmp_path / "nowhere" / "model")):
        parser.save(tmp_path / "nowhere" / "model")
    assert parser.scorer.settings.tree_bits == BITS


def test_a_sentence_with_too_many_parts_is_rejected(parsers):
    words = ["word"] * 520
    with pytest.raises(InputError):
        parsers["no labels"].parse([words])
    assert len(parsers["second order"].parse([words])[0]) == 520


def test_what_is_no_list_of_sentences():
    parser = train(TRAIN, config=config(order=1)).parser
    sentence = next(TRAIN.sentences())
    for given, field in (
        ("file.conllu", "parse"),
        (sentence, "parse"),
        (["some", "words"], None),
        (None, "parse"),
        ([None], "parse"),
    ):
        with rejects(InputError, field=field):
            parser.parse(given)
    with rejects(InputError, field="threads"):
        parser.parse([sentence], threads=0)


def test_names_of_0_1_warn_and_still_work(parser):
    with pytest.warns(DeprecationWarning, match="calibration"):
        assert parser.temperatures == parser.calibration
    with pytest.warns(DeprecationWarning, match="confidence"):
        assert parser.judge == parser.confidence
