"""Corpora: the same files on any engine, resumed runs, failures, and what a rerun refuses."""

import gzip
import json
import os

import pytest
from corpus_toys import DyingParser, model, outputs, paragraphs, parse_all, write_corpus
from errors import rejects
from pipeline_toys import conllu

from arbora.data.columns import parse_text
from arbora.data.treebank import read
from arbora.distributed import CorpusOptions, Pool, parse
from arbora.distributed.corpus import ShardParser
from arbora.errors import InputError


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "in")


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    """What one worker makes of the corpus."""
    target = tmp_path_factory.mktemp("corpus") / "out"
    report = parse_all(source, target, pool=Pool())
    assert (report.failures, report.is_finished, report.done) == (0, True, report.shards)
    return outputs(target)


def forms(data):
    return [sentence.forms for sentence in parse_text(data.decode()).sentences()]


def test_every_input_is_parsed_once(source, expected):
    names = {name.partition(".0")[0].removesuffix(".conllu") for name in expected}
    assert names == {"a.txt", "inner/b.txt.gz", "t", "rows.jsonl"}
    texts = b"".join(data for name, data in sorted(expected.items()) if name.startswith("a.txt"))
    whole = model()("\n\n".join(paragraphs()))
    assert sum(forms(texts), ()) == sum((parsed.sentence.forms for parsed in whole), ())
    treebank = b"".join(data for name, data in sorted(expected.items()) if name.startswith("t.conllu"))
    assert forms(treebank) == forms(conllu(40).encode())


def test_documents_keep_their_ids(expected):
    rows = b"".join(data for name, data in sorted(expected.items()) if name.startswith("rows"))
    sentences = list(parse_text(rows.decode()).sentences())
    ids = [c for sentence in sentences for c in sentence.comments if c.startswith("# newdoc")]
    assert ids == [f"# newdoc id = doc{number}" for number in range(20)]
    first = next(parse_text(expected["a.txt.00000.conllu"].decode()).sentences())
    assert first.comments[0] == "# newdoc id = a.txt"
    second = next(parse_text(expected["a.txt.00001.conllu"].decode()).sentences())
    assert not any(c.startswith("# newdoc") for c in second.comments)


@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.filterwarnings("ignore")  # ray has warnings of its own
def test_engines_and_workers_make_no_difference(engine, source, expected, tmp_path):
    if engine == "ray":
        pytest.importorskip("ray", reason="ray is not installed")
    report = parse_all(source, tmp_path / "out", pool=Pool(engine, 2))
    assert outputs(tmp_path / "out") == expected
    assert (report.parsed, report.workers) == (report.shards, 2)
    assert json.loads((tmp_path / "out/_report.json").read_text())["words"] == report.words > 0


def test_a_rerun_does_what_is_missing(source, expected, tmp_path):
    target = tmp_path / "out"
    first = parse_all(source, target)
    again = parse_all(source, target)
    assert (again.parsed, again.words, again.sentences) == (0, first.words, first.sentences)
    times = {name: (target / name).stat().st_mtime_ns for name in expected}
    gone = sorted(expected)[1:4]
    for name in gone:
        (target / name).unlink()
    (target / f".{gone[0]}.0123abcd.tmp").touch()
    again = parse_all(source, target)
    assert (again.parsed, again.words) == (3, first.words)
    assert outputs(target) == expected
    assert {name for name in expected if (target / name).stat().st_mtime_ns != times[name]} == set(gone)


def test_an_output_without_a_line_in_the_journal_is_made_again(source, expected, tmp_path):
    """Its counts are not known: the output may come from another program."""
    target = tmp_path / "out"
    target.mkdir()
    (target / "t.conllu.00000.conllu").write_text("something else")
    parse_all(source, target)
    assert outputs(target) == expected


def test_added_inputs_are_parsed_too(source, tmp_path):
    one = tmp_path / "in"
    one.mkdir()
    (one / "a.txt").write_text("Ann calls the dogs.")
    first = parse_all(one, tmp_path / "out")
    (one / "b.txt").write_text("Bob helps Ann.")
    again = parse_all(one, tmp_path / "out")
    assert (first.shards, again.shards, again.parsed) == (1, 2, 1)


