"""`arbora parse` of raw text: every way to pass a text, and hostile texts."""

import gzip
import io
import json
import os
import re
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pipeline_toys import conllu, trained, without

from arbora.cli import inputs
from arbora.data.columns import parse_text
from arbora.data.treebank import read
from arbora.pipeline import segmenter
from arbora.storage.model_file import read_model, write_model

TEXT = "Ann calls the dogs. Bob helped the tree!"
RANGE = re.compile(r"TokenRange=(\d+):(\d+)")


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A model of all parts."""
    path = tmp_path_factory.mktemp("whole") / "all.arbora"
    trained().pipeline.save(path, quantized=True)
    return path


@pytest.fixture
def parse(arbora, whole, tmp_path, monkeypatch):
    """`arbora parse` with that model, in a folder of its own, with bytes on stdin."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, stdin=b"", model=whole):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return arbora("parse", *arguments, "-m", model)

    return call


@pytest.mark.parametrize("given", [b"Ann calls the dogs. Bob helped.", None], ids=["text", "treebank"])
def test_pipes_with_a_name_are_read_once(parse, given):
    """As in `arbora parse <(command)`."""
    data = given or b"1\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\n\n1\tBob\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(data))
    writer.start()
    assert len(sentences(parse("pipe").stdout)) == 2
    writer.join()


def sentences(text):
    return list(parse_text(text, "conllu").sentences())


def forms(text):
    return [list(sentence.forms) for sentence in sentences(text)]


FORMS = [["Ann", "calls", "the", "dogs", "."], ["Bob", "helped", "the", "tree", "!"]]


# ---------------------------------------------------------------- doors


def test_a_text_in_quotes(parse):
    result = parse(TEXT)
    assert result.status == 0
    assert forms(result.stdout) == FORMS
    first = sentences(result.stdout)[0]
    assert first.upos == ("PROPN", "VERB", "DET", "NOUN", "PUNCT")
    assert first.heads == (2, 0, 4, 2, 2)
    assert "# text = Ann calls the dogs." in result.stdout
    assert result.stderr.startswith("<text>: 2 sentences, 10 words in ")
    assert parse(TEXT, "-q").stderr == ""


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("word", "word: no such file; a text to parse contains a space"),
        ("nofile.txt", "nofile.txt: no such file"),
        ("", "expected a text, the name of a file, or - for stdin, got nothing"),
        ("  ", "expected a text, the name of a file, or - for stdin, got nothing"),
        (".", "a corpus is written to a folder"),
    ],
)
def test_words_that_are_not_files_are_rejected(parse, given, what):
    result = parse(given)
    assert (result.status, result.stdout) == (2, "")
    assert what in result.stderr


@pytest.mark.parametrize("name", ["t.txt", "t.text", "t", "t.md", "t.TXT"])
def test_files_of_text(parse, tmp_path, name):
    (tmp_path / name).write_text(TEXT)
    result = parse(name)
    assert result.status == 0
    assert forms(result.stdout) == FORMS
    assert result.stderr.startswith(f"{name}: 2 sentences")


def test_compressed_files_and_stdin(parse, tmp_path):
    plain = parse(TEXT).stdout
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert parse("t.txt.gz").stdout == plain
    assert parse("-", stdin=TEXT.encode()).stdout == plain
    assert parse("-", stdin=gzip.compress(TEXT.encode())).stdout == plain
    assert parse("-", stdin=TEXT.encode()).stderr.startswith("<stdin>: 2 sentences")


