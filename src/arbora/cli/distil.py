"""`arbora distil`: a teacher, raw text and a treebank in, a student out."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from arbora.cli import options, training
from arbora.cli.files import existing_file, existing_model, not_an_input
from arbora.cli.train import TrainingOutput
from arbora.pipeline.pipeline import load
from arbora.training.config import TrainConfig
from arbora.training.silver import SilverSettings, distil

FOLDER = ".silver"
SILVER = "words shortest longest least least_head share targets"
"""Settings of silver data that are options."""


@options.setting_options(SilverSettings, SILVER)
@options.setting_options(TrainConfig, f"{training.SHARED} tags", **training.CHECKS)
def command(
    teacher: Annotated[
        str, options.argument("TEACHER: A model from `arbora train` or `arbora ensemble`.", existing_model)
    ],
    raw: Annotated[str, options.argument("TEXT: A file of raw text, compressed or not.", existing_file)],
    gold: Annotated[list[str], options.option("--gold TRAIN: Treebanks to train on, too. Repeatable.")],
    output: Annotated[str, options.option("--output -o STUDENT: The model to write.", options.model_name)],
    dev: str | None = options.option(
        "--dev DEV: As of `arbora train`: a treebank to evaluate each epoch on.", default=None
    ),
    folder: str | None = options.option(
        f"--silver FOLDER: Where the parsed text is kept, for other students, too. Default: STUDENT{FOLDER}.",
        default=None,
    ),
    config: options.Config = None,
    parameters: training.Parameters = None,
    epochs: training.Epochs = None,
    threads: options.AllThreads = None,
    compact: training.Compact = None,
    licence: options.Licence = None,
    attribution: options.Attribution = None,
    resume: bool = options.flag("--resume: Resume an interrupted training."),
    quiet: options.Quiet = False,
    as_json: bool = options.json_option("scores, epochs and the whole configuration"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
    **given: Any,
) -> None:
    """The teacher parses TEXT, piece by piece, into the folder of silver trees; pieces that are there already
    are not parsed again. The student is trained on them and on TRAIN, with the options of `arbora train`, and
    has the teacher's segmenter. A small network learns most of what a large one, a transformer or an ensemble
    knows, and is as fast as before.

    Examples:

    - `arbora distil large.arbora text.txt.gz --gold UD_English-EWT -o small.arbora --parser neural --compact`
    - `arbora distil both.arbora text.txt --gold train.conllu --dev dev.conllu -o cube.arbora --parser cube`
    """
    threads = threads or os.cpu_count() or 1
    chosen = training.choose_treebanks(gold, dev, quiet=quiet)
    inputs = [*chosen.train, *chosen.dev, teacher, raw, config]
    not_an_input(output, [*inputs, given["vectors"], given["text"]])
    chosen_silver = {name: given.pop(name) for name in SILVER.split()}
    chosen_config = training.chosen_config(config, parameters, epochs, given)
    with options.usage_errors():
        silver = SilverSettings(**{name: value for name, value in chosen_silver.items() if value is not None})
        may_be_partial = chosen_config.learns_from_parts
    if silver.least_head and not may_be_partial:
        raise typer.BadParameter("--least-head: this parser learns from whole trees; try --loss crf")
    columns, dev_columns = chosen.read(format, chosen_config, lenient=lenient, partial=may_be_partial)
    silver_folder = folder or f"{output}{FOLDER}"
    learn = partial(
        distil,
        load(teacher),
        raw,
        columns,
        dev_columns,
        folder=silver_folder,
        config=chosen_config,
        silver=silver,
        threads=threads,
    )
    own = TrainingOutput(output, compact, licence, attribution, resume, None, quiet, as_json)
    output_to = replace(own, kept=f"; {silver_folder} holds what is parsed, and is used again")
    output_to.run(learn, chosen, dev_columns, threads)
