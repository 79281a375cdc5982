"""Which words are far from their heads? Count it over a treebank, first as sentences, then as arrays.

Sentences are convenient, arrays are fast: `read_columns` gives a whole treebank as a few numpy arrays.
The treebank is synthetic; replace it by your own.
"""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from arbora import read, write
from arbora.data.statistics import statistics
from arbora.data.synthetic import generate
from arbora.data.treebank import read_columns


def mean_lengths_of_sentences(path: Path) -> dict[str, float]:
    """Mean distance between word and head by label, sentence by sentence."""
    total, count = Counter[str](), Counter[str]()
    for sentence in read(path):
        for word in sentence:
            if word.head > 0:
                total[word.deprel] += abs(word.head - word.id)
                count[word.deprel] += 1
    return {label: total[label] / count[label] for label in total}


def mean_lengths_of_columns(path: Path) -> dict[str, float]:
    """The same without a loop over words."""
    columns = read_columns(path)
    places = np.arange(columns.words) - np.repeat(columns.offsets[:-1], np.diff(columns.offsets)) + 1
    attached = columns.heads > 0
    labels = columns.ids("deprel")[attached]
    lengths = np.abs(columns.heads - places)[attached]
    totals, counts = np.bincount(labels, lengths), np.bincount(labels)
    names = columns.strings("deprel")
    return {names[i]: float(totals[i] / counts[i]) for i in np.flatnonzero(counts)}


def main() -> None:
    """Write a synthetic treebank, count it both ways, and print the results."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.conllu.gz"
        write(generate(1000, seed=7), path)
        found = mean_lengths_of_columns(path)
        assert found == mean_lengths_of_sentences(path)
        counts = statistics([read_columns(path)])
    print(f"{counts.sentences} sentences, {counts.words} words, {counts.mean_depth:.1f} arcs deep on average")
    print(f"{100 * counts.nonprojective_tree_share:.1f}% of the trees are non-projective")
    print("\nmean distance from the head, farthest first:")
    for label, mean in sorted(found.items(), key=lambda entry: -entry[1]):
        print(f"{label:<8} {mean:5.2f}  {'#' * round(4 * mean)}")


if __name__ == "__main__":
    main()
