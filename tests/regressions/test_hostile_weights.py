"""Weights and sizes made to exhaust a parser: files with them are rejected, and every search ends."""

import resource
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank

from arbora.errors import ModelError
from arbora.parsing.parser import Parser
from arbora.scorers import TransitionSettings
from arbora.storage.model_file import LARGEST_WEIGHT, read_model, write_model
from arbora.training import train

TRAIN, DEV = treebank(60, seed=1, nonprojective=0.2), treebank(15, seed=2)
KINDS = {
    "graph": {},
    "lifted": {"projectivize": "pseudo-projective"},
    "greedy": {"parser": "transition", "trees": "projective"},
    "beam": {"parser": "transition", "transition": TransitionSettings(beam=4)},
    "cube": {"parser": "cube", "trees": "nonprojective"},
}


@pytest.fixture(scope="module")
def parsers():
    return {name: train(TRAIN, config=config(epochs=1, **options)).parser for name, options in KINDS.items()}


def run(*arguments, gigabytes):
    """`arbora ...` in a process with little address space."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30),) * 2)

    command = [sys.executable, "-m", "arbora", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2 * LARGEST_WEIGHT, -2 * LARGEST_WEIGHT])
def test_files_with_such_weights_are_rejected(kind, value, parsers, tmp_path):
    tensors, metadata = parsers[kind].to_parts()
    for name, array in tensors.items():
        if array.dtype.kind == "f":
            spoiled = np.array(array)
            spoiled.flat[-1] = value
            write_model(tmp_path / "m", {**tensors, name: spoiled}, metadata)
            with rejects(ModelError, field=f"tensor '{name}'"):
                Parser.load(tmp_path / "m")


@pytest.mark.parametrize("kind", ["greedy", "beam"])
@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_search_ends_and_gives_trees_whatever_the_weights(kind, value, parsers):
    search = parsers[kind].search
    tree = np.full_like(search.scorer.tree, value)
    broken = replace(parsers[kind], search=type(search)(search.scorer.replaced(tree=tree), search.pruner))
    heads, labels = broken.trees(DEV)
    DEV.with_trees(heads, np.maximum(labels, 0), broken.names.labels)  # InputError unless they are trees


@pytest.mark.parametrize("size", [3e38, 1e20, 1e16])
def test_hill_climbing_ends_where_large_scores_cancel(size, parsers):
    search = parsers["cube"].search
    for seed in range(3):
        random = np.random.default_rng(seed)
        labels = np.array(search.scorer.label_weights)
        labels[random.choice(labels.size, 100, replace=False)] = random.choice([size, -size], size=100)
        scorer = search.scorer.replaced(label_weights=labels)
        replace(parsers["cube"], search=type(search)(scorer, search.pruner)).trees(DEV)


def test_the_number_of_labels_is_checked_before_memory_is_taken(parsers, tmp_path):
    tensors, metadata = parsers["graph"].to_parts()
    write_model(tmp_path / "m", tensors, {**metadata, "labels": [f"l{i}" for i in range(2_000_000)]})
    (tmp_path / "d.conllu").write_bytes(DEV.to_bytes())
    ended = run("parse", tmp_path / "d.conllu", "-m", tmp_path / "m", gigabytes=3)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1


def test_lifts_need_labels(parsers, tmp_path):
    tensors, metadata = parsers["lifted"].to_parts()
    settings = {**metadata["settings"], "labels": "none"}
    write_model(tmp_path / "m", tensors, {**metadata, "settings": settings})
    with rejects(ModelError):
        Parser.load(tmp_path / "m")


def test_headers_of_countless_tensors_are_rejected(tmp_path):
    path = tmp_path / "m"
    write_model(path, {f"t{i}": np.zeros(1, np.uint8) for i in range(100)}, {})
    assert len(read_model(path).tensors) == 100
    entry = b',"t%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    whole = path.read_bytes()
    header = whole[8 : 8 + int.from_bytes(whole[:8], "little")].rstrip(b" }")
    header += b"}" + b"".join(entry % i for i in range(1000, 1_000_000)) + b"}"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    begun = time.monotonic()
    with rejects(ModelError, field="header"):
        read_model(path)
    assert time.monotonic() - begun < 5


def test_more_threads_than_the_system_gives(parsers, tmp_path):
    parsers["graph"].save(tmp_path / "m")
    (tmp_path / "d.conllu").write_bytes(treebank(400, seed=4).to_bytes())
    command = ("parse", tmp_path / "d.conllu", "-m", tmp_path / "m", "-o", tmp_path / "o.conllu")
    assert run(*command, "--threads", 1000, gigabytes=2).returncode == 0
    many = (tmp_path / "o.conllu").read_bytes()
    assert run(*command, gigabytes=2).returncode == 0
    assert (tmp_path / "o.conllu").read_bytes() == many
    assert not list(tmp_path.glob(".*.tmp"))
