"""Files made to mislead: each is a ModelError that says what is wrong, or it is read right."""

import json
import struct
import zlib
from random import Random

import numpy as np
import pytest
from errors import rejects

from arbora.errors import ModelError
from arbora.storage import model_file
from arbora.storage.model_file import read_model, write_model

TENSORS = {
    "a": np.arange(32, dtype=np.float32).reshape(4, 8),
    "b": np.arange(5, dtype=np.int64),
    "c": np.arange(71, dtype=np.uint8),
}
DATA = bytes(range(128)) + bytes(8)
DOCUMENT = {"arbora_version": "9", "data_crc32": 0, "format": 1, "metadata": {}}


def entry(dtype, shape, offsets):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def f32(begin, end, *shape):
    return entry("F32", list(shape or [(end - begin) // 4]), [begin, end])


def packed(entries, data=DATA, document=DOCUMENT, metadata=True):
    """A file with whatever header, and a right checksum of it."""
    if isinstance(entries, dict):
        text = document if isinstance(document, str) else json.dumps(document)
        own = {"__metadata__": {"arbora": text, "arbora.header_crc32": "0" * 8}} if metadata else {}
        entries = json.dumps({**own, **entries}, separators=(",", ":"))
    header = entries.encode() if isinstance(entries, str) else entries
    blank = b'"arbora.header_crc32":"' + b"0" * 8
    header = header.replace(blank, blank[:-8] + f"{zlib.crc32(header):08x}".encode(), 1)
    return struct.pack("<Q", len(header)) + header + data


GOOD = {"x": f32(0, 128), "y": f32(128, 136)}


def test_valid_files_of_the_hostile_file_builder_are_read(tmp_path):
    (tmp_path / "model").write_bytes(packed(GOOD))
    found = read_model(tmp_path / "model")
    assert found.tensors["x"].tobytes() == DATA[:128]
    assert (found.arbora_version, found.metadata) == ("9", {})


def nested(depth):
    return "[" * depth + "]" * depth


HOSTILE = {
    "header longer than the file": (struct.pack("<Q", 5000) + packed(GOOD)[8:], "header"),
    "header beyond all bounds": (struct.pack("<Q", 2**64 - 1) + packed(GOOD)[8:], "header"),
    "header shorter than it is": (struct.pack("<Q", 20) + packed(GOOD)[8:], "header"),
    "data cut off": (packed(GOOD, DATA[:-1]), "tensor 'y'"),
    "data too long": (packed(GOOD, DATA + b"x"), None),
    "not UTF-8": (packed(b'{"\xff":1}'), "header"),
    "not JSON": (packed("{'x': 1}"), "header"),
    "nested": (packed('{"__metadata__":' + nested(100_000) + "}"), "header"),
    "a constant": (packed('{"x":NaN}'), "header"),
    "many digits": (packed('{"x":' + "9" * 10_000 + "}"), "header"),
    "half a pair": (packed(GOOD, document='{"format":1,"x":"\\ud800"}'), "arbora"),
    "a name twice": (packed('{"x":1,"x":2}'), "header"),
    "no metadata": (packed(GOOD, metadata=False), None),
    "metadata is a list": (packed('{"__metadata__":[]}'), None),
    "document is a list": (packed(GOOD, document="[]"), "arbora"),
    "document is no JSON": (packed(GOOD, document="{"), "arbora"),
    "document nested": (packed(GOOD, document='{"a":' + nested(100_000) + "}"), "arbora"),
    "no format": (packed(GOOD, document={}), "format"),
    "format true": (packed(GOOD, document=DOCUMENT | {"format": True}), "format"),
    "format 0": (packed(GOOD, document=DOCUMENT | {"format": 0}), "format"),
    "metadata missing": (packed(GOOD, document={**DOCUMENT, "metadata": 3}), "arbora.metadata"),
    "no checksum": (packed('{"__metadata__":{"arbora":' + json.dumps(json.dumps(DOCUMENT)) + "}}"), "header"),
    "overlap": (packed({"x": f32(0, 128), "y": f32(124, 136)}), "tensor 'y'"),
    "the same place twice": (packed({"x": f32(0, 136), "y": f32(0, 136)}), "tensor 'y'"),
    "a hole": (packed({"x": f32(0, 128), "y": f32(132, 136)}), "tensor 'y'"),
    "beyond the end": (packed({"x": f32(0, 140)}), "tensor 'x'"),
    "descending": (packed({"x": entry("F32", [0], [4, 0])}), "tensor 'x'"),
    "negative": (packed({"x": entry("F32", [1], [-4, 0])}), "tensor 'x'"),
    "offsets beyond 64 bits": (packed({"x": f32(0, 2**70, 2**68)}), "tensor 'x'"),
    "three offsets": (packed({"x": entry("F32", [1], [0, 1, 4])}), "tensor 'x'"),
    "fractions": (packed({"x": entry("F32", [1], [0.0, 4])}), "tensor 'x'"),
    "a truth for a length": (packed({"x": entry("F32", [True], [0, 4])}), "tensor 'x'"),
    "a shape of another size": (packed({"x": f32(0, 136, 3, 5)}), "tensor 'x'"),
    "a shape that wraps round": (packed({"x": f32(0, 136, 2**62 + 34)}), "tensor 'x'"),
    "a shape of nothing, but huge": (packed({"w": f32(0, 0, 0, 2**62)} | GOOD), "tensor 'w'"),
    "too many axes": (packed({"x": f32(0, 136, *[1] * 64)}), "tensor 'x'"),
    "unknown dtype": (packed({"x": entry("Q4", [], [0, 0])}), "tensor 'x'"),
    "object dtype": (packed({"x": entry(["O"], [], [0, 0])}), "tensor 'x'"),
    "more in the entry": (packed({"x": f32(0, 136) | {"more": 1}}), "tensor 'x'"),
    "entry is a list": (packed({"x": json.loads(nested(300))}), "tensor 'x'"),
    "between items": (packed({"w": entry("U8", [1], [0, 1]), "x": f32(1, 133),
                              "z": entry("U8", [3], [133, 136])}), "tensor 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_rejected(tmp_path, name):
    data, field = HOSTILE[name]
    path = tmp_path / "model.arbora"
    path.write_bytes(data)
    with rejects(ModelError, source=str(path), field=field) as caught:
        read_model(path)
    assert len(str(caught.value)) < len(str(path)) + 500


def test_a_newer_format_is_rejected_before_anything_it_may_have_changed(tmp_path):
    document = {"arbora_version": "3.0", "format": 2, "tensors": "elsewhere"}
    (tmp_path / "model").write_bytes(packed({"x": {"dtype": "F4"}}, document=document))
    with rejects(ModelError, source=str(tmp_path / "model"), field=None):
        read_model(tmp_path / "model")


def test_damaged_data_is_rejected_on_request(tmp_path):
    path = tmp_path / "model"
    write_model(path, TENSORS, {})
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    read_model(path)
    with rejects(ModelError, field="data"):
        read_model(path, verify=True)


def mutated(random, data):
    """Up to three changes of bytes, or a part cut out, doubled or moved."""
    data = bytearray(data)
    kind = random.randrange(5)
    begin, end = sorted(random.randrange(len(data)) for _ in range(2))
    if kind == 0:
        del data[begin:]
    elif kind == 1:
        del data[begin : min(end, begin + 9)]
    elif kind == 2:
        data[begin:begin] = data[begin:end]
    else:
        reach = random.choice([8, 8 + int.from_bytes(data[:8], "little"), len(data)])
        for place in random.choices(range(reach), k=random.randint(1, 3)):
            flipped = data[place] ^ (1 << random.randrange(8))
            data[place] = random.choice([random.randrange(256), flipped, ord("9"), ord('"')])
    return bytes(data)


@pytest.fixture
def read_bytes(monkeypatch):
    """`read_model` of bytes: thousands of files on a disk would take longer than all checks of them."""

    def read(data):
        monkeypatch.setattr(model_file, "_map", lambda _: data)
        return read_model("model.arbora")

    return read


def test_any_mutation_is_rejected_or_read_right(tmp_path, read_bytes):
    path = tmp_path / "model"
    write_model(path, TENSORS, {"labels": ["a", "b"], "n": 3})
    original = path.read_bytes()
    header = 8 + int.from_bytes(original[:8], "little")
    random = Random(7)
    rejected = 0
    for _ in range(3000):
        data = mutated(random, original)
        try:
            found = read_bytes(data)
        except ModelError:
            rejected += 1
            continue
        # The checksum guards the header, so what is read is what was written, but for the data's bytes.
        assert data[:header] == original[:header]
        assert found.metadata == {"labels": ["a", "b"], "n": 3}
        assert {name: (a.dtype, a.shape) for name, a in found.tensors.items()} == {
            name: (a.dtype, a.shape) for name, a in TENSORS.items()
        }
        with_data = b"".join(found.tensors[name].tobytes() for name in TENSORS)
        same = with_data == b"".join(array.tobytes() for array in TENSORS.values())
        assert same or data[header:] != original[header:]
    assert 2000 < rejected < 3000


def test_a_header_with_a_right_checksum_is_still_not_trusted(read_bytes):
    """Mutations of the header that put its checksum right, so that all other checks are reached."""
    random = Random(8)
    entries = packed(GOOD)[8 : -len(DATA)]
    blank = entries.replace(entries[entries.index(b'crc32":"') + 8 :][:8], b"0" * 8)
    rejected = 0
    for _ in range(2000):
        header = bytearray(blank)
        for place in random.choices(range(len(header)), k=random.randint(1, 2)):
            header[place] = random.choice(b'0123456789"[]{},:-.eFIU\\ \xff')
        try:
            for array in read_bytes(packed(bytes(header))).tensors.values():
                array.sum()
        except ModelError:
            rejected += 1
    assert rejected > 1000
