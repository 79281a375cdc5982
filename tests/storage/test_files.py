"""Byte streams: devices without an end, and names in system errors."""

import os
from pathlib import Path

import pytest
from errors import rejects

from arbora import settings
from arbora.errors import DataError
from arbora.storage.files import file_checksum, open_input, read_text
from arbora.storage.vectors import read_vectors
from arbora.training import TrainConfig

pytestmark = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs the devices of Unix")


@pytest.mark.parametrize(
    "read", [open_input, file_checksum, read_vectors, lambda path: list(read_text(path))]
)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_devices_without_an_end_are_rejected(read, device):
    with rejects(DataError, source=device):
        read(device)


def test_pipes_and_an_empty_device_can_be_read(tmp_path):
    assert [*read_text(os.devnull)] == [""]
    reader, writer = os.pipe()
    os.write(writer, b"text")
    os.close(writer)
    assert "".join(read_text(f"/dev/fd/{reader}")) == "text"
    os.close(reader)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
@pytest.mark.parametrize(
    "read", [file_checksum, read_vectors, lambda path: settings.load_config(path, TrainConfig)]
)
def test_system_errors_name_the_file(read):
    with rejects(OSError, filename="/proc/self/mem"):
        read("/proc/self/mem")
