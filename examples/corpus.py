"""Parse a corpus on several workers: the same call runs on this machine and on a Ray cluster.

Outputs appear shard by shard; a second run parses only what is missing.

    python examples/corpus.py [local|ray]
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from arbora.distributed import CorpusOptions, Pool, parse

TEXTS = {
    "news.txt": "The bank raised its rates. Shares fell.",
    "letter.txt": "Dear Ann,\n\nwe arrived in Paris on Sunday. It rains.",
}


def main() -> None:
    """Parse a folder of two texts, then add a third."""
    pool = Pool(
        sys.argv[1] if len(sys.argv) > 1 else "local", 2
    )  # Ray: Pool("ray", 64, "auto") for a cluster
    with TemporaryDirectory() as folder:
        texts, parsed = Path(folder) / "texts", Path(folder) / "parsed"
        texts.mkdir()
        for name, text in TEXTS.items():
            (texts / name).write_text(text)
        report = parse([texts], parsed, pool=pool, options=CorpusOptions(probabilities=True))
        print(f"{report.parsed} of {report.shards} shards parsed, {report.sentences} sentences")

        (texts / "late.txt").write_text("One more letter came.")
        report = parse([texts], parsed, pool=pool, options=CorpusOptions(probabilities=True))
        print(f"{report.parsed} of {report.shards} shards parsed, {report.sentences} sentences in all")
        print(*sorted(path.name for path in parsed.glob("*.conllu")), sep="\n")


if __name__ == "__main__":  # worker processes import this file
    main()
