"""Speed of the native forward pass of neural parsers: tokens per second of one core.

    python benchmarks/neural.py [--sizes small medium large] [--rounds 5] [--json]

Networks with random weights parse the words of UD_English-EWT dev ($ARBORA_DATA or ../shared/data), in
batches of 512 sentences: encoding, projective trees, labels, and four columns of tags. Labels are scored for
the gold heads, because trees of random weights have other shapes. Networks take turns and the best of several
rounds counts, by CPU time, so a busy machine matters little.

If onnx and onnxruntime are installed, the encoder alone (words, LSTM, one column of tags) is compared with
the same encoder in ONNX Runtime.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora._core import Network
from arbora.data.treebank import read_columns
from arbora.neural.settings import SIZES, NeuralSettings, Size

DATA = Path(os.environ.get("ARBORA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
OUTPUTS = {"upos": 17, "xpos": 50, "feats": 200, "lemma": 400}
WORDS, CHARACTERS, VECTORS, LABELS, BATCH = 8000, 120, 20000, 50, 512
VECTOR_SIZE = 100


def random_network(name: Size, **options: Any) -> Network:
    """A network of this size, with two convolutions, of widths 3 and 5."""
    s: Any = NeuralSettings(size=name).resolved()
    inputs, states = s.word_size + 2 * s.filters + s.vector_size, 2 * s.units
    rng = np.random.default_rng(0)

    def some(*shape: int, scale: float = 0.1) -> NDArray[np.float32]:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    made: dict[str, Any] = {
        "word": some(WORDS, s.word_size),
        "character": some(CHARACTERS, s.character_size),
        "projection": some(s.vector_size, VECTOR_SIZE),
        "root": some(inputs),
    }

    def add(name: str, outputs: int, *inputs: int, scale: float = 0.1) -> None:
        made[f"{name}.weight"], made[f"{name}.bias"] = some(outputs, *inputs, scale=scale), some(outputs)

    for i, width in enumerate((3, 5)):
        add(f"convolution{i}", s.filters, s.character_size, width)
    for layer in range(s.layers):
        for side in ("forward", "backward"):
            prefix, read = f"lstm{layer}.{side}", states if layer else inputs
            made[f"{prefix}.input"] = some(4 * s.units, read, scale=read**-0.5)
            made[f"{prefix}.recurrent"] = some(4 * s.units, s.units, scale=s.units**-0.5)
            made[f"{prefix}.bias"] = some(4 * s.units)
    for side in ("head", "dep"):
        add(f"arc_{side}", s.arc_size, states)
        add(f"label_{side}", s.label_size, states)
        made[f"lengths.{side}"] = some(29, s.arc_size)
    made["arcs"], made["arc_bias"] = some(s.arc_size, s.arc_size), some(s.arc_size)
    made["lengths.bias"] = some(29)
    add("labels", LABELS, 3 * s.label_size)
    add("tags", s.output_size, 2 * states)
    for column, count in OUTPUTS.items():
        add(f"output.{column}", count, s.output_size)
        made[f"output.{column}.words"] = some(count, inputs)
    vectors = rng.integers(-127, 128, (VECTORS, VECTOR_SIZE)).astype(np.int8)
    return Network(made, vectors, np.full(VECTORS, 0.01, np.float32), list(OUTPUTS), **options)


class Batch(NamedTuple):
    words: int
    encode: dict[str, Any]  # arguments of Network.encode
    heads: NDArray[np.int32]


def batches() -> list[Batch]:
    """The treebank's sentences; rows of the tables by the frequency of words."""
    paths = sorted((DATA / "UD_English-EWT").glob("*dev*.conllu"))
    if not paths:
        sys.exit(f"neural: no UD_English-EWT/*dev*.conllu in {DATA}; set ARBORA_DATA")
    columns = read_columns(paths[0])
    ends = columns.offsets.tolist()
    forms, heads = columns.texts("form"), columns.heads.tolist()
    sentences = [(forms[a:b], heads[a:b]) for a, b in pairwise(ends)]
    rank: dict[str, int] = {}
    for form in forms:
        rank.setdefault(form, len(rank) + 1)
    return [make_batch(sentences[at : at + BATCH], rank) for at in range(0, len(sentences), BATCH)]


