"""`arbora annotate`: a page to annotate a treebank, with a parser that learns from it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

import arbora
from arbora.cli import options
from arbora.cli.console import say
from arbora.data.raw_text import split_plainly
from arbora.data.sentence import Sentence
from arbora.data.treebank import is_treebank
from arbora.errors import DataError, InputError
from arbora.storage.files import read_text, replacing
from arbora.storage.models import find_model
from arbora.web.limits import Limits

if TYPE_CHECKING:
    from arbora.pipeline.pipeline import Pipeline

DEFAULTS = Limits()
FOLDER = ".annotation"


def command(
    file: str = options.argument(
        "FILE: A treebank in CoNLL-U, with trees or without; raw text, which becomes one; or their folder.",
    ),
    model: options.FirstModel = None,
    project: str | None = options.option(
        "--project DIR: Folder for the journal and the models (default: FILE's name, ending in .annotation).",
        default=None,
    ),
    every: int = typer.Option(50, min=0, help="Decisions after which a model is trained; 0: never."),
    trees: Literal["human", "parser"] = typer.Option(
        "human", help="Who made the trees of FILE: a parser never replaces a human's."
    ),
    host: str = typer.Option("127.0.0.1", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all."),
    port: int = typer.Option(8080, min=0, max=65535, help="Port; 0 for any free one."),
    allow_host: list[str] | None = options.option(
        "--allow-host NAME: Host name that browsers may use; localhost and IP addresses are always allowed.",
        default=None,
    ),
    max_words: int = typer.Option(DEFAULTS.words, min=1, help="Words per sentence."),
    language: str | None = options.option(
        "--ud LANGUAGE: Checks also validate with udtools, by the rules of Universal Dependencies for this "
        "language (da), or for all languages (ud). Needs pip install 'arbora-nlp[check]'.",
        default=None,
    ),
    seed: int = typer.Option(0, min=0, help="Random seed of learning, and of the held-out part."),
    quiet: bool = options.flag("--quiet -q: Do not log requests."),
) -> None:
    """Every change is saved in FILE at once. A parser proposes trees, learns from what you decide while you
    work, and never changes what you decided. Without a model, the first one is learned from the words alone.
    Nothing leaves this machine. Ctrl-C ends it.

    Examples:

    - `arbora annotate new.conllu`
    - `arbora annotate new.conllu -m da.arbora --every 100`
    - `arbora annotate story.txt`
    """
    missing = [name for name in ("msgspec", "starlette", "uvicorn") if find_spec(name) is None]
    if language is not None and find_spec("udtools") is None:
        raise typer.BadParameter("`--ud` needs udtools: pip install 'arbora-nlp[check]'")
    if missing:
        packages = " and ".join(missing)
        raise typer.BadParameter(f"`arbora annotate` needs {packages}: pip install 'arbora-nlp[serve]'")
    from arbora.annotation.learning import Learning
    from arbora.annotation.project import Limits as ProjectLimits
    from arbora.annotation.project import Project
    from arbora.web.annotation import make_application
    from arbora.web.network import listen, serve
    from arbora.web.server import is_address

    pipeline = None if model is None else arbora.load(model)
    treebank, folder = find_project(Path(file), project, pipeline)
    try:
        opened = Project(treebank, folder, ProjectLimits(words=max_words))
    except DataError as error:
        what = f"{error.what}; `arbora check {treebank}` lists all faults"
        raise DataError(what, source=error.source, line=error.line) from None
    try:
        if trees == "parser":
            opened.give_to_parser()
        path = None if model is None else str(Path(find_model(model)).resolve())
        name = "" if model is None else Path(model).name
        learning = Learning(opened, pipeline, name, path, every, seed, language)
        limits = Limits(words=max_words, ranked_words=min(max_words, DEFAULTS.ranked_words))
        application = make_application(
            opened, learning, limits, hosts=(host, *(allow_host or ())), quiet=quiet
        )
        try:
            bound = listen(host, port)
        except OSError as error:
            raise InputError(
                f"{host}, port {port}: cannot listen ({error.strerror or error}); try another --port"
            ) from None
        shown = f"[{host}]" if ":" in host else host
        for note in opened.store.notes:
            say(note)
        say(f"annotating {treebank} on http://{shown}:{bound.getsockname()[1]}/ (Ctrl-C ends it)")
        is_local = ipaddress.ip_address(host).is_loopback if is_address(host) else host == "localhost"
        if not is_local:
            say("warning: other machines can reach this and change the treebank; there is no password")
        learning.open()
        try:
            serve(application, bound, limits)
        finally:
            learning.close()
    finally:
        opened.close()
    say("ended; all changes are saved")


def find_project(given: Path, folder: str | None, pipeline: Pipeline | None) -> tuple[Path, Path]:
    """The treebank and the project's folder; raw text becomes a treebank beside it."""
    if given.is_dir():
        found = sorted(given.glob("*.conllu"))
        if len(found) != 1:
            raise typer.BadParameter(f"{given}: expected a folder with one .conllu file, got {len(found)}")
        return found[0], Path(folder) if folder else given
    if not given.is_file():
        raise typer.BadParameter(f"{given}: no such file")
    treebank = given
    with given.open("rb") as stream:
        start = stream.read(1 << 16)
    if b"\0" in start:
        raise typer.BadParameter(f"{given}: expected CoNLL-U or text, got a binary file; models go with -m")
    has_columns = is_treebank(str(given), start)
    if has_columns and not given.name.endswith(".conllu"):
        raise typer.BadParameter(
            f"{given}: expected CoNLL-U; convert it first: arbora convert {given} -o NAME.conllu"
        )
    if not has_columns:
        treebank = given.with_suffix(".conllu")
        if treebank.exists():
            say(f"going on with {treebank}, which exists; {given} is not read again")
        else:
            segment(given, treebank, pipeline)
    return treebank, Path(folder) if folder else treebank.with_suffix(FOLDER)


def segment(source: Path, target: Path, pipeline: Pipeline | None) -> None:
    """Split raw text into sentences and words, by the model's segmenter or by rules."""
    text = "".join(read_text(str(source))).removeprefix("\ufeff")
    if pipeline is not None and pipeline.segmenter is not None:
        sentences = list(pipeline.segment(text).columns.sentences())
    else:
        sentences = list(split_by_rules(text))
    if not sentences:
        raise DataError("expected text with words, got none", source=str(source))
    with replacing(target, durable=True) as stream:
        for sentence in sentences:
            stream.write(sentence.to_conllu().encode())


def split_by_rules(text: str) -> Iterator[Sentence]:
    """Sentences by rules, with the comments that a segmenter writes: numbers and paragraphs."""
    numbers = count(1)
    for paragraph in re.split(r"\n[^\S\n]*\n", text):
        for place, sentence in enumerate(split_plainly(paragraph)):
            own = [*(["# newpar"] if place == 0 else []), f"# sent_id = {next(numbers)}"]
            yield replace(sentence, comments=(*own, *sentence.comments))
