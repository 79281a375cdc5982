"""Damaged or malicious model files: each gives a ModelError at once, or a working model."""

import random

import numpy as np
import pytest
from errors import rejects
from pipeline_toys import trained

from arbora.data.columns import parse_sentence
from arbora.errors import ModelError
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.storage.model_file import ModelFile, read_model

TEXT = "Ann calls the dogs. Bob helped the tree!"


@pytest.fixture(scope="module")
def pipeline():
    return trained().pipeline


@pytest.fixture(scope="module")
def stored(pipeline, tmp_path_factory):
    """Tensors and metadata of a file, once plain and once compact."""
    folder = tmp_path_factory.mktemp("stored")
    found = {}
    for quantized in (False, True):
        pipeline.save(folder / "m", quantized=quantized)
        file = read_model(folder / "m")
        found[quantized] = {name: np.array(array) for name, array in file.tensors.items()}, file.metadata
    return found


FLAT = ("tagger/upos", "tagger/morphology", "lemmatizer/scripts")


@pytest.fixture
def load(monkeypatch):
    """`Pipeline.load` of tensors and metadata, without a file on disk, to be fast."""

    def call(tensors, metadata):
        file = ModelFile("m.arbora", 1, "1", metadata, tensors)
        monkeypatch.setattr("arbora.storage.model_file.read_model", lambda _, verify: file)
        return Pipeline.load("m.arbora")

    return call


@pytest.fixture
def refused(load):
    """Check that a file is rejected with a readable message."""

    def call(tensors, metadata):
        with rejects(ModelError, source="m.arbora") as caught:
            load(tensors, metadata)
        assert len(str(caught.value)) < 500

    return call


def changed(metadata, part, **entries):
    parts = {**metadata["parts"], part: {**metadata["parts"][part], **entries}}
    return {**metadata, "parts": parts}


@pytest.mark.parametrize("quantized", [False, True])
def test_missing_or_mistyped_tensors_are_rejected(stored, refused, quantized):
    tensors, metadata = stored[quantized]
    for name, array in tensors.items():
        others = {key: value for key, value in tensors.items() if key != name}
        if not name.endswith(".nonzero"):  # without which nothing is zero: another size, see below
            refused(others, metadata)
        wrong = [
            array.astype(np.float64),
            array.reshape(1, -1) if array.size else np.zeros((1, 1), array.dtype),
        ]
        if name.endswith(
            (".codes", ".levels", ".values", ".scales", "lexicon.keys", "upos", "morphology", "scripts")
        ):
            wrong += [array[:-1], np.concatenate([array, array[:1]])]
        for bad in wrong:
            if bad.dtype == array.dtype and (bad.ndim == 2) == (name in FLAT) and bad.size == array.size:
                continue  # nothing is cut from nothing, and as many weights in another shape will do
            refused({**others, name: bad}, metadata)


def test_non_finite_weights_are_rejected(stored, refused):
    tensors, metadata = stored[False]
    for name in FLAT:
        name = name if name in tensors else f"{name}.values"
        for value in (np.nan, np.inf, -np.inf):
            bad = tensors[name].copy()
            bad[3] = value
            refused({**tensors, name: bad}, metadata)


def test_damaged_lexicons_are_rejected(stored, refused):
    tensors, metadata = stored[False]
    for part in ("tagger", "lemmatizer"):
        keys = tensors[f"{part}/lexicon.keys"]
        for bad in (keys[::-1].copy(), np.zeros_like(keys), keys.astype(np.int32)):
            refused({**tensors, f"{part}/lexicon.keys": bad}, metadata)


WRONG = [None, 5, -1, 2.5, True, "x", [], [1], ["x"], {}, [[]], [[[]]], {"x": 1}, [None], 2**40, "x" * 1000]


def test_missing_or_mistyped_entries_are_rejected(stored, refused):
    tensors, metadata = stored[True]
    free = {("segmenter", "scores"): [{}, {"x": 1}], ("segmenter", "rules"): [[]]}
    free |= {("parser", "columns"): [None, []], ("parser", "tags"): [[], ["x"]]}
    free[("parser", "calibration")] = [None, {}]
    for part, entries in metadata["parts"].items():
        for name in entries:
            if (part, name) in (("parser", "about"), ("parser", "pruner")):
                continue
            if name not in ("scores", "columns", "calibration"):
                lacking = {key: value for key, value in entries.items() if key != name}
                refused(tensors, {**metadata, "parts": {**metadata["parts"], part: lacking}})
            for wrong in WRONG:
                if wrong in free.get((part, name), ()):
                    continue
                refused(tensors, changed(metadata, part, **{name: wrong}))
        for wrong in (None, 5, [], "x"):
            refused(tensors, {**metadata, "parts": {**metadata["parts"], part: wrong}})