def test_treebanks_are_detected_by_name_or_content(parse, tmp_path):
    bank = conllu(3, 9).encode()
    expected = parse("-", stdin=bank).stdout
    assert [list(s.forms) for s in sentences(expected)] == forms(bank.decode())
    assert sentences(expected)[0].comments == sentences(bank.decode())[0].comments
    for name in ("b.conllu", "b", "b.dat"):
        (tmp_path / name).write_bytes(bank)
        assert parse(name).stdout == expected
    (tmp_path / "b.txt").write_bytes(bank)  # the name decides
    assert parse("b.txt").stdout != expected
    assert parse("b.txt", "--input-format", "conllu").stdout == expected
    (tmp_path / "t.conllu").write_text(TEXT)
    assert parse("t.conllu").status == 1
    assert forms(parse("t.conllu", "--input-format", "text").stdout) == FORMS
    assert forms(parse("-", "--input-format", "text", stdin=TEXT.encode()).stdout) == FORMS
    assert parse(TEXT, "--input-format", "text").status == 0
    refused = parse(TEXT, "--input-format", "conllu")
    assert refused.status == 2
    assert "expected the name of a file or -, got a text" in refused.stderr


def test_a_text_that_is_also_a_file_is_the_file(parse, tmp_path):
    (tmp_path / "two words").write_text("Ann calls the dogs.")
    assert forms(parse("two words").stdout) == FORMS[:1]


def test_long_texts_in_quotes(parse):
    assert len(forms(parse("Ann calls the dogs. " * 300).stdout)) == 300


def test_untagged_words_are_tagged(parse, tmp_path):
    gold = conllu(3, 9)
    bare = parse("-", stdin=without(gold, 2, 3, 4, 5, 6, 7).encode()).stdout
    assert [s.upos for s in sentences(bare)] == [s.upos for s in sentences(gold)]
    assert [s.lemmas for s in sentences(bare)] == [s.lemmas for s in sentences(gold)]
    odd = gold.replace("\tNOUN\t", "\tX\t")
    assert "X" in sentences(parse("-", stdin=odd.encode()).stdout)[0].upos
    again = parse("-", "--retag", stdin=odd.encode()).stdout
    assert [s.upos for s in sentences(again)] == [s.upos for s in sentences(gold)]


def test_options_without_effect_are_rejected(parse, tmp_path, model):
    (tmp_path / "b.conllu").write_text(conllu(2))
    for option in ("--offsets", "--lines"):
        result = parse("b.conllu", option, "-o", "out.conllu")
        assert result.status == 2
        assert f"{option} is for raw text, but b.conllu is a treebank" in result.stderr
        assert parse("-", option, stdin=conllu(2).encode()).status == 2
        assert parse("-", option, stdin=b"").status == 0
    for option in ("--retag", "--keep-heads", "--lenient"):
        for given, name, stdin in ((TEXT, "<text>", b""), ("-", "<stdin>", TEXT.encode())):
            result = parse(given, option, "-o", "out.conllu", stdin=stdin)
            assert result.status == 2
            assert f"{option} is for treebanks, but {name} is raw text; omit it" in result.stderr
        assert parse("-", option, stdin=b"").status == 0
        assert parse("b.conllu", option).status == 0
    result = parse("b.conllu", "--retag", model=model)
    assert result.status == 1
    assert "no tagger" in result.stderr
    assert not (tmp_path / "out.conllu").exists()


def test_a_model_without_a_segmenter(parse, model):
    for given, stdin in ((TEXT, b""), ("-", TEXT.encode())):
        result = parse(given, "-o", "out.conllu", stdin=stdin, model=model)
        assert (result.status, result.stdout) == (1, "")
        assert f"{model} has no segmenter, so it cannot read raw text" in result.stderr


def test_lines(parse):
    text = b"Ann calls\nBob helps the dog\n\nDora"
    assert len(forms(parse("-", "--lines", stdin=text).stdout)) == 3
    assert [
        form for s in forms(parse("-", "--lines", stdin=text).stdout) for form in s
    ] == text.decode().split()


# ---------------------------------------------------------------- offsets


def offsets_fit(text, written):
    found = 0
    end = 0
    for sentence in sentences(written):
        for word in sentence:
            first, last = map(int, RANGE.search(word.misc).groups())
            assert text[first:last] == word.form
            assert first >= end
            end = last
            found += 1
    return found


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "  Ann   calls\n\n\nthe \t dogs.",
        "👩‍👩‍👧 calls 🇩🇰 the dögs. Z\u0301\u0302 helped the tree! 👍🏽 Ann calls the dog.",
        "אן קוראת לכלב. Ann calls the dogs.",
        "\ufeffAnn calls\r\nthe dogs.\r\n",
    ],
    ids=ascii,
)
def test_offsets_match_the_text(parse, text):
    result = parse("-", "--offsets", stdin=text.encode())
    assert result.status == 0
    assert offsets_fit(text, result.stdout) >= 4
    assert "TokenRange" not in parse("-", stdin=text.encode()).stdout


