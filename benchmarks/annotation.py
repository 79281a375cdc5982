"""What a parser's doubts save in annotation: simulated annotators, induction at the start, implanted errors.

    python benchmarks/annotation.py decisions                 # to 95% of the LAS of the full training set
    python benchmarks/annotation.py nothing                   # from no annotation, with and without induction
    python benchmarks/annotation.py errors                    # 1% of gold heads changed: are they found?
    python benchmarks/annotation.py decisions --json > a.json # also of a part: --treebanks NAME...
    python benchmarks/annotation.py decisions --from a.json b.json --plot docs/annotation.svg

Tables are printed in Markdown, for `scripts/tables.py`.

An annotator answers with the gold head and label of a word. One head is one decision, whether the parser's
proposal was right or wrong; confirming is cheaper for a human, but counts the same. After each batch, a
parser learns anew from all decisions so far, as that of `arbora annotate` does (non-projective, gold tags).
Strategies: whole sentences at random; whole sentences with the most expected errors per word; single arcs by
`diversity` of `arbora.annotation.doubt`. LAS is that of the test part, on all words; the details of
strategies were chosen on dev parts. A batch is 200 decisions, or a tenth of those made if that is more;
decisions are interpolated between batches.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from treebanks import DATA

from arbora.annotation.doubt import arc_features, decaying_order
from arbora.annotation.learner import learn
from arbora.annotation.suspicious import suspicious_arcs
from arbora.data.columns import Columns
from arbora.data.treebank import read_columns
from arbora.induction.induce import induce
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline

TREEBANKS = ("UD_Hungarian-Szeged", "UD_Greek-GDT", "UD_Turkish-IMST", "UD_Slovenian-SST_r2.13")
STRATEGIES = ("random sentences", "doubtful sentences", "doubtful arcs")
GOAL = 0.95
BATCH, GROWTH = 200, 0.1


def part(name: str, which: str) -> Columns:
    """A part of a treebank."""
    return read_columns(next((DATA / name).glob(f"*{which}.conll*")))


def scores(parser: Parser, gold: Columns) -> tuple[float, float]:
    """UAS and LAS in percent: all words, whole labels."""
    heads, labels = parser.trees(gold)
    names = np.array([*parser.names.labels, ""])
    right = heads == gold.heads
    named = right & (names[labels] == np.array(gold.strings("deprel"))[gold.ids("deprel")])
    return 100 * float(right.mean()), 100 * float(named.mean())


class Annotator:
    """A treebank whose trees are hidden until they are asked for."""

    def __init__(self, gold: Columns, seed: int = 0) -> None:
        self.gold = gold
        self.known = np.zeros(gold.words, dtype=np.bool_)
        self.sentence = np.repeat(np.arange(len(gold)), np.diff(gold.offsets))
        self.shuffled = np.random.default_rng(seed).permutation(len(gold))
        self.features = [*chain.from_iterable(map(arc_features, gold.sentences()))]
        self.frequency = Counter(chain.from_iterable(self.features))

    @property
    def decisions(self) -> int:
        """The number of heads that were asked for."""
        return int(self.known.sum())

    def visible(self) -> Columns:
        """The treebank with the known heads and labels."""
        heads = np.where(self.known, self.gold.heads, -1).astype(np.int32)
        labels = np.where(self.known, self.gold.ids("deprel"), -1).astype(np.int32)
        return self.gold.with_trees(heads, labels, self.gold.strings("deprel"))

    def touched(self) -> Columns:
        """Sentences with at least one known head."""
        return self.visible().select(np.unique(self.sentence[self.known]))

    def ask_sentences(self, order: Sequence[int] | np.ndarray, count: int) -> None:
        """Decide all heads of the next sentences, until there are `count` more decisions."""
        goal = self.decisions + count
        for number in order:
            if self.decisions >= goal:
                return
            self.known[self.gold.offsets[number] : self.gold.offsets[number + 1]] = True

    def ask(self, how: str, count: int, parser: Parser | None) -> None:
        """Decide `count` heads, chosen by a strategy; random sentences where there is no parser."""
        if parser is None or how == "random sentences":
            self.ask_sentences(self.shuffled, count)
            return
        found = parser.confidence(self.visible(), keep_heads=True)
        right = found.head_probabilities * np.nan_to_num(found.label_probabilities, nan=1.0)
        doubts = np.where(self.known, 0.0, 1.0 - right)
        if how == "doubtful sentences":
            means = np.bincount(self.sentence, weights=doubts) / np.diff(self.gold.offsets)
            self.ask_sentences(np.argsort(-means, kind="stable"), count)
            return
        hidden = np.flatnonzero(~self.known)
        chosen = decaying_order(
            doubts[hidden],
            [self.features[word] for word in hidden.tolist()],
            (self.features[word] for word in np.flatnonzero(self.known).tolist()),
            count,
            self.frequency,
        )
        self.known[hidden[chosen]] = True


def curve(gold: Columns, test: Columns, how: str, goal: float) -> Iterator[dict[str, Any]]:
    """Decisions with UAS and LAS after each batch, until LAS reaches the goal."""
    annotator, parser = Annotator(gold), None
    while not annotator.known.all():
        batch = max(BATCH, int(GROWTH * annotator.decisions))
        annotator.ask(how, batch, parser)
        parser = learn(annotator.touched(), trees="nonprojective").parser
        uas, las = scores(parser, test)
        say(f"  {how}: {annotator.decisions:,} decisions, LAS {las:.2f}")
        yield {"strategy": how, "decisions": annotator.decisions, "uas": uas, "las": las}
        if las >= goal:
            return


def decisions(name: str, strategies: Sequence[str] = STRATEGIES) -> Iterator[dict[str, Any]]:
    """The curves of strategies on a treebank."""
    gold, test = part(name, "train"), part(name, "test")
    full = scores(learn(gold, trees="nonprojective").parser, test)[1]
    say(f"{name}: LAS {full:.2f} from {gold.words:,} words; the goal is {GOAL * full:.2f}")
    about = {"treebank": name, "words": gold.words, "full": full}
    for how in strategies:
        yield from ({**about, **row} for row in curve(gold, test, how, GOAL * full))


def nothing(name: str) -> Iterator[dict[str, Any]]:
    """LAS after few decisions, from induction and without: random sentences at first, then doubtful arcs."""
    gold, test = part(name, "train"), part(name, "test")
    with tempfile.TemporaryDirectory() as folder:
        induced = Path(folder) / "induced.arbora"
        empty = np.full(gold.words, -1, dtype=np.int32)
        hidden = gold.with_trees(empty, empty, ["_"])
        induce(hidden, config={"only": "parser"}).save(induced)
        for start in (str(induced), None):
            annotator = Annotator(gold)
            model = None if start is None else Pipeline(parser=Parser.load(start))
            parser = None if model is None else model.parser
            row: dict[str, Any] = {"treebank": name, "start": "induction" if start else "nothing"}
            if parser is not None:
                row["0"] = scores(parser, test)
            for goal in (100, 200, 350, 500, 750, 1000):
                how = "doubtful arcs" if annotator.decisions else "random sentences"
                annotator.ask(how, goal - annotator.decisions, parser)
                parser = learn(annotator.touched(), model, start, trees="nonprojective").parser
                row[str(goal)] = scores(parser, test)
                say(f"  {name}, {row['start']}, {annotator.decisions:,} decisions: {row[str(goal)]}")
            yield row


def implant(gold: Columns, share: float, seed: int = 0) -> tuple[Columns, set[int]]:
    """The treebank with a share of its heads changed at random, still with trees, and the words changed."""
    rng = np.random.default_rng(seed)
    heads, changed = np.array(gold.heads), set[int]()
    for word in rng.permutation(gold.words).tolist():
        if len(changed) >= round(share * gold.words):
            break
        number = int(np.searchsorted(gold.offsets, word, side="right")) - 1
        first, last = gold.offsets[number : number + 2].tolist()
        tree, dep = heads[first:last].tolist(), word - first + 1
        others = [h for h in range(1, last - first + 1) if h != tree[dep - 1] and not _is_below(tree, h, dep)]
        if tree[dep - 1] > 0 and others:
            heads[word] = rng.choice(others)
            changed.add(word)
    return gold.with_trees(heads, gold.ids("deprel"), gold.strings("deprel")), changed


def _is_below(heads: list[int], node: int, top: int) -> bool:
    while node > 0 and node != top:
        node = heads[node - 1]
    return node == top


def errors(name: str) -> Iterator[dict[str, Any]]:
    """The share of implanted errors among the most suspicious arcs."""
    gold = part(name, "train")
    changed, places = implant(gold, 0.01)
    arcs = suspicious_arcs(changed, share=1.0)
    is_error = np.array([int(gold.offsets[arc.sentence]) + arc.word - 1 in places for arc in arcs])
    row: dict[str, Any] = {"treebank": name, "errors": len(places)}
    for share in (0.01, 0.02, 0.05):
        found = is_error[: int(np.ceil(share * len(arcs)))].sum() / len(places)
        row[f"{share:.0%}"] = 100 * float(found)
    say(f"{name}: {row}")
    yield row


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# Tables


def reached(rows: list[dict[str, Any]], treebank: str, how: str) -> float | None:
    """The decisions that reached the goal, interpolated between batches."""
    before = (0.0, 0.0)
    for row in rows:
        if (row["treebank"], row["strategy"]) == (treebank, how):
            goal, now = GOAL * row["full"], (float(row["decisions"]), row["las"])
            if row["las"] >= goal:
                return before[0] + (now[0] - before[0]) * (goal - before[1]) / (now[1] - before[1])
            before = now
    return None


def decision_table(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    table = []
    for name in dict.fromkeys(row["treebank"] for row in rows):
        own = [row for row in rows if row["treebank"] == name]
        counts = {how: reached(own, name, how) for how in STRATEGIES}
        random, arcs = counts[STRATEGIES[0]], counts[STRATEGIES[2]]
        ratio = "–" if random is None or arcs is None else f"{100 * arcs / random:.0f}%"
        shown = {how: "–" if count is None else f"{count:,.0f}" for how, count in counts.items()}
        about = {"treebank": name, "words": f"{own[0]['words']:,}", "LAS, all": f"{own[0]['full']:.2f}"}
        goal = {"LAS, goal": f"{GOAL * own[0]['full']:.2f}"}
        table.append({**about, **goal, **shown, "arcs / random": ratio})
    return table


def nothing_table(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    def cell(pair: list[float] | None) -> str:
        return "–" if pair is None else f"{pair[0]:.1f} / {pair[1]:.1f}"

    counts = ("0", "200", "500", "1000")
    return [
        {"treebank": row["treebank"], "start": row["start"], **{n: cell(row.get(n)) for n in counts}}
        for row in rows
    ]


def error_table(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [
        {name: f"{value:.1f}%" if isinstance(value, float) else str(value) for name, value in row.items()}
        for row in rows
    ]


def draw(rows: list[dict[str, Any]], path: str) -> None:
    """LAS by decisions, one panel for each treebank."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"svg.hashsalt": "arbora", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    names = [*dict.fromkeys(row["treebank"] for row in rows)]
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        own = [row for row in rows if row["treebank"] == name]
        for how in STRATEGIES:
            points = [(row["decisions"], row["las"]) for row in own if row["strategy"] == how]
            axis.plot(*zip(*points, strict=True), label=how)
        axis.axhline(GOAL * own[0]["full"], color="grey", linestyle=":", linewidth=1)
        axis.set_title(name.split("_")[1], fontsize=9)
        axis.set_xlabel("decisions", fontsize=8)
        axis.tick_params(labelsize=7)
    axes[0][0].set_ylabel("LAS", fontsize=8)
    axes[0][-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


PARTS: dict[str, tuple[Any, Any]] = {
    "decisions": (decisions, decision_table),
    "nothing": (nothing, nothing_table),
    "errors": (errors, error_table),
}


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("--treebanks", nargs="+", metavar="NAME", default=TREEBANKS)
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, help="of `decisions` (default: all)")
    parser.add_argument("--from", nargs="+", metavar="FILE", dest="files", help="figures of --json, not anew")
    parser.add_argument("--json", action="store_true", help="figures on stdout, a JSON object per line")
    parser.add_argument("--plot", metavar="FILE", help="of `decisions`: draw the curves")
    options = parser.parse_args()
    if not any(DATA.glob("*")):
        sys.exit(f"no treebanks in {DATA}; set ARBORA_DATA")
    measure, tabulate = PARTS[options.what]
    begun = time.process_time()
    if options.files:
        rows = [json.loads(line) for file in options.files for line in Path(file).read_text().splitlines()]
    else:
        more = {} if options.strategies is None else {"strategies": options.strategies}
        rows = []
        for row in chain.from_iterable(measure(name, **more) for name in options.treebanks):
            rows.append(row)
            if options.json:
                print(json.dumps(row), flush=True)
        say(f"{time.process_time() - begun:.0f} CPU seconds")
    if options.plot:
        draw(rows, options.plot)
    if options.json:
        return
    table = tabulate(rows)
    lines = [[*table[0]], ["---"] * len(table[0]), *([*row.values()] for row in table)]
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()
