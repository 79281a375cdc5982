"""`arbora ensemble`: several models in, one model out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from arbora.cli import options
from arbora.cli.console import Table, counted, print_json, say, show, show_scores
from arbora.cli.files import existing_model, not_an_input, treebank_files
from arbora.cli.training import read_treebanks
from arbora.data.columns import Columns
from arbora.data.encode import filled
from arbora.parsing.ensemble import ensemble
from arbora.parsing.ensemble_weights import fit_weights
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline, load
from arbora.pipeline.words import agreement
from arbora.progress import Scores
from arbora.storage.locks import locked
from arbora.training.annotation import check_treebank
from arbora.training.recipes import Dev

TOGETHER = "together"


def command(
    models: Annotated[
        list[str],
        options.argument(
            "MODEL: Two or more models from `arbora train`.", lambda names: list(map(existing_model, names))
        ),
    ],
    output: Annotated[str, options.option("--output -o MODEL: The model to write.", options.model_name)],
    dev: str | None = options.option(
        "--dev DEV: A treebank to fit the weights on, and to score each model and the ensemble on.",
        default=None,
    ),
    weights: options.Weights = None,
    retag: bool = options.flag("--retag: Predict the tags and lemmas of DEV, as for raw text."),
    threads: options.Threads = 1,
    quiet: options.Quiet = False,
    as_json: bool = options.json_option("weights and scores"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
) -> None:
    """The ensemble averages the probabilities of its models, each with its weight, and decodes one tree from
    them. The weights are those that predict the heads of DEV best; --weights sets others. DEV must not be
    part of the training data. The new model contains the others, and parses as slowly as all of them
    together. Its tags, lemmas and words of raw text are those of the first model.

    DEV is parsed with its own tags, as `arbora parse` does. If you will parse raw text, use --retag: models
    that read tags then get predicted ones, and the weights that fit those.

    Examples:

    - `arbora ensemble one.arbora two.arbora --dev dev.conllu -o both.arbora`
    - `arbora ensemble one.arbora two.arbora --dev UD_Danish-DDT/dev --retag -o both.arbora`
    - `arbora ensemble one.arbora two.arbora --weights 2,1 -o both.arbora`
    """
    if not 1 < len(models) == len(set(models)):
        raise typer.BadParameter("expected two or more models that are all different")
    if dev is None and weights is None:
        raise typer.BadParameter("missing option '--dev', to fit weights on, or '--weights', to set them")
    if dev is None and retag:
        raise typer.BadParameter("--retag predicts the tags of DEV, so it needs --dev; omit it")
    numbers = options.parse_weights(weights, len(models))
    files = [] if dev is None else treebank_files(dev, "dev")
    not_an_input(output, [*models, *files])
    with locked(output):
        pipelines = [load(model) for model in models]
        parsers = [pipeline.parser for pipeline in pipelines]
        columns = None
        if dev is not None:
            columns = read_treebanks(files, format, lenient=lenient, labelled=False, partial=True)
            check_treebank(columns, "the dev treebank", partial=True)
            if retag and not quiet:
                _compare_tags(models, pipelines, columns, threads)
            columns = pipelines[0].prepare(columns, retag=retag, threads=threads)
        if columns is not None and numbers is None:
            for model, each in zip(models, parsers, strict=True):
                if not each.is_calibrated and not quiet:
                    say(f"note: {model} is not calibrated; `arbora calibrate` fits its probabilities")
            if not quiet:
                say(f"{columns.source}: fitting weights on {counted(columns.words, 'word')}")
            numbers = fit_weights(parsers, columns, threads=threads)
        parser = ensemble(parsers, numbers)
        scores: list[Scores] = []
        for name, each in zip([*models, TOGETHER], [*parsers, parser], strict=True):
            scores += [{} if columns is None else Dev(each.encode(columns)).scores(each, threads)]
            if scores[-1] and not quiet:
                say(f"{name}: {show_scores(scores[-1])}")
        _combined(pipelines, parser, scores[-1]).save(output)
    search: Any = parser.search
    rows = list(zip(models, search.weights, scores[:-1], strict=True))
    if as_json:
        members = [{"model": model, "weight": weight, "dev": own} for model, weight, own in rows]
        size = Path(output).stat().st_size
        print_json({"model": output, "bytes": size, "dev": scores[-1], "members": members})
    elif not quiet:
        measures = list(scores[-1])
        table = [[model, f"{weight:.3f}", *map(own.get, measures)] for model, weight, own in rows]
        table += [[TOGETHER, "", *scores[-1].values()]] if measures else []
        show([Table("", ["", "weight", *map(str.upper, measures)], table)])


def _compare_tags(models: Sequence[str], pipelines: Sequence[Pipeline], dev: Columns, threads: int) -> None:
    """Say so if another model than the first, whose tags are used, tags better."""
    if not filled(dev, "upos"):
        return
    scores = {
        model: agreement(pipeline.prepare(dev, retag=True, threads=threads), dev, "upos")
        for model, pipeline in zip(models, pipelines, strict=True)
        if pipeline.annotator is not None
    }
    best = max(scores, key=scores.__getitem__, default=models[0])
    if models[0] in scores and scores[best] > scores[models[0]] + 0.1:
        what = f"{best} tags better than {models[0]} (UPOS {scores[best]:.2f}, {scores[models[0]]:.2f})"
        say(f"note: {what}; named first, its tags are used")


def _combined(pipelines: Sequence[Pipeline], parser: Parser, scores: Scores) -> Pipeline:
    """The first pipeline with another parser, the scores on dev, and the data of all."""
    first = pipelines[0]
    dev, data = first.about.get("dev"), [pipeline.about.get("data") for pipeline in pipelines]
    own = dev if isinstance(dev, dict) else {}
    tags = {name: score for name, score in own.items() if name not in ("las", "uas")}
    about: dict[str, Any] = {"dev": {**tags, **scores}}
    if used := [each for part in data if isinstance(part, list) for each in part]:
        about["data"] = [each for i, each in enumerate(used) if each not in used[:i]]
    parser = replace(parser, about={**about, "dev": scores})
    return replace(first, parser=parser, about=about)