@pytest.mark.parametrize("kind", [None, "parser", 5, "pipeline2"])
def test_other_kinds_of_files_are_rejected(stored, refused, kind):
    tensors, metadata = stored[True]
    refused(tensors, {**metadata, "kind": kind})
    for parts in (None, [], 5, {}, {"tagger": metadata["parts"]["tagger"]}):
        refused(tensors, {**metadata, "parts": parts})
    for about in (None, [], 5):
        refused(tensors, {**metadata, "about": about})


HOSTILE_TEXTS = ["a\tb", "a\nb", "a\rb", "\n", ""]


def test_texts_with_tabs_or_line_breaks_are_rejected(stored, refused):
    tensors, metadata = stored[True]
    for text in HOSTILE_TEXTS:
        for part, name in (
            ("tagger", "tags"),
            ("lemmatizer", "tags"),
            ("parser", "tags"),
            ("parser", "labels"),
        ):
            names = list(metadata["parts"][part][name])
            names[1] = text
            refused(tensors, changed(metadata, part, **{name: names}))
        for place in (0, 1):
            analyses = [[list(pair) for pair in group] for group in metadata["parts"]["tagger"]["analyses"]]
            analyses[0][0][place] = text
            refused(tensors, changed(metadata, "tagger", analyses=analyses))
    names = metadata["parts"]["tagger"]["tags"]
    refused(tensors, changed(metadata, "tagger", tags=[names[0], *names[:-1]]))


@pytest.mark.parametrize(
    "script",
    [
        "", "x", "=", "=\t", "l", "l\t0\t\t0", "z\t0\t\t0\t", "l\t-1\t\t0\t", "l\t0\t\t9999999999999999999\t",
        "l\t1001\t\t0\t", "l\t0x\t\t0\t", "l\t \t\t0\t", "l\t0\ta\nb\t0\t", "=\ta\rb", "=\ta\tb",
        "l\t0\t\t0\t\t", "ll\t0\t\t0\t", "\t0\t\t0\t", "l\t\t\t\t",
    ],
    ids=repr,
)  # fmt: skip
def test_invalid_scripts_are_rejected(stored, refused, script):
    tensors, metadata = stored[True]
    scripts = [list(group) for group in metadata["parts"]["lemmatizer"]["scripts"]]
    scripts[-1][-1] = script
    refused(tensors, changed(metadata, "lemmatizer", scripts=scripts))


def test_huge_sizes_are_rejected(stored, refused):
    tensors, metadata = stored[True]
    for bits in (0, 7, 11, 26, 27, 31, 63, 64, 2**31, -5):
        refused(tensors, changed(metadata, "tagger", bits=[bits, 10]))
        refused(tensors, changed(metadata, "tagger", bits=[10, bits]))
        refused(tensors, changed(metadata, "lemmatizer", bits=bits))
        refused(tensors, changed(metadata, "segmenter", bits=bits))
    many = [f"T{i}" for i in range(20_000)]
    analyses = [[["a", "b"]] for _ in many]
    refused(tensors, changed(metadata, "tagger", tags=many, analyses=analyses))
    one = len(metadata["parts"]["lemmatizer"]["tags"])
    scripts = [["l\t0\t\t0\t"] * 20_000] * one
    refused(tensors, changed(metadata, "lemmatizer", scripts=scripts))


def test_flipped_bytes_give_an_error_or_a_working_pipeline(stored, load):
    chance = random.Random(3)
    tensors, metadata = stored[True]
    names = [name for name in tensors if tensors[name].size]
    refusals = 0
    for _ in range(200):
        name = chance.choice(names)
        spoilt = tensors[name].copy()
        raw = spoilt.view(np.uint8)
        raw[chance.randrange(raw.size)] ^= 1 << chance.randrange(8)
        try:
            found = load({**tensors, name: spoilt}, metadata)
        except ModelError:
            refusals += 1
            continue
        for each in found(TEXT):
            written = each.sentence.to_conllu()
            assert parse_sentence(written, "conllu").to_conllu() == written
    assert refusals > 5


@pytest.mark.parametrize("load", [Pipeline.load, Parser.load])
def test_flipped_bits_in_weights_are_detected(pipeline, tmp_path, load):
    pipeline.save(tmp_path / "m")
    data = bytearray((tmp_path / "m").read_bytes())
    for place in (len(data) // 2, len(data) - 1):
        data[place] ^= 4
        (tmp_path / "m").write_bytes(data)
        with rejects(ModelError, field="data"):
            load(tmp_path / "m")
        data[place] ^= 4


def test_truncated_files_are_rejected(pipeline, tmp_path):
    pipeline.save(tmp_path / "m", quantized=True)
    whole = (tmp_path / "m").read_bytes()
    for length in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "m").write_bytes(whole[:length])
        with pytest.raises(ModelError):
            Pipeline.load(tmp_path / "m")
