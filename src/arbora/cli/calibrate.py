"""`arbora calibrate`: fit the probabilities of a model to another treebank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np

from arbora.cli import options
from arbora.cli.console import Table, counted, print_json, say, show
from arbora.cli.files import existing_model, not_an_input, treebank_files
from arbora.cli.training import read_treebanks
from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.evaluation.calibration import Calibration, measure
from arbora.interfaces import Query
from arbora.parsing.calibration import fit_temperatures
from arbora.parsing.model_file import recalibrated_parts
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import load
from arbora.storage.locks import locked
from arbora.storage.model_file import read_model, write_model
from arbora.storage.models import find_model
from arbora.training.annotation import check_treebank

ENOUGH = 100
"""Sentences from which temperatures can be fitted well."""


def command(
    model: Annotated[
        str, options.argument("MODEL: A model from `arbora train`, or english.", existing_model)
    ],
    treebank: Annotated[
        str,
        options.argument(
            "GOLD: Sentences with their right heads, at least 100 of them, not used in training; a name such "
            "as UD_Danish-DDT is its dev part."
        ),
    ],
    output: Annotated[str, options.option("--output -o MODEL: The model to write.", options.model_name)],
    retag: bool = options.flag("--retag: Predict the tags and lemmas of GOLD, as for raw text."),
    threads: options.Threads = 1,
    quiet: options.Quiet = False,
    as_json: bool = options.json_option("the calibration and its errors"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
) -> None:
    """Probabilities are calibrated on the dev set of a model's training. On other kinds of text, or where
    words are annotated in another way, they may be too high. This fits them to your sentences and writes a
    new model: its weights and trees are the same, and P(head) again says how many heads are right.

    The table shows the expected calibration error before and after. It is measured on sentences that were
    not used to fit: each half of GOLD is evaluated with the numbers fitted to the other half.

    Examples:

    - `arbora calibrate english letters.conllu --retag -o letters.arbora`
    - `arbora calibrate da.arbora UD_Danish-DDT/dev -o da-calibrated.arbora`
    """
    files = treebank_files(treebank, "dev")
    not_an_input(output, [model, *files])
    pipeline = load(model)
    parser = pipeline.parser
    parser.require(Query.MARGINALS)
    gold = read_treebanks(files, format, lenient=lenient, labelled=False)
    check_treebank(gold, "the treebank")
    if len(gold) < 2:
        raise InputError(f"{gold.source}: expected at least 2 sentences, got {len(gold)}", field="treebank")
    if len(gold) < ENOUGH and not quiet:
        say(f"note: {counted(len(gold), 'sentence')}; from {ENOUGH} on the result is reliable")
    gold = pipeline.prepare(gold, retag=retag, threads=threads)
    with locked(output):
        before, after = cross_validate(parser, gold, threads)
        fitted = fit_temperatures(parser, gold, threads=threads)
        write_model(output, *recalibrated_parts(read_model(find_model(model)), fitted))
    errors = {"before": before.ece, "after": after.ece}
    if as_json:
        numbers = {name: getattr(fitted, name) for name in ("trees", "labels", "missed")}
        size = Path(output).stat().st_size
        print_json({"model": output, "bytes": size, "calibration": numbers, "calibration_error": errors})
    elif not quiet:
        rows = [[name, f"{each:.4f}"] for name, each in errors.items()]
        show([Table("", ["P(head)", "calibration error"], rows)])


def cross_validate(parser: Parser, gold: Columns, threads: int) -> tuple[Calibration, Calibration]:
    """Calibration of P(head) before and after; each half is evaluated with a fit to the other."""
    halves = [gold.select(np.arange(start, len(gold), 2)) for start in (0, 1)]
    others = [fit_temperatures(parser, half, threads=threads) for half in reversed(halves)]
    fitted = [replace(parser, calibration=each) for each in others]
    return _measured([parser, parser], halves, threads), _measured(fitted, halves, threads)


def _measured(parsers: list[Parser], parts: list[Columns], threads: int) -> Calibration:
    found = [each.confidence(part, threads=threads) for each, part in zip(parsers, parts, strict=True)]
    right = [each.heads == part.heads for each, part in zip(found, parts, strict=True)]
    return measure(np.concatenate([each.head_probabilities for each in found]), np.concatenate(right))
