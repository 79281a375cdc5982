"""`arbora get`: from the name of a language to an installed model. `arbora list models` lists them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import typer

from arbora.cli import options, training
from arbora.cli.console import say, show_line, show_seconds
from arbora.cli.data import DataOption, UrlOption, chosen_folder, open_catalogue, require_treebank
from arbora.cli.train import CHECKPOINT, TrainingOutput
from arbora.errors import DataError, DownloadError
from arbora.storage.model_file import read_model
from arbora.storage.models import BUNDLED, model_path, named_models
from arbora.storage.models import NAME as MODEL_NAME
from arbora.storage.ud.folders import TREEBANK, Folder, TreebankName, installed, language_of
from arbora.training.config import TrainConfig
from arbora.training.pipeline import train
from arbora.training.resolve import choose_parser

HELD_OUT = "10%"
SECONDS_PER_WORD = {"neural": 1e-2}
OTHERWISE = 2e-3
"""Of training a parser on one core, by and large."""


def command(
    name: str = options.argument("NAME: A language (danish, old_french), or a treebank (UD_Danish-DDT)."),
    threads: options.AllThreads = None,
    replace_it: bool = options.flag("--replace: Train the model again, even if there is one."),
    folder: DataOption = None,
    url: UrlOption = None,
    quiet: options.Quiet = False,
    as_json: bool = options.json_option("scores, epochs and the whole configuration"),
) -> None:
    """Download the largest treebank of the language, or the one that is named, unless it is on disk; train
    on it the parser that `arbora train` would choose, with segmenter, tagger and lemmatizer; and install the
    model, so that `arbora parse -m danish` and `arbora.load("danish")` find it. A treebank without a dev part
    is evaluated and calibrated on a tenth of its sentences, which are held out. Ctrl-C interrupts; the same
    command continues. Models are put in a folder of the user's cache, or in ARBORA_MODELS.

    Examples:

    - `arbora get danish`
    - `arbora get UD_Danish-DDT --threads 2`
    - `arbora list models`
    """
    threads = threads or os.cpu_count() or 1
    model = _plain(name.removeprefix("UD_"))
    if model in BUNDLED:
        raise typer.BadParameter(f"{name} comes with Arbora: -m {model}; to train another, name a treebank")
    if not MODEL_NAME.fullmatch(model):
        raise typer.BadParameter(f"expected a language or a treebank, got {name!r}")
    target = model_path(model)
    resume = Path(f"{target}{CHECKPOINT}").exists() and not replace_it
    if target.exists() and not replace_it and not resume:
        say(f"note: {model} is installed already ({target}); --replace trains it again")
        return
    if resume and not quiet:
        say("continuing the interrupted training after its last finished epoch")
    treebank = _treebank(name, chosen_folder(folder), url, quiet=quiet)
    if treebank.manifest is not None and not treebank.manifest.includes_text:
        raise DataError("comes without its words; its README says where to get them", source=treebank.name)
    has_dev = "dev" in treebank.parts
    chosen = training.choose_treebanks([str(treebank.path)], None if has_dev else HELD_OUT, quiet=quiet)
    config = TrainConfig()
    columns, dev = chosen.read("auto", config, lenient=True, partial=False)
    if not quiet:
        if not has_dev:
            say(f"note: no dev part: {HELD_OUT} of the sentences are held out to evaluate and calibrate on")
        licence = treebank.origin.licence or "not stated; read its README before you use it"
        say(f"licence of {treebank.name}: {licence}")
        kind = choose_parser(config, columns)[0].kind
        time = SECONDS_PER_WORD.get(kind, OTHERWISE) * columns.words / min(threads, 2)
        say(f"training on {columns.words:,} words: about {show_seconds(time)} (parser {kind})")
    target.parent.mkdir(parents=True, exist_ok=True)
    learn = partial(train, columns, dev, config=config, threads=threads)
    again = f"`arbora get {name}`"
    output = TrainingOutput(str(target), True, None, None, resume, None, quiet, as_json, again=again)
    output.run(learn, chosen, dev, threads)
    if not quiet and not as_json:
        show_line(f"installed: arbora parse -m {model} TEXT, or arbora.load({model!r})")


def _treebank(name: str, data: Path, url: str | None, *, quiet: bool) -> Folder:
    """The treebank of a name, or the largest of a language: from disk, else downloaded."""
    here = {each.name: each for each in installed(data) if "train" in each.parts}
    if name in here:
        return here[name]
    if name.startswith("UD_"):
        with options.usage_errors():
            return require_treebank(TreebankName.parse(name), data, url, quiet=quiet)
    language = _plain(name)
    if found := _of_language(language, {each: folder.size for each, folder in here.items()}):
        return here[found]
    try:
        remote = open_catalogue(url, lambda text: say(f"note: {text}")).repositories()
    except DownloadError:
        if not (near := _near(language, here)):
            listed = ", ".join(sorted({_language(each) for each in here})) or "none"
            say(f"note: languages on disk: {listed}; others need a network")
            raise
        what = f"{name}: no treebank of such a language on disk, and no network"
        raise typer.BadParameter(f"{what}; did you mean {near}?") from None
    if found := _of_language(language, remote):
        return require_treebank(TreebankName.parse(found), data, url, quiet=quiet)
    near = _near(language, (*remote, *here))
    advice = f"did you mean {near}?" if near else "`arbora list models` shows them"
    raise typer.BadParameter(f"{name}: no treebank of such a language; {advice}")


def _near(language: str, treebanks: Iterable[str]) -> str:
    """Similar names of languages; empty if there are none."""
    known = sorted({_language(each) for each in treebanks} - {""})
    return " or ".join(difflib.get_close_matches(language, known, n=3, cutoff=0.7))


def _of_language(language: str, sizes: dict[str, int]) -> str | None:
    """The largest treebank of a language."""
    own = [name for name in sizes if _language(name) == language]
    return max(own, key=lambda name: sizes[name], default=None)


def _language(name: str) -> str:
    """The language of a treebank, as it is given on the command line; empty for other folders."""
    return _plain(language_of(name)) if TREEBANK.match(name) else ""


def _plain(name: str) -> str:
    """A name as models have it: `old_french`."""
    return name.lower().replace(" ", "_")


# ---------------------------------------------------------------- arbora list models


def model_names() -> list[str]:
    """Models that are there, and languages that have a treebank."""
    return [*named_models(), *(language for language in _obtainable() if language not in named_models())]


def described_model(name: str) -> dict[str, Any]:
    """Describe a model, or the treebank that `arbora get` would use."""
    if name not in named_models():
        return {
            "name": name,
            "state": "obtainable",
            "treebank": _obtainable()[name],
            "summary": f"arbora get {name}",
            "file": None,
            "bytes": None,
            "dev": {},
        }
    path = named_models()[name]
    about = read_model(path).metadata.get("about", {})
    data, dev = about.get("data", []), about.get("dev", {})
    is_whole = not Path(f"{path}{CHECKPOINT}").exists()
    las = f", LAS with subtypes {dev['las']:.1f} on its dev set" if "las" in dev else ""
    return {
        "name": name,
        "state": "bundled" if name in BUNDLED else "installed" if is_whole else "interrupted",
        "treebank": " + ".join(each["name"] for each in data),
        "summary": f"{path.stat().st_size / 1e6:.1f} MB{las}" if is_whole else f"arbora get {name} continues",
        "file": str(path),
        "bytes": path.stat().st_size,
        "dev": dev,
    }


@cache
def _obtainable() -> dict[str, str]:
    """Languages with a treebank on disk or on the network, and the treebank that `arbora get` would use."""
    here = {each.name: each.size for each in installed() if "train" in each.parts}
    sizes = {name: size for name, size in here.items() if _language(name)}
    try:
        remote = open_catalogue(None, lambda text: say(f"note: {text}")).repositories()
    except DownloadError as error:
        say(f"note: {error}")
        say("note: so this lists only languages with a treebank on disk")
        remote = {}
    on_disk = {_language(name) for name in sizes}
    sizes |= {name: size for name, size in remote.items() if _language(name) not in on_disk}
    largest = {_language(name): name for name in sorted(sizes, key=sizes.__getitem__)}
    return dict(sorted(largest.items()))
