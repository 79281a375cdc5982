"""`arbora stats` and `arbora convert`."""

import gzip
import io
import json
import re
import subprocess
import sys

import pytest

from arbora.cli.main import run

ROW = "{}\tw\t_\tN\t_\t_\t{}\tdep\t_\t_\n"
GOOD, BAD = ROW.format(1, 0) + "\n", ROW.format(1, 7) + "\n"


@pytest.fixture
def arbora(monkeypatch, capfdbinary):
    """`arbora VERB ...` in this process, with bytes for stdin and bytes on stdout and stderr."""

    def call(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        monkeypatch.setattr(sys, "argv", ["arbora", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as exited:
            run()
        told = capfdbinary.readouterr()
        return subprocess.CompletedProcess(arguments, int(exited.value.code or 0), told.out, told.err)

    return call


def test_stats_as_json(arbora, small_treebank):
    result = arbora("stats", small_treebank, "--json")
    assert (result.returncode, result.stderr) == (0, b"")
    found = json.loads(result.stdout)
    assert (found["sentences"], found["words"], found["trees"]) == (12, 67, 11)
    assert found["nonprojective_tree_share"] == pytest.approx(1 / 11)
    assert found["labels"]["root"] == 12
    assert found["files"][0]["file"] == str(small_treebank)


def test_stats_count_missing_heads(arbora, tmp_path):
    path = tmp_path / "half.conllu"
    path.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\tX\t_\t_\t_\t_\t_\t_\n\n" * 2)
    assert re.search(rb"\nwords without a head +2 \(50.00%\)\n", arbora("stats", path).stdout)
    found = json.loads(arbora("stats", path, "--json").stdout)
    assert (found["missing_heads"], found["trees"], found["sentences"]) == (2, 0, 2)


def test_stats_from_a_pipe_and_of_several_files(arbora, small_treebank):
    data = small_treebank.read_bytes()
    result = arbora("stats", "-", small_treebank, "--json", stdin=data)
    found = json.loads(result.stdout)
    assert found["words"] == 134
    assert [part["file"] for part in found["files"]] == ["<stdin>", str(small_treebank)]
    plain = arbora("stats", "-", stdin=gzip.compress(data)).stdout.decode()
    assert re.search(r"^sentences +12$", plain, re.MULTILINE)
    assert re.search(r"^multi-root trees +1 \(9\.09%\)$", plain, re.MULTILINE)
    assert "\x1b" not in plain


def test_stats_draws_a_table_on_a_terminal(small_treebank, run_in_terminal):
    drawn = run_in_terminal([sys.executable, "-m", "arbora", "stats", str(small_treebank)])
    assert "─" in drawn
    assert "█" in drawn


def test_a_data_error_is_one_line_and_status_1(arbora, tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(GOOD + BAD)
    result = arbora("stats", path)
    assert result.returncode == 1
    assert result.stdout == b""
    assert result.stderr.decode() == (
        f"error: {path}:3: head out of range: expected a number from 0 to 1, got 7 "
        "(--lenient skips such sentences)\n"
    )


def test_lenient_warns_and_counts(arbora, tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(GOOD + BAD + GOOD)
    result = arbora("stats", "--lenient", "--json", path)
    assert result.returncode == 0
    assert json.loads(result.stdout)["skipped"] == 1
    assert "warning" in result.stderr.decode()
    assert f"{path}: 1 sentence skipped" in result.stderr.decode()
    result = arbora("convert", "--lenient", path, "-o", "-")
    assert result.stdout.decode() == GOOD + GOOD
    assert "1 sentence skipped" in result.stderr.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("parse-everything",),
        ("--no-such-option",),
        ("stats",),
        ("stats", "no-such-file.conllu"),
        ("stats", "."),
        ("stats", "-", "--format", "xml"),
        ("stats", "-", "-"),
        ("convert",),
        ("convert", "-", "-o", "no/such/place"),
        ("convert", "-", "-o", "-", "--to", "xml"),
    ],
)
def test_a_wrong_command_line_is_status_2(arbora, arguments):
    result = arbora(*arguments)
    assert result.returncode == 2
    assert result.stdout == b""
    verb = arguments[0] if arguments[:1] in (("stats",), ("convert",)) else ""
    told = result.stderr.decode()
    assert told.startswith("error: ")
    assert told.endswith(f"(see `{f'arbora {verb}'.strip()} --help`)\n")
    assert told.count("\n") == 1


def test_same_is_byte_for_byte(arbora, small_treebank, tmp_path):
    data = b"\xef\xbb\xbf" + small_treebank.read_bytes().replace(b"\n", b"\r\n") + b"\r\n"
    result = arbora("convert", "-", "-o", "-", stdin=data)
    assert (result.returncode, result.stdout, result.stderr) == (0, data, b"")
    out = tmp_path / "out.conllu.gz"
    assert arbora("convert", "-", "-o", out, "--to", "same", stdin=data).returncode == 0
    assert gzip.decompress(out.read_bytes()) == data
    assert arbora("convert", out, "-o", "-").stdout == data


def test_formats_convert(arbora, small_treebank, tmp_path):
    words = tmp_path / "x.conll"
    assert arbora("convert", small_treebank, "-o", words, "--to", "conllx").returncode == 0
    text = words.read_text(encoding="utf-8")
    assert "#" not in text
    assert "1-2" not in text
    back = arbora("convert", words, "-o", "-", "--to", "conllu").stdout.decode()
    assert back == text
    count = json.loads(arbora("stats", words, "--json").stdout)
    assert (count["words"], count["multiword_tokens"]) == (67, 0)


def test_the_output_name_sets_the_format(arbora, small_treebank, tmp_path):
    wanted = {
        to: arbora("convert", small_treebank, "-o", "-", "--to", to).stdout for to in ("same", "conllx")
    }
    assert wanted["same"] != wanted["conllx"]
    for name, to in {
        "x.conllx": "conllx",
        "x.conll": "conllx",
        "X.CONLLX.gz": "conllx",
        "x.conll.gz": "conllx",
        "x.conllu": "same",
        "x.conllu.gz": "same",
        "x": "same",
    }.items():
        out = tmp_path / name
        assert arbora("convert", small_treebank, "-o", out).returncode == 0
        written = gzip.decompress(out.read_bytes()) if name.endswith(".gz") else out.read_bytes()
        assert written == wanted[to], name
    back = tmp_path / "back.conllu"
    assert arbora("convert", tmp_path / "x.conllx", "-o", back).returncode == 0
    to_conllu = arbora("convert", tmp_path / "x.conllx", "-o", "-", "--to", "conllu").stdout
    assert back.read_bytes() == to_conllu


def test_to_overrides_the_output_name(arbora, small_treebank, tmp_path):
    out = tmp_path / "x.conllx"
    assert arbora("convert", small_treebank, "-o", out, "--to", "same").returncode == 0
    assert out.read_bytes() == small_treebank.read_bytes()
    out = tmp_path / "x.conllu"
    assert arbora("convert", small_treebank, "-o", out, "--to", "conllx").returncode == 0
    assert b"#" not in out.read_bytes()


def test_a_copy_under_the_same_ending_is_byte_for_byte(arbora, small_treebank, tmp_path):
    data = small_treebank.read_bytes().replace(b"\n", b"\r\n")
    source, out = tmp_path / "x.conll", tmp_path / "y.conll"  # in spite of its name CoNLL-U
    source.write_bytes(data)
    assert arbora("convert", source, "-o", out).returncode == 0
    assert out.read_bytes() == data


@pytest.mark.parametrize("to", ["same", "conllx"])
def test_a_file_of_bad_sentences_is_an_error(arbora, tmp_path, to):
    source, out = tmp_path / "x.conllu", tmp_path / "out.conllu"
    source.write_text(BAD + BAD)
    result = arbora("convert", "--lenient", source, "-o", out, "--to", to)
    assert result.returncode == 1
    *_, told = result.stderr.decode().splitlines()
    assert told == f"error: {source}: no good sentence: expected at least one to write, got 2 bad"
    assert list(tmp_path.iterdir()) == [source]
    source.write_text("")  # nothing was skipped here
    assert arbora("convert", "--lenient", source, "-o", out, "--to", to).returncode == 0
    assert out.read_bytes() == b""


def test_roots_single_rejects_second_roots(arbora, tmp_path):
    source, out = tmp_path / "x.conllu", tmp_path / "out.conllu"
    source.write_text(GOOD + ROW.format(1, 0) + ROW.format(2, 0) + "\n")
    for verb in (("stats", source), ("convert", source, "-o", out)):
        assert arbora(*verb).returncode == arbora(*verb, "--roots", "multi").returncode == 0
        out.unlink(missing_ok=True)
        result = arbora(*verb, "--roots", "single")
        assert result.returncode == 1
        assert f"{source}:4: second root: expected one word with head 0" in result.stderr.decode()
        assert "(--lenient skips such sentences)" in result.stderr.decode()
        assert not out.exists()
        assert b"1 sentence skipped" in arbora(*verb, "--roots", "single", "--lenient").stderr
        assert arbora(*verb, "--roots", "two").returncode == 2
    assert out.read_text() == GOOD


def test_a_failed_conversion_leaves_no_file(arbora, tmp_path):
    out = tmp_path / "out.conllu"
    for to in ("same", "conllx"):
        result = arbora("convert", "-", "-o", out, "--to", to, stdin=(GOOD + BAD).encode())
        assert result.returncode == 1
        assert b"<stdin>:3: head out of range" in result.stderr
        assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error(tmp_path):
    path = tmp_path / "long.conllu"
    path.write_text(GOOD * 100_000)
    command = f"{sys.executable} -m arbora convert {path} -o - --to conllx | head -1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, timeout=60)
    assert result.stdout.decode() == ROW.format(1, 0)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [("--help",), ("demo",), ("stats", "-")])
def test_full_disks_and_closed_streams_are_reported_in_one_line(arguments):
    command = f"{sys.executable} -m arbora {' '.join(arguments)}"
    full = b"error: stdout could not be written: No space left on device"
    for redirection, told in (("> /dev/full", full), (">&-", b"stdout is closed")):
        result = subprocess.run(
            ["bash", "-c", f"echo -n | {command} {redirection}"], stderr=subprocess.PIPE, timeout=60
        )
        assert result.returncode == 1
        assert result.stderr.startswith(b"error: ")
        assert told in result.stderr
        assert result.stderr.count(b"\n") == 1
    if arguments[-1] == "-":
        result = subprocess.run(["bash", "-c", f"{command} <&-"], stderr=subprocess.PIPE, timeout=60)
        assert result.returncode == 1
        assert b"error: -: stdin is closed" in result.stderr


def test_unwritable_outputs_are_named_as_given(arbora):
    result = arbora("convert", "-", "-o", "/proc/x.conllu", stdin=GOOD.encode())
    assert result.returncode == 1
    assert result.stderr.startswith(b"error: /proc/x.conllu: ")
    assert result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("to", ["same", "conllx"])
@pytest.mark.parametrize("sentences", [1, 100_000])  # it fails when the file is closed, and on the way
def test_a_full_disk_names_the_file(arbora, to, sentences):
    data = GOOD.encode() * sentences
    result = arbora("convert", "-", "-o", "/dev/full", "--to", to, stdin=data)
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr == b"error: /dev/full: No space left on device\n"
    piped = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m arbora convert - -o - --to {to} > /dev/full"],
        input=data,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    assert piped.returncode == 1
    assert piped.stderr == b"error: stdout could not be written: No space left on device\n"


@pytest.mark.parametrize("name", ["out.conllu", "out.conllu.gz"])
def test_a_file_size_limit_names_the_file_and_leaves_nothing(tmp_path, name):
    (tmp_path / "x.conllu").write_text(
        "".join(ROW.format(1, 0).replace("w", f"{i:x}") + "\n" for i in range(50_000))
    )
    command = f"ulimit -f 1; {sys.executable} -B -m arbora convert x.conllu -o {name}"
    result = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, timeout=60)
    assert (result.returncode, result.stderr.decode()) == (1, f"error: {name}: File too large\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.conllu"]


def test_unreadable_inputs_are_named(arbora):
    result = arbora("stats", "/proc/self/mem")  # can be opened, but has nothing at its beginning
    assert result.returncode == 1
    assert result.stderr.startswith(b"error: /proc/self/mem: ")
    assert result.stderr.count(b"\n") == 1


def test_lenient_is_only_suggested_where_it_helps(arbora, tmp_path):
    damaged = tmp_path / "x.conllu.gz"
    damaged.write_bytes(gzip.compress(GOOD.encode())[:-9])
    result = arbora("stats", damaged)
    assert result.returncode == 1
    assert b"damaged gzip file" in result.stderr
    assert b"--lenient" not in result.stderr


def test_no_arguments_get_help_and_status_2(arbora):
    result = arbora()
    assert result.returncode == 2
    assert b"stats" in result.stdout
    assert arbora("--version").stdout.startswith(b"arbora ")


def test_help_shows_options_and_examples(arbora):
    for verb in ("stats", "convert"):
        text = arbora(verb, "--help").stdout.decode()
        assert "Examples" in text
        assert "--lenient" in text
        assert "--roots" in text
    assert ".conllx" in text
