"""Small corpora, and what must come out of them."""

import gzip
import json
import os
import random
import signal
from functools import lru_cache
from pathlib import Path

from pipeline_toys import conllu, trained

from arbora.distributed import CorpusOptions, Pool, parse
from arbora.distributed.corpus import ShardParser

OWN = ("_manifest.json", "_report.json", "_failed.jsonl", "_journal")


@lru_cache
def paragraphs(count=40, seed=3):
    """Paragraphs of one to five sentences."""
    chance = random.Random(seed)
    words = ["Ann", "Bob", "calls", "helps", "the", "dogs", "trees", "wants"]
    return tuple(
        " ".join(" ".join(chance.choices(words, k=5)) + "." for _ in range(chance.randint(1, 5)))
        for _ in range(count)
    )


def write_corpus(folder):
    """Texts, compressed ones, a treebank and rows, in a folder with a folder inside."""
    folder = Path(folder)
    (folder / "inner").mkdir(parents=True)
    (folder / "a.txt").write_text("\n\n".join(paragraphs()) + "\n")
    (folder / "inner" / "b.txt.gz").write_bytes(gzip.compress("\n\n".join(paragraphs(5, 7)).encode()))
    (folder / "t.conllu").write_text(conllu(40))
    rows = [{"id": f"doc{number}", "text": text} for number, text in enumerate(paragraphs(20, 9))]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "notes.md").write_text("not a text of the corpus")
    (folder / "_skipped.txt").write_text("neither")
    return folder


def outputs(folder):
    """The files that a run has written, but not its own books."""
    folder = Path(folder)
    paths = (path for path in folder.rglob("*") if path.is_file())
    named = ((path.relative_to(folder).as_posix(), path) for path in paths)
    return {name: path.read_bytes() for name, path in named if not name.startswith(OWN)}


@lru_cache
def model():
    return trained().pipeline


def parse_all(source, target, **options):
    """Parse a corpus by two local workers, in small shards."""
    given = {"pool": Pool(count=2), "options": CorpusOptions(shard_size=700), **options}
    return parse([str(source)], target, given.pop("model", None) or model(), **given)


class DyingParser(ShardParser):
    """Its process is killed by shards named `killed`; those named `hungry` need too much memory."""

    def parse(self, shard):
        if "killed" in shard.name:
            os.kill(os.getpid(), signal.SIGKILL)
        if "hungry" in shard.name:
            bytearray(1 << 60)
        return super().parse(shard)