@pytest.mark.parametrize("options", [(), ("--probabilities",), ("--offsets",)])
def test_tables_have_offsets(parse, tmp_path, options):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    text = "Ann  calls the dögs."
    assert parse("-", *options, "-o", tmp_path / "x.parquet", stdin=text.encode()).status == 0
    rows = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert [text[row["start"] : row["end"]] for row in rows] == [row["form"] for row in rows]
    assert any("TokenRange" in (row["misc"] or "") for row in rows) == ("--offsets" in options)


@pytest.mark.parametrize("blank", [True, False])
def test_offsets_across_pieces(parse, monkeypatch, blank):
    gap = "\n\n" if blank else " "
    one = "Ann calls the 🌳dög{}. Bob helped{} the tree!"
    text = gap.join(one.format("s" * (i % 7), " " * (i % 3)) for i in range(80))
    at_once = parse("-", "--offsets", stdin=text.encode()).stdout
    monkeypatch.setattr(inputs, "PIECE", 101)
    monkeypatch.setattr(segmenter, "PIECE", 400)
    in_pieces = parse("-", "--offsets", stdin=text.encode()).stdout
    assert offsets_fit(text, in_pieces) == offsets_fit(text, at_once) == 800
    numbers = [s.comments for s in sentences(in_pieces)]
    assert len({str(each) for each in numbers}) == len(numbers)
    if blank:
        assert in_pieces == at_once


# ---------------------------------------------------------------- what is written


def test_the_output_name_sets_the_format_of_texts(parse, tmp_path):
    for name in ("x.conllu", "x.json", "x.svg", "x.html", "x.conllu.gz", "x.conllx"):
        result = parse(TEXT, "-o", name)
        assert (result.status, result.stdout) == (0, "")
    assert [list(s.forms) for s in read(tmp_path / "x.conllu")] == FORMS
    assert [list(s.forms) for s in read(tmp_path / "x.conllu.gz")] == FORMS
    assert [list(s.forms) for s in read(tmp_path / "x.conllx")] == FORMS
    rows = [json.loads(line) for line in (tmp_path / "x.json").read_text().splitlines()]
    assert [[word["form"] for word in row["words"]] for row in rows] == FORMS
    assert "helped" in "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
    assert (tmp_path / "x.html").read_text().lower().startswith("<!doctype html>")


HOSTILE = {
    "script": "<script>alert(1)</script> calls <img src=x onerror=alert(2)> &lt; \"it\" 'so'.",
    "control": "Ann\x00calls\x01the\x1b[31mdogs\x7f.\x08",
    "marks": "Z" + "\u0301" * 2000 + " calls the dog.",
    "emoji": "👩‍👩‍👧‍👦 calls 🏳️‍🌈 👍🏽 🇩🇰🇩🇰🇩. " * 20,
    "right to left": "אן קוראת לכלבים. \u202eabc\u202c آن تنادي الكلب!",
    "one word": "x" * 100_000,
    "5,000 words": "word " * 5000,
    "one line": "Ann calls the dogs. Bob " * 12_500,
    "noncharacters": "\ufffe\uffff\U0010ffff a \ue000 b",
    "lines": "a\x0bb\x0cc\x85d\u2028e\u2029f g",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(parse, tmp_path, name):
    text = HOSTILE[name]
    (tmp_path / "t.txt").write_bytes(text.encode())
    result = parse("t.txt", "-o", "x.conllu")
    assert result.status == 0, result.stderr
    found = list(read(tmp_path / "x.conllu"))
    kept = "".join("".join(sentence.forms) for sentence in found)
    assert all(c in kept for c in text if c.isalnum())
    assert max(map(len, found)) <= 2000


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("5,000 words", "one line")])
def test_hostile_texts_in_pictures(parse, tmp_path, name):
    (tmp_path / "t.txt").write_bytes(HOSTILE[name].encode())
    for out in ("x.svg", "x.html", "x.json"):
        assert parse("t.txt", "-o", out).status == 0
    assert parse("t.txt", "--format", "tree").status == 0
    for out in ("x.svg", "x.html"):
        written = (tmp_path / out).read_text()
        assert "<script>alert" not in written
        assert "<img" not in written
        assert not any(ord(c) < 32 and c not in "\t\n\r" for c in written)
    ElementTree.parse(tmp_path / "x.svg")


