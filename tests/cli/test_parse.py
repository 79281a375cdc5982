"""`arbora parse`: streams in and out, with nothing but the trees changed."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace

import pipeline_toys
import pytest

import arbora as package
from arbora.data.sentence import Sentence
from arbora.data.treebank import read, write


def piped(command: str, data: bytes = b""):
    run = f'arbora() {{ {sys.executable} -m arbora "$@"; }}; {command}'
    return subprocess.run(["bash", "-o", "pipefail", "-c", run], input=data, capture_output=True, timeout=60)


def without_trees(data: bytes) -> list[list[str]]:
    """Every line but for HEAD and DEPREL of words."""
    lines = [line.split("\t") for line in data.decode().split("\n")]
    return [line[:6] + line[8:] if line[0].isdigit() else line for line in lines]


def test_trees_are_those_of_the_parser(arbora, model, parser, synthetic, tmp_path):
    out = tmp_path / "out.conllu"
    result = arbora("parse", synthetic[1], "-m", model, "-o", out)
    assert (result.status, result.stdout) == (0, "")
    assert f"{synthetic[1]}: 40 sentences, " in result.stderr
    assert "words/s" in result.stderr
    gold = list(read(synthetic[1]))
    assert list(read(out)) == parser.parse(gold)
    assert package.evaluate(gold, read(out)).las > 80


def test_only_trees_change(arbora, model, small_treebank, tmp_path):
    out = tmp_path / "out.conllu"
    assert arbora("parse", small_treebank, "-m", model, "-o", out, "-q") == (0, "", "")
    given = small_treebank.read_bytes()
    assert without_trees(out.read_bytes()) == without_trees(given)
    assert [sentence.heads for sentence in read(out)] != [sentence.heads for sentence in read(small_treebank)]
    crlf = tmp_path / "crlf.conllu"
    crlf.write_bytes(b"\xef\xbb\xbf" + given.replace(b"\n", b"\r\n"))
    assert arbora("parse", crlf, "-m", model, "-o", tmp_path / "x", "-q").status == 0
    assert (tmp_path / "x").read_bytes() == b"\xef\xbb\xbf" + out.read_bytes().replace(b"\n", b"\r\n")


def test_pipes(model, synthetic, tmp_path):
    data = synthetic[1].read_bytes()
    result = piped(f"arbora parse - -m {model} | arbora eval {synthetic[1]} - --json", data)
    assert result.returncode == 0
    assert json.loads(result.stdout)["las"] > 80
    assert result.stderr.startswith(b"<stdin>: 40 sentences")
    zipped = piped(f"arbora parse - -m {model} -o {tmp_path}/x.conllu.gz -q", gzip.compress(data))
    assert (zipped.returncode, zipped.stdout, zipped.stderr) == (0, b"", b"")
    plain = piped(f"arbora parse - -m {model} -q", data)
    assert gzip.decompress((tmp_path / "x.conllu.gz").read_bytes()) == plain.stdout
    (tmp_path / "long").write_bytes(data * 40)
    gone = piped(f"arbora parse {tmp_path}/long -m {model} | head -1")
    assert (gone.returncode, gone.stdout) == (0, data.partition(b"\n")[0] + b"\n")
    full = piped(f"arbora parse - -m {model} > /dev/full", data)
    assert full.returncode == 1
    assert full.stderr.endswith(b"error: stdout could not be written: No space left on device\n")


def test_threads_change_nothing(arbora, model, synthetic, tmp_path):
    found = []
    for threads in (1, 2):
        assert (
            arbora("parse", synthetic[0], "-m", model, "-o", tmp_path / "x", "--threads", threads).status == 0
        )
        found.append((tmp_path / "x").read_bytes())
    assert found[0] == found[1]
    assert arbora("parse", synthetic[0], "-m", model, "--threads", 0).status == 2


def test_json_and_trees(arbora, model, parser, synthetic, tmp_path):
    gold = list(read(synthetic[1]))
    result = arbora("parse", synthetic[1], "-m", model, "--format", "json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [[word["head"] for word in each["words"]] for each in found] == [
        list(sentence.heads) for sentence in parser.parse(gold)
    ]
    assert found[0]["comments"] == list(gold[0].comments)
    assert found[0]["words"][0].keys() == {"id", "form", "lemma", "upos", "head", "deprel"}
    drawn = arbora("parse", synthetic[1], "-m", model, "--format", "tree").stdout
    assert drawn.count("\n\n") == 40
    assert "──" in drawn


def test_conllx_stays_conllx_by_default(arbora, model, synthetic, tmp_path):
    assert arbora("convert", synthetic[1], "-o", tmp_path / "x.conllx").status == 0
    result = arbora("parse", tmp_path / "x.conllx", "-m", model, "-o", tmp_path / "y.conllx")
    assert result.status == 0
    assert without_trees((tmp_path / "y.conllx").read_bytes()) == without_trees(
        (tmp_path / "x.conllx").read_bytes()
    )
    back = arbora("parse", tmp_path / "x.conllx", "-m", model, "--format", "conllu", "-q")
    wanted = arbora("convert", tmp_path / "y.conllx", "-o", "-", "--to", "conllu")
    assert back.stdout == wanted.stdout


def test_a_terminal_gets_drawn_trees(model, synthetic, run_in_terminal):
    shown = run_in_terminal([sys.executable, "-m", "arbora", "parse", str(synthetic[1]), "-m", str(model)])
    assert "╭─" in shown
    assert "# text" not in shown


def test_progress_is_shown_on_terminals_only(model, synthetic, run_in_terminal, tmp_path):
    command = [sys.executable, "-m", "arbora", "parse", str(synthetic[1]), "-m", str(model)]
    command += ["-o", str(tmp_path / "x")]
    shown = run_in_terminal(command)
    assert "\x1b[?25l" in shown
    assert "sentences/s" in shown
    assert "\x1b" not in run_in_terminal(command, NO_COLOR="1")


def test_missing_tags_are_a_warning(arbora, model, tmp_path):
    write([Sentence.from_lists(["a", "b"])], tmp_path / "bare.conllu")
    result = arbora("parse", tmp_path / "bare.conllu", "-m", model, "-q")
    assert result.status == 0
    assert "UPOS is `_` everywhere" in result.stderr
    (tmp_path / "empty.conllu").write_text("")
    result = arbora("parse", tmp_path / "empty.conllu", "-m", model)
    assert (result.status, result.stdout) == (0, "")
    assert "0 sentences, 0 words" in result.stderr


def test_bad_sentences(arbora, model, synthetic, tmp_path):
    bad = tmp_path / "bad.conllu"
    bad.write_text(synthetic[1].read_text() + "1\tx\n\n")
    result = arbora("parse", bad, "-m", model, "-o", tmp_path / "out")
    assert result.status == 1
    assert "(--lenient skips such sentences)" in result.stderr
    assert not (tmp_path / "out").exists()
    result = arbora("parse", bad, "-m", model, "-o", tmp_path / "out", "--lenient")
    assert result.status == 0
    assert f"{bad}: 1 sentence skipped" in result.stderr
    assert len(list(read(tmp_path / "out"))) == 40


@pytest.mark.parametrize("words", [1, 2000])
def test_short_and_long_sentences(arbora, model, tmp_path, words):
    write([Sentence.from_lists(["w"] * words, ["NOUN"] * words)], tmp_path / "long.conllu")
    assert arbora("parse", tmp_path / "long.conllu", "-m", model, "-o", tmp_path / "out").status == 0
    (parsed,) = read(tmp_path / "out", roots="single")
    assert len(parsed.tree) == words


def test_memory_does_not_grow_with_the_input(model, synthetic):
    """The file is made while it is read, so that only what the parser keeps counts."""
    code = (
        "import resource, sys; from arbora.parsing.parser import Parser; import io\n"
        "data = open(sys.argv[2], 'rb').read() * 50\n"
        "class Endless(io.RawIOBase):\n"
        "    left = int(sys.argv[3]) * len(data)\n"
        "    at = 0\n"
        "    def readable(self): return True\n"
        "    def read(self, size=-1):\n"
        "        size = min(size, self.left, len(data) - self.at)\n"
        "        part = data[self.at : self.at + size]\n"
        "        self.left -= size; self.at = (self.at + size) % len(data)\n"
        "        return part\n"
        "reader = Parser.load(sys.argv[1]).parse_file(Endless(), '/dev/null')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", code, model, synthetic[1], times], timeout=60))
        for times in ("2", "12")
    ]
    assert peaks[1] < 1.1 * peaks[0]


def test_the_python_names(model, synthetic, parser):
    loaded = package.load(model)
    gold = list(read(synthetic[1]))
    assert loaded.parse(gold) == parser.parse(gold)
    (short,) = loaded.parse([["dogs", "bark"]])
    assert len(short.tree) == 2
    trained = package.train(
        synthetic[0], config={"order": 1, "tree_bits": 12, "label_bits": 12, "parameters": {"epochs": 1}}
    )
    assert trained.best_epoch == 1
    with pytest.raises(package.InputError, match="did you mean 'order'"):
        package.train(synthetic[0], config={"ordr": 1})


def test_input_unlike_the_training_data_is_a_warning(arbora, model, parser, synthetic, tmp_path):
    assert parser.names.columns
    rows = [line.split("\t") for line in synthetic[1].read_text().split("\n")]
    for column, number in (("lemma", 2), ("upos", 3), ("xpos", 4), ("feats", 5)):
        path = tmp_path / f"{column}.conllu"
        path.write_text(
            "\n".join(
                "\t".join([*row[:number], "_", *row[number + 1 :]] if len(row) == 10 else row) for row in rows
            )
        )
        told = arbora("parse", path, "-m", model, "-o", tmp_path / "o.conllu").stderr
        warned = f"{column.upper()} is `_` everywhere, but {model} was trained with it" in told
        assert warned == (column in parser.names.columns)
    path.write_text("\n".join("\t".join([*r[:3], "X" + r[3], *r[4:]] if len(r) == 10 else r) for r in rows))
    told = arbora("parse", path, "-m", model, "-o", tmp_path / "o.conllu").stderr
    words = sum(len(row) == 10 for row in rows)
    assert f"warning: {path}: {words:,} of {words:,} UPOS tags are unknown to" in told
    assert "warning" not in arbora("parse", synthetic[1], "-m", model, "-o", tmp_path / "o.conllu").stderr


def test_models_without_the_names_of_columns(arbora, parser, synthetic, tmp_path):
    """Older versions did not store them."""
    old = replace(parser, names=replace(parser.names, columns=None))
    old.save(tmp_path / "old.arbora")
    assert package.load(tmp_path / "old.arbora").parser.names.columns is None
    out = tmp_path / "o.conllu"
    result = arbora("parse", synthetic[1], "-m", tmp_path / "old.arbora", "-o", out)
    assert (result.status, "warning" in result.stderr) == (0, False)
    parser.save(tmp_path / "new.arbora")
    columns = " ".join(["form", *parser.names.columns])
    assert f"columns\t{columns}\n" in arbora("info", tmp_path / "new.arbora").stdout


def test_inputs_are_never_overwritten(arbora, model, synthetic):
    before = model.read_bytes(), synthetic[1].read_bytes()
    for output in (model, synthetic[1]):
        result = arbora("parse", synthetic[1], "-m", model, "-o", output)
        assert (result.status, "the output is also an input" in result.stderr) == (2, True)
    assert before == (model.read_bytes(), synthetic[1].read_bytes())


def test_the_output_name_sets_the_format(arbora, model, synthetic, tmp_path):
    for name in ("o.json", "o.jsonl", "o.conllx", "o.conllu"):
        assert arbora("parse", synthetic[1], "-m", model, "-o", tmp_path / name, "-q").status == 0
    words = json.loads((tmp_path / "o.json").read_text().split("\n")[0])["words"]
    assert words[0]["id"] == 1
    assert (tmp_path / "o.jsonl").read_bytes() == (tmp_path / "o.json").read_bytes()
    trees = [sentence.heads for sentence in read(tmp_path / "o.conllu")]
    assert [sentence.heads for sentence in read(tmp_path / "o.conllx")] == trees
    assert "#" not in (tmp_path / "o.conllx").read_text()
    arbora("parse", tmp_path / "o.conllx", "-m", model, "-o", tmp_path / "x.conllu", "-q")
    assert read(tmp_path / "x.conllu").format == "conllu"


@pytest.mark.parametrize("name", ["x.png", "x.txt", "x.png.gz", "x.parquet.gz"])
def test_unsupported_endings_are_rejected(arbora, model, synthetic, tmp_path, name):
    result = arbora("parse", synthetic[1], "-m", model, "-o", tmp_path / name)
    assert (result.status, result.stdout, (tmp_path / name).exists()) == (2, "", False)
    ending = ".parquet" if "parquet" in name else name[1:5]
    assert (
        f"{name}: unsupported output format {ending}; expected a name that ends in .conllu," in result.stderr
    )
    assert arbora("parse", synthetic[1], "-m", model, "-o", tmp_path / name, "--format", "json").status == 0
    assert (tmp_path / name).stat().st_size


def test_conllx_with_probabilities_is_rejected(arbora, model, synthetic, tmp_path):
    arbora("convert", synthetic[1], "-o", tmp_path / "in.conllx")
    for source in (synthetic[1], tmp_path / "in.conllx"):
        for output in (
            ("--format", "conllx"),
            ("-o", tmp_path / "o.conllx"),
            ("-o", tmp_path / "o.conll.gz"),
        ):
            for option in (("--probabilities",), ("--kbest", 2)):
                result = arbora("parse", source, "-m", model, *output, *option)
                assert (result.status, result.stdout) == (2, "")
                assert f"{option[0]}: CoNLL-X has no place for it" in result.stderr
    assert "HeadProb" in arbora("parse", tmp_path / "in.conllx", "-m", model, "--probabilities").stdout
    written = arbora("parse", synthetic[1], "-m", model, "--format", "conllx", "-q")
    assert (written.status, "#" in written.stdout) == (0, False)


def test_json_has_text_tokens_and_places(arbora, tmp_path):
    text = "\n She can't   sleep. Why?\n"
    (tmp_path / "text.txt").write_text(text)
    for options in ((), ("--probabilities",), ("--offsets",)):
        result = arbora("parse", tmp_path / "text.txt", "-o", tmp_path / "o.json", *options)
        assert result.status == 0
        first, second = map(json.loads, (tmp_path / "o.json").read_text().splitlines())
        assert (first["text"], second["text"]) == ("She can't sleep.", "Why?")
        (token,) = first["multiword_tokens"]
        assert (token["first"], token["last"], token["form"]) == (2, 3, "can't")
        assert text[token["start"] : token["end"]] == "can't"
        for word in [*first["words"], *second["words"]]:
            assert text[word["start"] : word["end"]] == word["form"]
            assert "TokenRange" not in word.get("misc", "")
    told = arbora("parse", tmp_path / "text.txt", "--offsets", "-q").stdout
    assert "TokenRange=2:5" in told
    (tmp_path / "told.conllu").write_text(told)
    again = json.loads(arbora("parse", tmp_path / "told.conllu", "--format", "json").stdout.split("\n")[0])
    assert [word["start"] for word in again["words"]] == [word["start"] for word in first["words"]]


def test_singular_and_plural_in_messages(arbora, model, tmp_path):
    write([Sentence.from_lists(["a"], upos=["NOUN"])], tmp_path / "one.conllu")
    assert "1 sentence, 1 word in" in arbora("parse", tmp_path / "one.conllu", "-m", model).stderr
    assert arbora("parse", tmp_path / "one.conllu", tmp_path / "one.conllu", "-m", model).status == 2
    (tmp_path / "text").write_text("A letter arrived yesterday.\n")
    result = arbora("parse", tmp_path / "text", "-m", model)
    assert (result.status, "has no segmenter, so it cannot read raw text" in result.stderr) == (1, True)
    result = arbora("parse", tmp_path / "text", "-m", model, "--input-format", "conllu")
    assert (result.status, "this does not look like CoNLL-U or CoNLL-X" in result.stderr) == (1, True)
    for arguments in (("-h",), ("parse", "-h"), ("info", "-h"), ("info", "learner", "-h")):
        assert (arbora(*arguments).status, "Usage" in arbora(*arguments).stdout) == (0, True)
    cut = tmp_path / "cut.arbora"
    cut.write_bytes(model.read_bytes()[:-100])
    result = arbora("parse", tmp_path / "one.conllu", "-m", cut)
    assert (result.status, "the file is cut off" in result.stderr) == (1, True)


def test_raw_text_without_features_gives_no_warning(arbora, tmp_path):
    """The tagger gives short words no features."""
    model = tmp_path / "m.arbora"
    pipeline_toys.trained().pipeline.save(model)
    (tmp_path / "text.txt").write_text("the the")
    result = arbora("parse", tmp_path / "text.txt", "-m", model)
    assert (result.status, "everywhere" in result.stderr) == (0, False)