def test_reruns_with_something_else_are_refused(source, tmp_path):
    target = tmp_path / "out"
    parse_all(source, target)
    with rejects(InputError, field="options"):
        parse_all(source, target, options=CorpusOptions(shard_size=700, probabilities=True))
    other = model().rounded()
    with rejects(InputError, field="model"):
        parse_all(source, target, model=other)
    copy = write_corpus(tmp_path / "in")
    with (copy / "a.txt").open("a") as file:
        file.write("More.")
    with rejects(InputError, field="inputs"):
        parse_all(copy, target)


def test_shards_that_fail_are_recorded_and_tried_again_when_asked(tmp_path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "good.txt").write_text("Ann calls the dogs.")
    (source / "bad.txt").write_bytes(b"Ann calls \xff\xfe")
    (source / "bad.conllu").write_text("1\tAnn\n\n")
    report = parse_all(source, target)
    assert (report.done, report.failed, report.is_finished) == (1, 2, True)
    lines = [json.loads(line) for line in (target / "_failed.jsonl").read_text().splitlines()]
    assert {line["shard"]: line["error"] for line in lines} == {
        "bad.conllu": "DataError",
        "bad.txt": "DataError",
    }
    assert set(outputs(target)) == {"good.txt.conllu"}
    again = parse_all(source, target)
    assert (again.parsed, again.failed) == (0, 2)
    (source / "bad.txt").write_bytes(b"Ann calls Bo")  # of the same size
    again = parse_all(source, target, retry_failed=True)
    assert (again.parsed, again.failed) == (1, 1)
    assert set(outputs(target)) == {"good.txt.conllu", "bad.txt.conllu"}
    assert "bad.txt" not in (target / "_failed.jsonl").read_text()


def test_a_repaired_input_is_parsed_in_the_next_run(tmp_path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "good.txt").write_text("Ann calls the dogs.")
    (source / "bad.txt").write_bytes(b"Ann calls \xff\xfe")
    assert parse_all(source, target).failed == 1
    (source / "bad.txt").write_text("Ann calls Bo and Eve.")
    again = parse_all(source, target)
    assert (again.parsed, again.failures, again.is_finished) == (1, 0, True)
    (source / "bad.txt").write_text("Ann calls nobody.")  # it has an output now
    with rejects(InputError, field="inputs"):
        parse_all(source, target)
    (target / "bad.txt.conllu").unlink()
    assert parse_all(source, target).parsed == 1


@pytest.mark.parametrize(("given", "target"), [("in", "in"), ("in", "in/out"), ("in/*.txt", "in")])
def test_an_output_folder_among_the_inputs_is_refused(given, target, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Ann calls the dogs.")
    with rejects(InputError, field="folder"):
        parse_all(tmp_path / given, tmp_path / target)


@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.filterwarnings("ignore")  # ray has warnings of its own
def test_shards_that_kill_their_worker_fail_and_the_others_go_on(engine, tmp_path, monkeypatch):
    """As the system does if there is too little memory."""
    if engine == "ray":
        pytest.importorskip("ray", reason="ray is not installed")
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for name in ("a", "killed", "hungry", "z"):
        (source / f"{name}.txt").write_text("Ann calls the dogs.")
    monkeypatch.setattr("arbora.distributed.corpus.ShardParser", DyingParser)
    report = parse_all(source, target, pool=Pool(engine, 2))
    assert (report.done, report.failed, report.is_finished) == (2, 2, True)
    failures = [json.loads(line) for line in (target / "_failed.jsonl").read_text().splitlines()]
    assert {line["shard"]: line["error"] for line in failures} == {
        "killed.txt": "WorkerLostError",
        "hungry.txt": "MemoryError",
    }
    assert all(line["reason"] for line in failures)
    monkeypatch.undo()
    assert parse_all(source, target).failed == 2
    assert parse_all(source, target, retry_failed=True).parsed == 2
    assert set(outputs(target)) == {f"{name}.txt.conllu" for name in ("a", "killed", "hungry", "z")}


def test_outputs_are_not_written_to_another_folder_of_the_same_name(source, tmp_path):
    """On a cluster, a machine may not have the folder."""
    with rejects(InputError, field="folder"):
        ShardParser(model(), CorpusOptions(), str(tmp_path / "nowhere"))


def test_bad_rows_do_not_lose_the_others(tmp_path):
    rows = ['{"id": 7, "text": "Ann calls Bob."}', "[]", '{"text": null}', "{", '{"text": "Bob helps."}', ""]
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(rows))
    for _ in range(2):
        report = parse_all(source, tmp_path / "out")
        lines = [json.loads(x) for x in (tmp_path / "out/_failed.jsonl").read_text().splitlines()]
        assert [(line["shard"], line["row"]) for line in lines] == [("rows.jsonl", n) for n in (1, 2, 3)]
        assert (report.failed, report.bad_rows, report.failures) == (0, 3, 3)
    (output,) = outputs(tmp_path / "out").values()
    ids = [line for line in output.decode().splitlines() if line.startswith("# newdoc")]
    assert ids == ["# newdoc id = 7", "# newdoc id = rows.jsonl:4"]


