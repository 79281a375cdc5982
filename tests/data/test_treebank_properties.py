"""Whatever the bytes: a clear error or the same bytes back, never a crash."""

import io
from contextlib import suppress

import pytest
from errors import rejects
from hypothesis import given, settings
from hypothesis import strategies as st

from arbora.data import treebank
from arbora.data.columns import parse_sentence
from arbora.data.sentence import Sentence
from arbora.errors import DataError
from arbora.storage.files import GZIP_MAGIC, ZSTD_MAGIC

FORMATS = st.sampled_from(["conllu", "conllx"])
# Pieces of which treebanks are made, so that sound and nearly sound files come up often.
CELLS = st.sampled_from(["1", "2", "3", "0", "_", "1-2", "0.1", "1.1", "a", "é", "", " ", "\ufeff"])
ROWS = st.one_of(
    st.tuples(st.integers(1, 3), st.integers(0, 3)).map(
        lambda pair: f"{pair[0]}\tw\t_\tN\t_\t_\t{pair[1]}\td\t_\t_"
    ),
    st.lists(CELLS, min_size=9, max_size=11).map("\t".join),
    st.sampled_from(["", "", "# c", "\t", "\r"]),
)
TEXTS = st.lists(st.tuples(ROWS, st.sampled_from(["\n", "\n", "\r\n", ""])), max_size=12).map(
    lambda lines: "".join(row + newline for row, newline in lines).encode()
)


COMPRESSED = (GZIP_MAGIC, ZSTD_MAGIC)


@settings(max_examples=200, deadline=None)
@given(
    data=st.one_of(TEXTS, st.binary(max_size=60).filter(lambda data: not data.startswith(COMPRESSED))),
    form=FORMATS,
)
def test_the_same_bytes_or_an_error_with_a_line(data, form):
    buffer, fault = io.BytesIO(), None
    try:
        treebank.write(treebank.read(io.BytesIO(data), format=form), buffer)
    except DataError as error:
        fault = error
    if fault is None:
        assert buffer.getvalue() == data
        return
    assert fault.line is not None
    assert 1 <= fault.line <= 1 + data.count(b"\n")
    reader = treebank.read(io.BytesIO(data), format=form, lenient=True)
    assert all(len(sentence) for sentence in reader)
    assert reader.skipped > 0


@given(data=st.binary(max_size=60))
def test_damaged_gzip_is_a_data_error(data):
    with rejects(DataError, source="<stream>"):
        list(treebank.read(io.BytesIO(b"\x1f\x8b" + data), format="conllu"))


@given(data=st.binary(max_size=60))
def test_damaged_zstd_is_a_data_error(data):
    """Or, by a rare chance, no damage."""
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    with suppress(DataError):
        list(treebank.read(io.BytesIO(ZSTD_MAGIC + data), format="conllu"))


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), min_size=1, max_size=8)


@st.composite
def made_sentences(draw):
    forms = draw(st.lists(TEXT, min_size=1, max_size=6))
    n = len(forms)
    # A head to the left, or none: always a tree.
    heads = [draw(st.one_of(st.none(), st.integers(0, word))) for word in range(n)]
    columns = {name: draw(st.lists(TEXT, min_size=n, max_size=n)) for name in ("upos", "misc")}
    comments = [f"# {comment}" for comment in draw(st.lists(TEXT, max_size=2))]
    return Sentence.from_lists(forms, heads=heads, comments=comments, **columns)


@settings(max_examples=100, deadline=None)
@given(sentence=made_sentences())
def test_sentences_from_lists_round_trip_through_files(sentence):
    assert parse_sentence(sentence.to_conllu()) == sentence
    words = treebank.conllu_to_conllx(sentence)
    assert parse_sentence(words.to_conllu(), "conllx") == words
