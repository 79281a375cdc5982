"""Word vectors: every form is read alike, and every malformed file is an error with its line."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from arbora.errors import DataError, InputError
from arbora.storage.vectors import BLOCK, read_vectors

WORDS = ("the", "New York", "naïve", "...", "the\u00a0end")
VALUES = np.array([[0.5, -1, 2e-3], [1, 2, 3], [0, 0, 0], [-1e3, 5, 0.25], [1, 1, 1]], np.float32)


def text_of(words=WORDS, values=VALUES, header=True, end="\n"):
    lines = [f"{len(words)} {values.shape[1]}"] if header else []
    lines += [" ".join([word, *map(str, row.tolist())]) for word, row in zip(words, values, strict=True)]
    return "".join(line + end for line in lines).encode()


def read(tmp_path, data, name="v.vec", **options):
    (tmp_path / name).write_bytes(data)
    return read_vectors(tmp_path / name, **options)


def same(found, words=WORDS, values=VALUES):
    assert found.words == tuple(words)
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values, values)


FORMS = {
    "with a header": text_of(),
    "without a header": text_of(header=False),
    "with spaces at the end, as fastText writes it": text_of(end=" \n"),
    "with other line ends": text_of(end="\r\n"),
    "without a last line end": text_of()[:-1],
    "with tabs": text_of().replace(b" 1.0 2.0", b"\t1.0\t2.0"),
    "with double spaces": text_of().replace(b" 1.0 2.0", b"  1.0  2.0"),
    "with a byte order mark": b"\xef\xbb\xbf" + text_of(),
    "compressed": gzip.compress(text_of()),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_text_are_read_alike(form, tmp_path):
    same(read(tmp_path, FORMS[form]))


def test_the_first_vector_of_a_word_counts(tmp_path):
    found = read(tmp_path, text_of(("a", "b", "a", "c", "b"), VALUES))
    same(found, "abc", VALUES[[0, 1, 3]])


@pytest.mark.parametrize("most", range(1, 7))
def test_only_the_first_words_are_read(most, tmp_path):
    same(read(tmp_path, text_of(), most=most), WORDS[:most], VALUES[:most])
    kept = text_of(("a", "a", "b", "a", "c"), VALUES)
    same(read(tmp_path, kept, most=most), "abc"[:most], VALUES[[0, 2, 4]][:most])


def test_words_after_the_first_blocks_are_not_read(tmp_path):
    """The rest of the file may be anything."""
    whole = b"".join(b"w%d 1 2 3\n" % number for number in range(BLOCK // 8))
    assert len(read(tmp_path, whole + b"bad line\n", most=100).words) == 100


def test_lines_across_blocks_are_read(tmp_path):
    count = BLOCK // 8
    data = "".join(f"w{number} {number} 0.5\n" for number in range(count)).encode()
    assert len(data) > BLOCK
    found = read(tmp_path, data)
    assert found.words[-1] == f"w{count - 1}"
    np.testing.assert_array_equal(found.values[:, 0], np.arange(count))


MALFORMED = {
    "empty": (b"", None),
    "header alone": (b"0 3\n", None),
    "header alone, of many words": (b"5 3\n", None),
    "too few words": (b"3 2\na 1 2\nb 1 2\n", None),
    "too many words": (b"1 2\na 1 2\nb 1 2\n", None),
    "absurd dimensions": (b"5 999999999999999999\na 1\n", 1),
    "no dimensions": (b"5 0\na\n", 1),
    "a word alone": (b"word\n", 1),
    "NaN": (b"a 1 2\nb nan 2\n", 2),
    "infinity": (b"2 2\na 1 2\nb 1 -inf\n", 3),
    "too large a number": (b"a 1 2\nb 1 1e39\n", 2),
    "a number too few": (b"a 1 2\nb 1\n", 2),
    "a number too many": (b"a 1 2\nb 1 2 3x\n", 2),
    "no number": (b"a 1 2\nb 1 x\n", 2),
    "hexadecimal": (b"a 1 2\nb 1 0x10\n", 2),
    "comma": (b"a 1 2\nb 1 2,5\n", 2),
    "no word": (b"a 1 2\n 1 2\n", 2),
    "blank line": (b"a 1 2\n\nb 1 2\n", 2),
    "bad UTF-8": (b"a 1 2\n\xff\xfe 1 2\n", 2),
    "word2vec binary": (b"2 2\na \x00\x00\x80?\x00\x00\x00@\nb \x00\x00\x80?\x00\x00\x00@\n", 2),
    "zero bytes": (b"a 1 2\nb 1 2\x00\n", 2),
    "one endless line": (b"a " + b"1 " * BLOCK, None),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_text_is_rejected_with_its_line(kind, tmp_path):
    data, line = MALFORMED[kind]
    with rejects(DataError, source=str(tmp_path / "v.vec"), line=line):
        read(tmp_path, data)


def test_an_absurd_count_of_words_allocates_nothing(tmp_path):
    with rejects(DataError, line=None):
        read(tmp_path, b"999999999999999999 2\na 1 2\n")


def test_damaged_gzip_files_are_rejected(tmp_path):
    whole = gzip.compress(text_of() * 100)
    for cut in (3, 20, len(whole) - 4):
        with rejects(DataError):
            read(tmp_path, whole[:cut], "v.gz")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_rejected(data):
    with TemporaryDirectory() as folder:
        try:
            found = read(Path(folder), data)
        except DataError:
            return
    assert len(set(found.words)) == len(found.values) > 0
    assert np.isfinite(found.values).all()


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_numbers_round_trip(rows):
    values, words = np.array(rows, np.float32), [f"w{number}" for number in range(len(rows))]
    with TemporaryDirectory() as folder:
        same(read(Path(folder), text_of(words, values)), words, values)


def test_most_must_be_a_count(tmp_path):
    with rejects(InputError):
        read(tmp_path, text_of(), most=0)


# ---------------------------------------------------------------- safetensors


def save(tmp_path, tensors, metadata=None):
    path = tmp_path / "v.safetensors"
    save_file(tensors, str(path), metadata)
    return path


LISTED = {"words": json.dumps(WORDS)}
AS_BYTES = np.frombuffer("\n".join(WORDS).encode(), np.uint8)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["vectors", "emb.weight"])
@pytest.mark.parametrize("listed", [True, False])
def test_safetensors_are_read(dtype, name, listed, tmp_path):
    tensors = {name: VALUES.astype(dtype), "other": np.zeros(3)}
    path = save(tmp_path, tensors if listed else {**tensors, "words": AS_BYTES}, LISTED if listed else None)
    same(read_vectors(path), values=VALUES.astype(dtype).astype(np.float32))
    same(read_vectors(path, most=2), WORDS[:2], VALUES[:2].astype(dtype).astype(np.float32))


def test_safetensors_may_end_in_a_line_end_and_repeat_words(tmp_path):
    listed = np.frombuffer(b"a\nb\na\nc\nb\n", np.uint8)
    same(read_vectors(save(tmp_path, {"vectors": VALUES, "words": listed})), "abc", VALUES[[0, 1, 3]])


BAD = {
    "no matrix": ({"vectors": VALUES[0]}, LISTED),
    "two matrices": ({"a": VALUES, "b": VALUES}, LISTED),
    "whole numbers": ({"vectors": VALUES.astype(np.int32)}, LISTED),
    "no words": ({"vectors": VALUES}, None),
    "other words": ({"vectors": VALUES}, {"words": "[1, 2, 3, 4, 5]"}),
    "an empty word": ({"vectors": VALUES}, {"words": '["", "b", "c", "d", "e"]'}),
    "no list": ({"vectors": VALUES}, {"words": '{"a": 1}'}),
    "no JSON": ({"vectors": VALUES}, {"words": "the, of"}),
    "nested JSON": ({"vectors": VALUES}, {"words": "[" * 100_000}),
    "too few words": ({"vectors": VALUES}, {"words": '["a"]'}),
    "words as floats": ({"vectors": VALUES, "words": np.zeros(5)}, None),
    "bad UTF-8": ({"vectors": VALUES, "words": np.full(9, 255, np.uint8)}, None),
    "NaN": ({"vectors": VALUES * np.float32("nan")}, LISTED),
    "too large": ({"vectors": np.full((5, 3), 1e300)}, LISTED),
    "no rows": ({"vectors": VALUES[:0]}, {"words": "[]"}),
}


@pytest.mark.parametrize("kind", BAD)
def test_malformed_safetensors_are_rejected(kind, tmp_path):
    with rejects(DataError, source=str(tmp_path / "v.safetensors")):
        read_vectors(save(tmp_path, *BAD[kind]))


def test_damaged_safetensors_are_rejected(tmp_path):
    path = save(tmp_path, {"vectors": VALUES}, LISTED)
    whole = path.read_bytes()
    for cut in (9, 40, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with rejects(DataError, source=str(path)):
            read_vectors(path)
