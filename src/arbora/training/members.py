"""Several parsers of one configuration, trained from different seeds and joined to an ensemble.

They are independent, so they can be trained at the same time on the workers of a pool. Weights are fitted on
dev; without dev, all weights are equal. Segmenter, tagger and lemmatizer are trained once, for all members.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from arbora.data.columns import Columns
from arbora.parsing.ensemble import ensemble
from arbora.parsing.ensemble_weights import fit_weights
from arbora.parsing.long_sentences import without_long
from arbora.parsing.parser import Parser
from arbora.progress import Observer, Scores
from arbora.training.config import TrainConfig
from arbora.training.jobs import run_jobs
from arbora.training.pipeline import Inputs, Tools, Trained, assembled, train_parser
from arbora.training.recipes import Dev

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool


def train_members(
    inputs: Inputs, config: TrainConfig, count: int, threads: int, observer: Observer, pool: Pool | None
) -> Trained:
    """Train parsers with `count` seeds, from that of `config` on, and join them; see `arbora.train`.

    Ctrl-C joins the members that are complete.
    """
    configs = [replace(config, seed=config.seed + i) for i in range(count)]
    names = [f"member {i} of {count}, seed {each.seed}" for i, each in enumerate(configs, start=1)]
    bare = replace(inputs, tools=Tools(clusters=inputs.tools.clusters))
    found: dict[int, Trained] = {}
    interrupted = False
    observer.begin("members", count, unit="member")
    try:
        train = partial(_train_member, inputs=bare, threads=threads)
        with closing(run_jobs(train, names, configs, observer, pool)) as jobs:
            for job in jobs:
                found[job.place] = job.get()
                observer.advance()
                interrupted = found[job.place].interrupted
                if interrupted:
                    break
    except KeyboardInterrupt:
        interrupted = True
    observer.end()
    if not found:
        raise KeyboardInterrupt
    parsers = [found[place].parser for place in sorted(found)]
    epochs = [report for i, each in enumerate(parsers, start=1) for report in _reports(each, i)]
    joined = parsers[0] if len(parsers) == 1 else _joined(parsers, inputs.dev, threads)
    return assembled(inputs, joined, epochs, threads, interrupted=interrupted)


def _train_member(config: TrainConfig, observer: Observer, *, inputs: Inputs, threads: int) -> Trained:
    return train_parser(inputs, config, threads, observer)


def _joined(parsers: Sequence[Parser], dev: Columns | None, threads: int) -> Parser:
    weights = None
    if dev is not None and len(without_long(dev, *(each.search for each in parsers))):
        weights = fit_weights(parsers, dev, threads=threads)
    parser = ensemble(parsers, weights)
    scores: Scores = {} if dev is None else Dev(parser.encode(dev)).scores(parser, threads)
    return replace(parser, about={**parsers[0].about, "dev": scores})


def _reports(parser: Parser, number: int) -> list[dict[str, Any]]:
    """The reports of a member's training, with its number from the second on."""
    suffix = "" if number == 1 else f" {number}"
    return [{**report, "stage": f"{report['stage']}{suffix}"} for report in parser.about["epochs"]]