def make_batch(sentences: list[tuple[list[str], list[int]]], rank: dict[str, int]) -> Batch:
    number: dict[str, int] = {}
    types = [number.setdefault(form, len(number)) for forms, _ in sentences for form in forms]
    characters = [[1, *(2 + ord(c) % (CHARACTERS - 3) for c in form), 0] for form in number]
    given = {
        "lengths": np.array([len(forms) for forms, _ in sentences], np.int32),
        "types": np.array(types, np.int32),
        "words": np.array([rank[form] % WORDS for form in number], np.int32),
        "vectors": np.array([rank[form] % VECTORS for form in number], np.int32),
        "characters": np.array([c for each in characters for c in each], np.int32),
        "ends": np.cumsum([len(each) for each in characters]).astype(np.int64),
        "tags": [],
    }
    return Batch(len(types), given, np.array([head for _, heads in sentences for head in heads], np.int32))


def stages(network: Network, batch: Batch) -> Iterator[str]:
    """Parse a batch; yields the name of each stage when it ends."""
    states = network.encode(**batch.encode, threads=1)
    yield "encode"
    network.trees(states, projective=True, single_root=True, given=None, threads=1)
    yield "trees"
    network.best_labels(states, batch.heads, 1)
    yield "labels"
    network.best_outputs(states, 1)
    yield "outputs"


def one_round(network: Network, work: list[Batch]) -> dict[str, float]:
    """CPU seconds of each stage over all batches."""
    seconds: dict[str, float] = {}
    for batch in work:
        last = time.process_time()
        for stage in stages(network, batch):
            now = time.process_time()
            seconds[stage] = seconds.get(stage, 0.0) + now - last
            last = now
    return seconds


def measure(networks: dict[str, Network], work: list[Batch], rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds per token of each stage in each network's best round; the networks take turns."""
    words = sum(batch.words for batch in work)
    best: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for name, network in networks.items():
            seconds = one_round(network, work)
            if name not in best or sum(seconds.values()) < sum(best[name].values()):
                best[name] = seconds
    return {name: {stage: 1e6 * t / words for stage, t in each.items()} for name, each in best.items()}


def compare_encoders(size: Size, work: list[Batch], rounds: int) -> dict[str, float] | None:
    """Tokens per second of the encoder, ours and ONNX Runtime's; None if that is not installed."""
    try:
        import neural_peers as peers
    except ImportError:
        return None
    settings: Any = NeuralSettings(size=size).resolved()
    weights = peers.random_encoder(settings.units, settings.layers, WORDS, OUTPUTS["upos"])
    native = peers.native_encoder(weights)
    quantized = peers.native_encoder(weights, quantized=True)
    onnx = peers.OnnxEncoder(weights, settings.layers)
    batches = [(batch, {**batch.encode, "vectors": 0 * batch.encode["vectors"]}) for batch in work]
    batches = [(batch, {**given, "characters": 0 * given["characters"]}) for batch, given in batches]
    chunks = [onnx.prepare(given) for _, given in batches]

    def ours(network: Network) -> list[NDArray[np.float32]]:
        return [network.outputs(network.encode(**given, threads=1), 0, 1) for _, given in batches]

    theirs = [
        onnx.by_word(each, onnx(each), len(given["lengths"]))
        for each, (_, given) in zip(chunks, batches, strict=True)
    ]
    for one, other in zip(ours(native), theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    runs = {
        "float32": lambda: ours(native),
        "int8": lambda: ours(quantized),
        "ONNX Runtime": lambda: [onnx(each) for each in chunks],
    }
    seconds = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name] = min(seconds[name], time.process_time() - start)
    words = sum(batch.words for batch in work)
    return {name: words / each for name, each in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    work = batches()
    for size in options.sizes:
        networks = {
            "float32": random_network(size),
            "int8": random_network(size, quantized=True),
        }
        for kind, stage in measure(networks, work, options.rounds).items():
            total = sum(stage.values())
            if options.json:
                print(json.dumps({"size": size, "kind": kind, "tokens/s": 1e6 / total, "us": stage}))
                continue
            parts = ", ".join(f"{name} {each:.2f}" for name, each in stage.items())
            print(f"{size:7} {kind:8} {1e6 / total:8,.0f} tokens/s   us per token: {parts}")
        if (encoders := compare_encoders(size, work, options.rounds)) is not None:
            if options.json:
                print(json.dumps({"size": size, "encoder tokens/s": encoders}))
                continue
            print(
                f"{size:7} encoder, tokens/s: "
                + ", ".join(f"{name} {each:,.0f}" for name, each in encoders.items())
            )


if __name__ == "__main__":
    main()
