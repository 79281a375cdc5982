import json
import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st

import arbora
from arbora.errors import InputError, ModelError
from arbora.storage.model_file import FORMAT, read_model, write_model

METADATA = {"config": {"seed": 1, "λ": 0.5}, "labels": ["nsubj", 'a"b\n', "ж"], "none": None, "yes": True}
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")


def some_tensors():
    random = np.random.default_rng(1)
    tensors = {f"any.{dtype}": (random.random(37) * 100).astype(dtype) for dtype in DTYPES}
    return tensors | {
        "table": random.random((64, 100)).astype(np.float32),
        "odd": np.arange(1001, dtype=np.uint8),
        "odder": np.arange(333, dtype=np.uint16).reshape(3, 111),
        "scalar": np.float64(2.5),
        "nothing": np.zeros((0, 7), np.int32),
    }


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.arbora"
    write_model(path, some_tensors(), METADATA)
    return path


def test_what_is_written_is_read(model):
    found = read_model(model, verify=True)
    assert found.metadata == METADATA
    assert (found.source, found.format, found.arbora_version) == (str(model), FORMAT, arbora.__version__)
    assert found.tensors.keys() == some_tensors().keys()
    for name, array in some_tensors().items():
        got = found.tensors[name]
        assert (got.dtype, got.shape) == (np.asarray(array).dtype, np.asarray(array).shape)
        np.testing.assert_array_equal(got, array)


def test_arrays_are_read_only_views_that_outlive_the_name(model):
    tensors = read_model(model).tensors
    model.unlink()
    for array in tensors.values():
        assert not array.flags.writeable
        assert not array.flags.owndata
    np.testing.assert_array_equal(tensors["table"], some_tensors()["table"])


def test_data_and_large_tensors_start_at_a_cache_line(model):
    header = int.from_bytes(model.read_bytes()[:8], "little")
    assert (8 + header) % 64 == 0
    for name, array in read_model(model).tensors.items():
        place = array.__array_interface__["data"][0]
        assert place % (64 if array.nbytes >= 64 else array.itemsize) == 0, name


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
        st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 9), max_size=3)),
        max_size=8,
    )
)
def test_any_shapes_are_read_by_us_and_by_the_official_library(tmp_path_factory, kinds):
    tensors = {name: np.ones(shape, dtype) for name, (dtype, shape) in kinds.items()}
    path = tmp_path_factory.mktemp("shapes") / "model"
    write_model(path, tensors, {})
    ours, theirs = read_model(path, verify=True).tensors, safetensors.numpy.load_file(path)
    assert ours.keys() == tensors.keys()
    for name, array in tensors.items():
        np.testing.assert_array_equal(ours[name], array)
        np.testing.assert_array_equal(theirs[name], array)
        assert ours[name].flags.aligned


def test_the_official_library_reads_tensors_and_metadata(model):
    with safetensors.safe_open(model, framework="numpy") as opened:
        document = json.loads(opened.metadata()["arbora"])
        names = {name for name in opened.keys() if not name.startswith("arbora.padding.")}  # noqa: SIM118
        assert names == some_tensors().keys()
        np.testing.assert_array_equal(opened.get_tensor("table"), some_tensors()["table"])
    assert document["metadata"] == METADATA
    assert (document["format"], document["arbora_version"]) == (1, arbora.__version__)


def test_order_and_layout_in_memory_leave_no_trace_in_the_file(model, tmp_path):
    backwards = {name: np.array(array, order="F") for name, array in reversed(some_tensors().items())}
    backwards["any.f4"] = np.repeat(backwards["any.f4"], 2)[::2].astype(">f4")
    other = tmp_path / "other"
    write_model(other, backwards, dict(reversed(METADATA.items())))
    assert other.read_bytes() == model.read_bytes()
    again = read_model(model)
    write_model(model, again.tensors, again.metadata)  # onto the file that is mapped
    assert other.read_bytes() == model.read_bytes()


def test_reading_allocates_next_to_nothing(tmp_path):
    write_model(tmp_path / "large", {"w": np.zeros(1 << 22, np.float32)}, {})
    tracemalloc.start()
    read_model(tmp_path / "large")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(
    ("tensors", "metadata", "field"),
    [
        ({"": np.zeros(2)}, {}, "tensors"),
        ({"__metadata__": np.zeros(2)}, {}, "tensors"),
        ({"arbora.padding.1": np.zeros(2)}, {}, "tensors"),
        ({"x": np.array(["a"])}, {}, "tensor 'x'"),
        ({"x": np.array([None])}, {}, "tensor 'x'"),
        ({"x": np.zeros(2, bool)}, {}, "tensor 'x'"),
        ({"x": np.zeros(2, complex)}, {}, "tensor 'x'"),
        ({}, {"a": {"b": [1.0, float("nan")]}}, "metadata.a.b[1]"),
        ({}, {"a": float("inf")}, "metadata.a"),
        ({}, {"a": np.zeros(2)}, "metadata.a"),
        ({}, {1: 2}, "metadata"),
        ({}, {"a": "\ud800"}, "metadata.a"),
        ({}, {"a": object()}, "metadata.a"),
    ],
)
def test_bad_contents_are_rejected_before_a_file_is_made(tmp_path, tensors, metadata, field):
    with rejects(InputError, field=field):
        write_model(tmp_path / "model", tensors, metadata)
    assert list(tmp_path.iterdir()) == []