def test_a_shard_without_a_good_row_fails(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text("[\n" + '{"body": "Ann calls Bob."},\n' * 200 + "]")
    report = parse([str(source)], tmp_path / "out", model(), pool=Pool())
    assert (report.failed, report.bad_rows, report.done) == (1, 0, 0)
    (line,) = (tmp_path / "out/_failed.jsonl").read_text().splitlines()
    assert json.loads(line)["error"] == "DataError"


def test_few_bad_rows_are_listed_and_all_are_counted(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text("[]\n" * 5000 + '{"text": "Bob helps."}\n')
    report = parse([str(source)], tmp_path / "out", model(), pool=Pool())
    assert (report.failed, report.bad_rows) == (0, 5000)
    assert len((tmp_path / "out/_failed.jsonl").read_text().splitlines()) == 100


def test_repaired_rows_are_parsed_again(tmp_path):
    good = '{"text": "Ann calls Bob."}\n' * 40
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(good)
    source = tmp_path / "rows.jsonl"
    source.write_text(good + "{\n" + good)
    given = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "rows.jsonl")]
    options = CorpusOptions(shard_size=600)

    def run(**more):
        return parse(given, tmp_path / "out", model(), options=options, pool=Pool(), **more)

    assert run().bad_rows == 1
    again = run(retry_failed=True)
    assert (again.parsed, again.bad_rows) == (1, 1)
    assert run().parsed == 0
    source.write_text(good + '{"text": "Bob helps."}\n' + good)
    with rejects(InputError, field="inputs"):
        run()
    repaired = run(retry_failed=True)
    assert (repaired.bad_rows, repaired.failed, repaired.is_finished) == (0, 0, True)
    shards = [name for name in outputs(tmp_path / "out") if name.startswith("rows")]
    assert repaired.parsed == len(shards)
    assert not (tmp_path / "out/_failed.jsonl").exists()
    (tmp_path / "a.jsonl").write_text(good * 2)
    with rejects(InputError, field="inputs"):
        run(retry_failed=True)


