import gzip
import io
import logging
import subprocess
import sys

import numpy as np
import pytest
from errors import rejects

from arbora.data import treebank
from arbora.errors import DataError, InputError

ROW = "{}\tw\t_\tN\t_\t_\t{}\tdep\t_\t_\n"
GOOD = ROW.format(1, 0) + "\n"
BAD = ROW.format(1, 7) + "\n"


def written(sentences, **options) -> bytes:
    buffer = io.BytesIO()
    treebank.write(sentences, buffer, **options)
    return buffer.getvalue()


def stream(text: str | bytes) -> io.BytesIO:
    return io.BytesIO(text.encode() if isinstance(text, str) else text)


def layouts(data: bytes):
    """The same sentences as files of other people may hold them."""
    for text in (data, data.replace(b"\n", b"\r\n")):
        newline = b"\r\n" if b"\r" in text else b"\n"
        once = text.removesuffix(newline)
        for start in (b"", b"\xef\xbb\xbf", newline * 2, b"\xef\xbb\xbf" + newline):
            for end in (text, text + newline * 3, once, once.removesuffix(newline)):
                yield start + end


class NoBytes:
    def read(self, size):
        return 7


def test_every_layout_comes_back_byte_for_byte(small_treebank):
    for data in layouts(small_treebank.read_bytes()):
        assert written(treebank.read(stream(data))) == data
        assert treebank.read_columns(stream(data)).to_bytes() == data


def test_real_treebanks_come_back_byte_for_byte(treebank_files):
    for path in treebank_files:
        data = path.read_bytes()
        assert treebank.read_columns(path).to_bytes() == data, path
        if len(data) < 2_000_000:
            assert written(treebank.read(path)) == data, path


@pytest.mark.parametrize("piece", [1, 7, 64, 1000])
def test_the_size_of_pieces_changes_nothing(small_treebank, monkeypatch, piece):
    data = small_treebank.read_bytes().replace(b"\n", b"\r\n")
    whole = list(treebank.read(stream(data), format="conllu"))
    monkeypatch.setattr(treebank, "PIECE", piece)
    parts = list(treebank.read(stream(data), format="conllu"))
    assert parts == whole
    assert [s.origin for s in parts] == [s.origin for s in whole]
    assert treebank.read_columns(stream(data), format="conllu").to_bytes() == data


def test_columns_agree_with_sentences(small_treebank):
    columns = treebank.read_columns(small_treebank)
    sentences = list(treebank.read(small_treebank))
    assert list(columns.sentences()) == sentences
    assert columns.words == sum(map(len, sentences))
    assert columns.heads.dtype == np.int32
    assert columns.heads.tolist() == [head for s in sentences for head in s.heads]
    assert columns.offsets.tolist()[:3] == [0, 5, 12]
    assert columns.strings("form")[0] == "_"
    forms = [columns.strings("form")[i] for i in columns.ids("form")]
    assert forms == [form for s in sentences for form in s.forms]
    lines = small_treebank.read_text(encoding="utf-8").split("\n")
    assert all(lines[at - 1].split("\t")[1] == form for at, form in zip(columns.lines, forms, strict=True))
    assert (columns.multiword_tokens, columns.empty_nodes) == (3, 5)
    assert not columns.heads.flags.writeable
    with rejects(InputError, field="column"):
        columns.ids("head")


def test_arrays_outlive_their_reader(small_treebank):
    heads = treebank.read_columns(small_treebank).heads
    assert heads.tolist()[:5] == [3, 3, 4, 0, 4]