def test_cyclic_metadata_is_rejected(tmp_path):
    endless: list[object] = []
    endless.append(endless)
    with rejects(InputError, field="metadata"):
        write_model(tmp_path / "model", {}, {"a": endless})


def test_entries_and_tensors_are_checked_for_their_types(model):
    found = read_model(model)
    assert found.entry("config", dict)["seed"] == 1
    assert found.entry("yes", bool) is True
    with rejects(ModelError, field="metadata"):
        found.entry("yes", int)
    with rejects(ModelError, field="metadata"):
        found.entry("more", str)
    assert found.tensor("table", np.float32, (64, None)).shape == (64, 100)
    for dtype, shape in ((np.float64, (64, 100)), (np.float32, (64, 99)), (np.float32, (6400,))):
        with rejects(ModelError, field="tensor 'table'"):
            found.tensor("table", dtype, shape)
    with rejects(ModelError, source=str(model)):
        found.tensor("w", np.float32, (None,))


# ---------------------------------------------------------------- what is no model


def test_other_files_are_rejected(tmp_path, small_treebank):
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    safetensors.numpy.save_file({"x": np.zeros(3)}, tmp_path / "a.safetensors")
    kinds = {
        "empty": b"",
        "short": b"\x00\x01",
        "zeros": bytes(100),
        "treebank": small_treebank.read_bytes(),
        "pickle": pickle.dumps({"w": [1.0] * 100}),
        "gzip": b"\x1f\x8b" + bytes(100),
        "npz": (tmp_path / "a.npz").read_bytes(),
        "other": (tmp_path / "a.safetensors").read_bytes(),
    }
    for name, data in kinds.items():
        path = tmp_path / name
        path.write_bytes(data)
        with rejects(ModelError, source=str(path), field=None):
            read_model(path)


def test_paths_that_are_not_plain_files_are_rejected(tmp_path):
    with rejects(ModelError, source=str(tmp_path)):
        read_model(tmp_path)
    with rejects(ModelError, source=str(tmp_path / "none")):
        read_model(tmp_path / "none")
    with pytest.raises(ModelError):
        read_model("a\0b")
    with pytest.raises(ModelError):
        write_model("a\0b", {}, {})
    os.mkfifo(tmp_path / "pipe")
    for special in (tmp_path / "pipe", "/dev/null"):
        with rejects(ModelError, source=str(special)):
            read_model(special)
    write_model("/dev/null", some_tensors(), METADATA)  # a dry run is nobody's mistake


# ---------------------------------------------------------------- a disk that is full


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(model, monkeypatch, step):
    before = model.read_bytes()

    def full(*_):
        raise OSError(28, os.strerror(28))

    class Full:
        def __init__(self, stream):
            self._stream = stream
            self.written = 0

        def __getattr__(self, name):
            return getattr(self._stream, name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self._stream.close()

        def write(self, data):
            self.written += self._stream.write(data)
            return full() if self.written > 4096 else len(data)

    if step == "write":
        opened = type(model).open
        monkeypatch.setattr(type(model), "open", lambda path, mode: Full(opened(path, mode)))
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(type(model), "replace", full)
    with rejects(ModelError, source=str(model)):
        write_model(model, some_tensors(), {})
    monkeypatch.undo()
    assert model.read_bytes() == before
    assert left_in(model.parent) == ["model.arbora"]


def test_a_limit_of_the_system_leaves_the_old_file_and_nothing_else(model):
    before = model.read_bytes()
    code = """
import resource, sys
import numpy as np
from arbora.errors import ModelError
from arbora.storage.model_file import write_model
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_model(sys.argv[1], {"w": np.ones(100_000)}, {})
except ModelError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(model)], capture_output=True, text=True, timeout=60, check=True
    )
    assert "File too large" in result.stdout
    assert "an existing file is unchanged" in result.stdout
    assert model.read_bytes() == before
    assert left_in(model.parent) == ["model.arbora"]


def test_saving_to_a_folder_or_into_a_missing_one_is_rejected(tmp_path):
    with rejects(ModelError, source=str(tmp_path / "none" / "model")):
        write_model(tmp_path / "none" / "model", {}, {})
    with rejects(ModelError, source=str(tmp_path)):
        write_model(tmp_path, {}, {})


def test_a_file_that_cannot_be_read_back_does_not_replace_the_old_one(model, monkeypatch):
    before = model.read_bytes()
    monkeypatch.setattr("arbora.storage._safetensors.header_of", lambda *_: b"\x02" + bytes(7) + b"{}")
    with rejects(ModelError, source=str(model)):
        write_model(model, some_tensors(), {})
    assert model.read_bytes() == before
    assert left_in(model.parent) == ["model.arbora"]


def test_links_and_permissions_stay(model, tmp_path):
    model.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(model)
    write_model(link, {}, {"new": 1})
    assert link.is_symlink()
    assert read_model(model).metadata == {"new": 1}
    assert model.stat().st_mode & 0o777 == 0o600