def test_shards_that_take_too_long_fail(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("Ann calls Bob. " * 20_000)
    report = parse([str(tmp_path / "a.txt")], tmp_path / "out", model(), pool=Pool(), time_limit=0.01)
    assert (report.failed, report.done) == (1, 0)
    assert "TimeLimitError" in (tmp_path / "out/_failed.jsonl").read_text()
    assert outputs(tmp_path / "out") == {}


def test_pipes_are_no_files_of_a_corpus(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    with rejects(InputError, field="inputs"):
        parse([str(tmp_path / "a.txt")], tmp_path / "out", model(), pool=Pool())


def test_two_runs_do_not_share_a_folder(source, tmp_path):
    from arbora.distributed.folder import CorpusFolder

    folder = CorpusFolder(tmp_path / "out")
    folder.open()
    with rejects(InputError, field="folder"):
        parse_all(source, tmp_path / "out")
    folder.close()
    assert parse_all(source, tmp_path / "out").is_finished


def test_compressed_outputs(source, expected, tmp_path):
    options = CorpusOptions(gzip=True, shard_size=700)
    for parsed in (len(expected), 0):
        assert parse_all(source, tmp_path / "out", options=options).parsed == parsed
    found = {name: gzip.decompress(data) for name, data in outputs(tmp_path / "out").items()}
    assert found == {f"{name}.gz": data for name, data in expected.items()}


@pytest.mark.parametrize("probabilities", [False, True])
def test_tables_and_json_have_offsets(tmp_path, probabilities):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    texts = ["Ann  calls Bob.", "The dög helps. Bob calls!"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "a.txt").write_text(texts[0])
    given = [str(tmp_path / name) for name in ("a.txt", "rows.jsonl")]
    for form in ("json", "parquet"):
        options = CorpusOptions(format=form, probabilities=probabilities)
        parse(given, tmp_path / form, model(), options=options, pool=Pool())
    for name, own in (("rows.jsonl", texts), ("a.txt", texts[:1])):
        lines = (tmp_path / "json" / f"{name}.jsonl").read_text().splitlines()
        words = [word for line in lines for word in json.loads(line)["words"]]
        rows = parquet.read_table(tmp_path / "parquet" / f"{name}.parquet").to_pylist()
        assert [(row["form"], row["start"], row["end"]) for row in rows] == [
            (word["form"], word["start"], word["end"]) for word in words
        ]
        documents = list(dict.fromkeys(row["document"] for row in rows))
        for row in rows:
            text = own[documents.index(row["document"])]
            assert text[row["start"] : row["end"]] == row["form"]
        assert {row["misc"] for row in rows} <= {None, "SpaceAfter=No"}


def test_json_and_parquet(source, expected, tmp_path):
    report = parse_all(source, tmp_path / "json", options=CorpusOptions(format="json", shard_size=700))
    found = outputs(tmp_path / "json")
    assert {name.removesuffix(".jsonl") for name in found} == {n.removesuffix(".conllu") for n in expected}
    rows = [json.loads(line) for name in sorted(found) for line in found[name].decode().splitlines()]
    assert len(rows) == report.sentences
    documents = [row["document"] for row in rows if "document" in row]
    assert {"doc0", "doc19", "a.txt"} <= set(documents)

    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from arbora.integrations.table import read_parquet

    options = CorpusOptions(format="parquet", shard_size=700, probabilities=True)
    report = parse_all(source, tmp_path / "tables", options=options)
    paths = sorted((tmp_path / "tables").rglob("*.parquet"))
    assert sum(len(list(read_parquet(path))) for path in paths) == report.sentences


def test_tables_as_input(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    texts = ["Ann calls Bob.", None, "Bob helps.", "Ann wants dogs. Bob calls."] * 50
    table = pa.table({"key": [f"d{i}" for i in range(200)], "body": texts, "other": [0.5] * 200})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=20)
    options = CorpusOptions(text_column="body", id_column="key", shard_size=300)
    report = parse_all(tmp_path / "t.parquet", tmp_path / "out", options=options)
    assert (report.bad_rows, report.failed) == (50, 0)
    assert report.shards > 2
    data = b"".join(data for _, data in sorted(outputs(tmp_path / "out").items()))
    ids = [line for line in data.decode().splitlines() if line.startswith("# newdoc")]
    assert ids == [f"# newdoc id = d{i}" for i in range(200) if i % 4 != 1]
    report = parse_all(tmp_path / "t.parquet", tmp_path / "out2", options=CorpusOptions())
    assert report.failed == 1
    assert "body" in (tmp_path / "out2/_failed.jsonl").read_text()


def test_zstd(tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    data = zstandard.ZstdCompressor().compress(conllu(40).encode())
    (tmp_path / "t.conllu.zst").write_bytes(data + data)
    assert len(list(read(tmp_path / "t.conllu.zst"))) == 80
    report = parse_all(tmp_path / "t.conllu.zst", tmp_path / "out")
    assert (report.sentences, report.failed) == (80, 0)
    (tmp_path / "cut.conllu.zst").write_bytes(data[:-5])
    assert parse_all(tmp_path / "cut.conllu.zst", tmp_path / "out2").failed == 1
    assert outputs(tmp_path / "out2") == {}