@pytest.mark.parametrize("text", [b"", b"   ", b"\n\n\n", b"\x00\x01", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("out", ["x.conllu", "x.json", "x.svg", "x.html"])
def test_empty_input_gives_empty_output(parse, tmp_path, text, out):
    (tmp_path / "t.txt").write_bytes(text)
    result = parse("t.txt", "-o", out)
    assert result.status == 0
    assert "0 sentences, 0 words" in result.stderr
    if out in ("x.conllu", "x.json"):
        assert (tmp_path / out).read_bytes() == b""
    assert parse("-", stdin=text).status == 0


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("data", "at"),
    [
        (b"Ann calls \xff the dog.", (0xFF, 10)),
        (b"\xc3(", (0xC3, 0)),
        (b"Ann calls the dog.\xe2\x82", (0xE2, 18)),
        (b"a" * 98 + b"\xe2\x82" + b"b" * 50, (0xE2, 98)),  # at the end of a piece of 100
        (b"a" * 99 + b"\xe2\x28\xa1" + b"b" * 50, (0xE2, 99)),
        ("ø".encode() * 60 + b"\xf8", (0xF8, 120)),
        (b"\xed\xa0\x80 lone surrogate", (0xED, 0)),
    ],
)
def test_invalid_utf8_is_reported(parse, tmp_path, monkeypatch, data, at):
    monkeypatch.setattr(inputs, "PIECE", 100)
    (tmp_path / "t.txt").write_bytes(data)
    (tmp_path / "x.conllu").write_text("as before")
    result = parse("t.txt", "-o", "x.conllu")
    assert (result.status, result.stdout) == (1, "")
    assert f"t.txt: expected UTF-8, got byte 0x{at[0]:02x} at byte {at[1]}; convert" in result.stderr
    assert (tmp_path / "x.conllu").read_text() == "as before"
    assert {path.name for path in tmp_path.iterdir()} == {"t.txt", "x.conllu"}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF; save it as plain text"),
        (b"PK\x03\x04\x14", "a zip archive (as .docx and .odt files are); save"),
        ("Ann calls.".encode("utf-16"), "UTF-16; convert it to UTF-8 first: iconv"),
        (b"\x7fELF\x02\x00\x00\xd0a" + b"\t" * 9 + b"\n", "a binary file; is it the right one?"),
    ],
)
def test_binary_files_are_rejected(parse, tmp_path, data, told):
    for name in ("t.txt", "t"):
        (tmp_path / name).write_bytes(data)
        result = parse(name)
        assert (result.status, result.stdout) == (1, "")
        assert f"{name}: expected a text or a treebank, got {told}" in result.stderr


def test_invalid_utf8_in_arguments_is_reported(parse):
    result = parse("Ann calls \udcff the dog.")
    assert result.status == 1
    assert "<text>: expected UTF-8, got byte 0xff at byte 10" in result.stderr


@pytest.mark.parametrize("out", ["x.conllu", "x.json", "x.svg", "x.html", "x.conllu.gz"])
def test_no_partial_file_is_left(parse, tmp_path, monkeypatch, out):
    monkeypatch.setattr(inputs, "PIECE", 100)
    monkeypatch.setattr(segmenter, "PIECE", 200)
    (tmp_path / "t.txt").write_bytes(TEXT.encode() * 50 + b"\xff")
    assert parse("t.txt", "-o", out).status == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]