FAULTS = {
    "columns": ("1\tw\n", 1),
    "spaces": ("1 w _ N _ _ 0 dep _ _\n", 1),
    "order": (ROW.format(1, 0) + ROW.format(3, 1), 2),
    "range": (ROW.format("1-3", "_") + ROW.format(1, 0), 1),
    "head": (BAD, 1),
    "word": (ROW.format(1, "x"), 1),
    "cycle": (ROW.format(1, 0) + ROW.format(2, 3) + ROW.format(3, 2), 2),
    "roots": (ROW.format(1, 0) + ROW.format(2, 0), 2),
    "utf8": (b"# \xff\n" + GOOD.encode(), 1),
    "empty": (GOOD.replace("w", ""), 1),
    "tag": (GOOD.replace("N", "N" * 1001), 1),
    "label": (GOOD + GOOD.replace("dep", "d" * 1001), 3),
    "carriage": (GOOD.replace("w", "w\rw"), 1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_errors_name_the_file_and_the_line(name, tmp_path):
    text, line = FAULTS[name]
    data = text if isinstance(text, bytes) else text.encode()
    path = tmp_path / "x.conllu"
    path.write_bytes(GOOD.encode() + data)
    reader = treebank.read(path, roots="single")
    assert len(next(reader)) == 1
    with rejects(DataError, source=str(path), line=line + 2) as caught:
        list(reader)
    assert str(caught.value).startswith(f"{path}:{line + 2}: ")


def test_lenient_skips_warns_and_counts(caplog):
    reader = treebank.read(stream(BAD + GOOD + BAD + GOOD + "junk\n"), lenient=True)
    with caplog.at_level(logging.WARNING, logger="arbora"):
        assert len(list(reader)) == 2
    assert reader.skipped == 3
    assert [warning.line for warning in reader.warnings] == [1, 5, 9]
    assert len(caplog.records) == 3
    assert "<stream>:1: head out of range" in caplog.text
    assert len(treebank.read_columns(stream(BAD + GOOD), lenient=True)) == 1


@pytest.mark.parametrize("piece", [1, 5, 4096])
def test_text_streams_are_read_to_the_end(monkeypatch, piece):
    text = "".join(ROW.format(1, 0).replace("w", "wé" * (i % 7 + 1)) + "\n" for i in range(3000))
    monkeypatch.setattr(treebank, "PIECE", piece)
    assert sum(map(len, treebank.read(io.StringIO(text)))) == 3000


def test_sources_of_every_kind(small_treebank, tmp_path):
    expected = list(treebank.read(small_treebank))
    data = small_treebank.read_bytes()
    zipped = tmp_path / "x.conllu.gz"
    zipped.write_bytes(gzip.compress(data))
    assert list(treebank.read(str(zipped))) == expected
    assert list(treebank.read(io.StringIO(data.decode()))) == expected
    assert list(treebank.read(stream(gzip.compress(data)))) == expected
    assert list(treebank.read(stream(data), format="conllu")) == expected
    with small_treebank.open("rb") as file:
        assert list(treebank.read(file)) == expected
        assert not file.closed
    for sent in (data, gzip.compress(data)):
        program = "from arbora.data import treebank; print(len(list(treebank.read('-'))))"
        result = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True)
        assert (result.stdout, result.stderr) == (b"12\n", b"")
    with rejects(InputError, field="source"):
        treebank.read(3)
    with rejects(InputError, field="source"):
        treebank.read(NoBytes())
    with pytest.raises(FileNotFoundError):
        treebank.read(tmp_path / "none.conllu")


def test_damaged_gzip_is_a_data_error(small_treebank, tmp_path):
    data = gzip.compress(small_treebank.read_bytes())
    for broken in (data[:200], data[:100] + b"xxxx" + data[104:], data[:-8] + b"checksum"):
        path = tmp_path / "x.gz"
        path.write_bytes(broken)
        with rejects(DataError, source=str(path), line=None) as caught:
            list(treebank.read(path))
        assert "None" not in caught.value.what  # the reason, not an empty system error


def test_empty_files_are_treebanks_and_blank_ones_are_not():
    assert list(treebank.read(stream(""))) == []
    assert len(treebank.read_columns(stream(""))) == 0
    with rejects(DataError, line=1, source="<stream>"):
        list(treebank.read(stream("\n\n")))


def test_endless_sentences_are_rejected(monkeypatch):
    monkeypatch.setattr(treebank, "PIECE", 64)
    monkeypatch.setattr(treebank, "LONGEST_SENTENCE", 1000)
    with rejects(DataError, source="<stream>"):
        list(treebank.read(stream("x" * 5000)))


def test_memory_does_not_grow_with_the_file(monkeypatch):
    """The reader never holds more than a piece and a sentence."""
    monkeypatch.setattr(treebank, "PIECE", 4096)
    sizes = [part.words for part in treebank.ColumnReader(stream(GOOD * 20_000))]
    assert sum(sizes) == 20_000
    assert max(sizes) < 400


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.conllu", GOOD, "conllu"),
        ("x.conllx.gz", "# c\n" + GOOD, "conllx"),
        ("x.conll", GOOD, "conllx"),
        ("x.conll", "# c\n" + GOOD, "conllu"),
        ("x.conll", GOOD.replace("dep\t_", "dep\t0:root"), "conllu"),
        ("x.conll", ROW.format("1-2", "_") + GOOD, "conllu"),
        ("", GOOD, "conllu"),
        ("", "\ufeff" + GOOD.replace("dep\t_", "dep\t0"), "conllx"),
    ],
)
def test_formats_are_found(name, text, expected):
    assert treebank.detect_format(name, text.encode()) == expected


