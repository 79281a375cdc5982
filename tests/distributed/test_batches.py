"""Trees for batches of other libraries' data sets: one result per text, whatever the batch."""

import json
import pickle

import numpy as np
import pytest
from corpus_toys import model, paragraphs
from errors import rejects

from arbora.data.columns import parse_text
from arbora.distributed import ParseBatch
from arbora.errors import InputError

TEXTS = [*paragraphs(6, 11), "", None, "Ann calls Bob.", "  "]


def forms(text):
    return [sentence.forms for sentence in parse_text(text).sentences()]


def expected():
    return [None if text is None else [s.sentence.forms for s in model()(text)] for text in TEXTS]


def without_missing(column):
    """The values of a column of pandas, which may hold NaN for None."""
    return [each if isinstance(each, str) else None for each in column]


@pytest.mark.parametrize("probabilities", [False, True])
def test_each_text_has_its_own_trees(probabilities):
    found = ParseBatch(model(), probabilities=probabilities).trees(TEXTS)
    assert [None if each is None else forms(each) for each in found] == expected()
    for text, each in zip(TEXTS, found, strict=True):
        heads = [] if each is None else [s.heads for s in parse_text(each).sentences()]
        assert heads == ([] if text is None else [parsed.heads for parsed in model()(text)])
        assert ("HeadProb=" in (each or "")) == (probabilities and bool(heads))
    documents = ParseBatch(model(), probabilities=probabilities, format="json").trees(TEXTS)
    sizes = [None if each is None else [len(s["words"]) for s in json.loads(each)] for each in documents]
    assert sizes == [None if each is None else list(map(len, each)) for each in expected()]


def test_batches_keep_their_kind_and_their_columns(monkeypatch):
    parse = ParseBatch(model(), text_column="body", output_column="parsed")
    wanted = parse.trees(TEXTS)
    batch = {"n": list(range(len(TEXTS))), "body": TEXTS}
    assert parse(batch) == {**batch, "parsed": wanted}
    arrays = {"body": np.array(TEXTS, dtype=object)}
    assert parse(arrays)["parsed"].tolist() == wanted
    with rejects(InputError, field="text_column"):
        parse({"text": TEXTS})
    monkeypatch.setattr("arbora.distributed.batches.PIECE", 7)
    assert parse.trees(TEXTS) == wanted


def test_batches_travel():
    parse = pickle.loads(pickle.dumps(ParseBatch(model())))
    assert parse.trees(TEXTS) == ParseBatch(model()).trees(TEXTS)


def test_tables_and_frames():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parse = ParseBatch(model())
    table = parse(pa.table({"text": TEXTS, "n": list(range(len(TEXTS)))}))
    assert table.column_names == ["text", "n", "trees"]
    assert table["trees"].to_pylist() == parse.trees(TEXTS)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    (frame,) = parse.frames([pandas.DataFrame({"text": TEXTS})])
    assert without_missing(frame["trees"]) == parse.trees(TEXTS)
    with_na = pandas.DataFrame({"text": pandas.array(TEXTS, dtype="string")})
    assert without_missing(parse(with_na)["trees"]) == parse.trees(TEXTS)


@pytest.mark.parametrize("bad", [5, b"Ann calls Bob.", "Ann \ud800 calls", 2.5])
def test_a_bad_text_does_not_lose_the_batch(bad, caplog):
    parse = ParseBatch(model())
    found = parse.trees([TEXTS[0], bad, TEXTS[1]])
    assert found == [*parse.trees(TEXTS[:1]), None, *parse.trees(TEXTS[1:2])]
    assert "not parsed" in caplog.text


@pytest.mark.filterwarnings("ignore")
def test_ray_data_sets():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed, which ray.data needs")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        rows = ray.data.from_items([{"text": text, "n": n} for n, text in enumerate(TEXTS)])
        found = rows.map_batches(ParseBatch, fn_constructor_args=[model()], batch_size=4, concurrency=1)
        trees = [row["trees"] for row in sorted(found.take_all(), key=lambda row: row["n"])]
    finally:
        ray.shutdown()
    assert trees == ParseBatch(model()).trees(TEXTS)


@pytest.mark.filterwarnings("ignore")
def test_hugging_face_data_sets():
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    rows = datasets.Dataset.from_dict({"text": TEXTS})
    found = rows.map(ParseBatch(model()), batched=True, batch_size=4, load_from_cache_file=False)
    assert found["trees"][:] == ParseBatch(model()).trees(TEXTS)


@pytest.mark.filterwarnings("ignore")
def test_spark_data_frames(tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed, which mapInPandas needs")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed, which mapInPandas needs")
    import shutil
    import sys

    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame([(n, text) for n, text in enumerate(TEXTS)], "n int, text string")
        found = frame.mapInPandas(ParseBatch(model()).frames, "n int, text string, trees string")
        trees = [row["trees"] for row in sorted(found.collect(), key=lambda row: row["n"])]
    finally:
        spark.stop()
    assert trees == ParseBatch(model()).trees(TEXTS)