def test_damaged_gzip_files(parse, tmp_path):
    whole = gzip.compress((TEXT * 50).encode())
    for data in (whole[:-3], whole[: len(whole) // 2], whole[:12] + b"\xff" * 8 + whole[20:]):
        (tmp_path / "t.txt.gz").write_bytes(data)
        result = parse("t.txt.gz", "-o", "x.conllu")
        assert (result.status, result.stdout) == (1, "")
        assert "Traceback" not in result.stderr
        assert "t.txt.gz" in result.stderr
        assert not (tmp_path / "x.conllu").exists()


def test_damaged_models(parse, whole, tmp_path):
    data = whole.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    tampered = data[: header - 200] + bytes([data[header - 200] ^ 1]) + data[header - 199 :]
    for bad in (b"", data[:100], data[: len(data) // 2], data[:-1], tampered, b"\x00" * 100, TEXT.encode()):
        (tmp_path / "bad.arbora").write_bytes(bad)
        result = parse(TEXT, "-o", "x.conllu", model=tmp_path / "bad.arbora")
        assert (result.status, result.stdout) == (1, "")
        assert "bad.arbora: " in result.stderr
        assert "Traceback" not in result.stderr
        assert not (tmp_path / "x.conllu").exists()


# ---------------------------------------------------------------- about models


def test_info_about_a_whole_model(arbora, whole):
    lines = [line.split("\t") for line in arbora("info", whole, "--all").stdout.splitlines()]
    start = lines.index(["part", "bytes", "dev", "what"])
    rows = {row[0]: row[1:] for row in lines[start + 1 : start + 5]}
    assert list(rows) == ["segmenter", "tagger", "lemmatizer", "parser"]
    assert rows["segmenter"][1] == "WORDS 100.00, SENTENCES 100.00"
    assert rows["tagger"][1:] == ["UPOS 100.00, MORPHOLOGY 100.00", "5 tags, 7 XPOS/FEATS pairs"]
    assert rows["lemmatizer"][1].startswith("LEMMAS 1")
    assert "5 tags, 5 labels" in rows["parser"][2]
    assert all(int(row[0].replace(",", "")) > 1000 for row in rows.values())
    about = {line[0]: line[1] for line in lines if len(line) == 2}
    assert about["kind"] == "pipeline"
    assert about["settings.order"] == "1"
    assert about["tags"].startswith("5: ")
    assert about["epochs"].startswith("labels ")
    described = json.loads(arbora("info", whole, "--json").stdout)
    assert described["parts"]["tagger"]["tags"]
    assert described["about"]["dev"]["upos"] == 100
    assert "tagger/upos.codes" in described["tensors"]


def test_info_prints_no_escape_codes(arbora, whole, tmp_path):
    file = read_model(whole)
    metadata = json.loads(json.dumps(file.metadata))
    metadata["parts"]["parser"]["labels"][0] = "a\x1b[2Jb"
    metadata["parts"]["parser"]["about"]["epochs"] = [5, {"x": 1}, None]
    metadata["parts"]["tagger"]["analyses"] = [5, None, {}]
    metadata["parts"]["odd"] = 5
    metadata["about"] = {"dev": {"las": "x", "upos": 1}, "data": [5, {"name": "a\nb"}]}
    write_model(tmp_path / "m", file.tensors, metadata)
    for more in ((), ("--all",)):
        result = arbora("info", tmp_path / "m", *more)
        assert result.status == 0
        assert "\x1b" not in result.stdout
        assert "data\ta b\nlicence\tunknown\n" in result.stdout


def test_the_licence_of_the_data_is_shown_once(arbora, tmp_path):
    trained_model = trained().pipeline
    data = [{"name": "UD_X", "licence": "CC BY-SA 4.0", "attribution": "someone"}]
    path = tmp_path / "m"
    type(trained_model)(
        **{name: getattr(trained_model, name) for name in trained_model.parts},
        about={**trained_model.about, "data": data},
    ).save(path)
    shown = arbora("info", path).stdout
    assert shown.count("licence\tCC BY-SA 4.0\n") == shown.count("attribution\tsomeone\n") == 1