@pytest.mark.parametrize(("name", "comments"), [("y.conllx", 0), ("y.conllu", 1), ("y", 1)])
def test_converting_goes_by_the_targets_path(tmp_path, name, comments):
    reader = treebank.convert(stream("# c\n" + GOOD), tmp_path / name)
    assert reader.format == "conllu"
    assert (tmp_path / name).read_bytes().count(b"#") == comments


def test_converting_checks_roots_and_wants_a_good_sentence(tmp_path):
    two_roots = ROW.format(1, 0) + ROW.format(2, 0) + "\n"
    out = tmp_path / "y.conllu"
    with rejects(DataError, line=2, source="<stream>"):
        treebank.convert(stream(two_roots), out, roots="single")
    with rejects(DataError, source="<stream>"):
        treebank.convert(stream(two_roots), out, roots="single", lenient=True)
    assert list(tmp_path.iterdir()) == []
    assert treebank.convert(stream(two_roots + GOOD), out, roots="single", lenient=True).skipped == 1
    assert out.read_text() == GOOD


def test_bad_options_name_what_fits():
    with rejects(InputError, field="to"):
        treebank.convert(stream(GOOD), io.BytesIO(), to="x")
    with rejects(InputError, field="format"):
        treebank.read(stream(GOOD), format="conll")
    with rejects(InputError, field="roots"):
        treebank.read(stream(GOOD), roots="one")
    with rejects(InputError, field="layout"):
        treebank.write([], io.BytesIO(), layout="x")


@pytest.mark.parametrize("name", ["x.parquet", "x.PARQUET", "x.json", "x.jsonl.gz", "x.svg"])
def test_names_of_other_formats_are_rejected(name, tmp_path):
    with rejects(InputError, field="target"):
        treebank.write(treebank.read(stream(GOOD)), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    for other in ("x.conllu", "x.conll.gz", "x.txt", "x"):
        assert treebank.write(treebank.read(stream(GOOD)), tmp_path / other) == 1


def test_writing_is_all_or_nothing(small_treebank, tmp_path):
    path = tmp_path / "out.conllu"
    path.write_text("before")
    path.chmod(0o640)
    broken = treebank.read(stream(GOOD + BAD))
    with pytest.raises(DataError):
        treebank.write(broken, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    assert treebank.write(treebank.read(small_treebank), path) == 12
    assert path.read_bytes() == small_treebank.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640


def test_writing_zips_by_name_and_always_alike(small_treebank, tmp_path):
    first, second = tmp_path / "a.conllu.gz", tmp_path / "b.conllu.gz"
    for path in (first, second):
        treebank.write(treebank.read(small_treebank), path)
    assert gzip.decompress(first.read_bytes()) == small_treebank.read_bytes()
    assert first.read_bytes() == second.read_bytes()


def test_writing_joins_files_soundly():
    """A missing last blank line must not glue two sentences together."""
    cut = list(treebank.read(stream(GOOD.rstrip("\n"))))
    assert written(cut + cut) == (GOOD + GOOD.rstrip("\n")).encode()
    assert written(cut, layout="standard") == GOOD.encode()
    marked = list(treebank.read(stream("\ufeff\r\n" + GOOD.replace("\n", "\r\n"))))
    assert written(cut + marked) == (GOOD + GOOD.replace("\n", "\r\n")).encode()
    text = io.StringIO()
    treebank.write(cut, text)
    assert text.getvalue() == GOOD.rstrip("\n")
