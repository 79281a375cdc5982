"""`arbora data`: treebanks of Universal Dependencies by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arbora.cli.console import Table, complain, counted, print_json, say, show, show_line, stopped
from arbora.cli.options import argument, flag, json_option, option, usage_errors
from arbora.cli.progress import TerminalProgress
from arbora.errors import DataError, DownloadError, InputError
from arbora.storage.ud import folders
from arbora.storage.ud.folders import EXAMPLE, Folder, TreebankName, find, installed, language_of

if TYPE_CHECKING:
    from arbora.storage.ud.github import Catalogue

# Modules that use the network are imported where they are used, to keep `data list --installed` fast.

command = typer.Typer(no_args_is_help=True)


def chosen_folder(path: Path | None) -> Path:
    """Return the folder of treebanks: the given one, or the default."""
    chosen = path or folders.data_folder()
    if chosen.exists() and not chosen.is_dir():
        raise typer.BadParameter(f"{chosen}: expected a folder, got a file")
    return chosen


DataOption = Annotated[
    Path | None,
    option(
        "--data DIR: Folder of treebanks, each in its own folder. Default: one in your cache.",
        envvar=folders.VARIABLE,
    ),
]
UrlOption = Annotated[
    str | None,
    option(
        "--url URL: A mirror to use instead of GitHub: https, or http on this computer.",
        envvar="ARBORA_UD_URL",
    ),
]


def open_catalogue(url: str | None, note: Callable[[str], None]) -> Catalogue:
    """Return the list of treebanks on GitHub, or on a mirror."""
    from arbora.storage.ud.github import Catalogue, Client

    try:
        return Catalogue(Client(note=note), url)
    except DownloadError as error:
        raise typer.BadParameter(f"--url: {error}") from None


@command.command("list")
def list_treebanks(
    words: list[str] | None = argument(
        "[LANGUAGE]: Words that names must contain: danish, old french.", default=None
    ),
    only_installed: bool = flag("--installed: Only treebanks on disk; does not use the network."),
    folder: DataOption = None,
    url: UrlOption = None,
    as_json: bool = json_option("a list of objects"),
) -> None:
    """List treebanks of Universal Dependencies, and those on disk with release, size and licence.

    Without a network connection, lists those on disk.

    Examples: arbora data list danish; arbora data list --installed --json
    """
    place = chosen_folder(folder)
    here = {found.name: found for found in installed(place)}
    remote: dict[str, int] = {}
    if not only_installed:
        try:
            remote = open_catalogue(url, lambda text: say(f"note: {text}")).repositories()
        except DownloadError as error:
            say(f"note: {error}")
            say(f"note: so this lists what is in {place}")
    parts = [word.replace("_", " ").lower() for word in words or []]
    names = {name: name.replace("_", " ").lower() for name in sorted({*here, *remote})}
    found = [name for name, text in names.items() if all(part in text for part in parts)]
    rows = [_described(name, remote.get(name), here.get(name)) for name in found]
    if as_json:
        print_json(rows)
        return
    if not rows:
        wanted = f" with {' '.join(words)} in its name" if words else ""
        say(f"note: no treebank{wanted}; {place} holds {counted(len(here), 'treebank')}")
        return
    cells = []
    for row in rows:
        is_here = row["release"] or ("yes" if row["bytes"] is not None else "")
        sizes = map(_megabytes, (row["bytes"], row["repository_bytes"]))
        cells.append([row["name"], is_here, *sizes, row["licence"]])
    show([Table("", ["treebank", "here", "MB", "repository MB", ""], cells)])
    say(f"{counted(len(rows), 'treebank')}, {sum(row['bytes'] is not None for row in rows):,} in {place}")


def _described(name: str, repository_size: int | None, here: Folder | None) -> dict[str, Any]:
    release = licence = None
    if here is not None:
        try:
            licence = here.origin.licence
            release = here.manifest.release if here.manifest else None
        except DataError as error:
            say(f"warning: {error}")
    return {
        "name": name,
        "language": language_of(name),
        "release": release,
        "bytes": None if here is None else here.size,
        "parts": [] if here is None else list(here.parts),
        "folder": None if here is None else str(here.path),
        "licence": licence,
        "repository_bytes": repository_size,
    }


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:,.1f}"


@command.command("get")
def get_treebanks(
    names: list[str] = argument(f"NAME: Treebanks, such as {EXAMPLE}, or {EXAMPLE}_r2.14."),
    replace: bool = flag("--replace: Download the newest release again, even if a copy exists."),
    folder: DataOption = None,
    url: UrlOption = None,
    quiet: bool = flag("--quiet -q: Show no progress."),
    as_json: bool = json_option("a list of manifests"),
) -> None:
    """Download treebanks by name, check every file, and show their licences.

    Downloads the newest release, or the one at the end of the name. The same command resumes an
    interrupted download. `arbora train NAME` then trains on the treebank.

    Examples: arbora data get UD_Danish-DDT; arbora data get UD_Danish-DDT_r2.14 --data treebanks
    """
    place = chosen_folder(folder)
    with usage_errors():
        wanted = [TreebankName.parse(name) for name in names]
    found = []
    for name in wanted:
        found.append(require_treebank(name, place, url, replace=replace, quiet=quiet))
        if not as_json:
            _print_treebank(found[-1])
    if as_json:
        manifests = [
            {"name": each.name} if each.manifest is None else each.manifest.to_json() for each in found
        ]
        print_json([{**m, "folder": str(each.path)} for m, each in zip(manifests, found, strict=True)])


def require_treebank(
    name: TreebankName, place: Path, url: str | None, *, replace: bool = False, quiet: bool = False
) -> Folder:
    """Return a treebank on disk; it is downloaded if it is not there, or with `replace`."""
    there = None if replace else _intact(name, place)
    if there is None:
        return _download(name, place, url, replace=replace, quiet=quiet)
    if not quiet:
        say(f"note: {name.folder} is in {place} already; `arbora data get --replace` downloads it again")
    return there


def _intact(name: TreebankName, place: Path) -> Folder | None:
    """Return the treebank on disk, if there is one; DataError if it is damaged."""
    path = place / name.folder
    if not path.exists():
        return None
    folder = find(str(path))
    if folder.manifest is not None and (faults := list(folder.manifest.faults(path))):
        raise DataError(f"damaged: {'; '.join(faults)} (--replace downloads it again)", source=str(path))
    return folder


def _download(name: TreebankName, place: Path, url: str | None, *, replace: bool, quiet: bool) -> Folder:
    from arbora.storage.ud.download import download

    progress = TerminalProgress(quiet=quiet)
    catalogue = open_catalogue(url, progress.note)
    try:
        with progress:
            return download(name, place, catalogue, progress, replace=replace)
    except KeyboardInterrupt:
        raise stopped(f"; the same command resumes the download of {name.folder}") from None


def _print_treebank(folder: Folder) -> None:
    origin = folder.origin
    parts = ", ".join(
        f"{part} {_megabytes(sum(path.stat().st_size for path in paths))} MB"
        for part, paths in folder.parts.items()
    )
    show_line(f"{origin.name}: {parts}")
    show_line(f"folder: {folder.path}")
    show_line(f"licence: {origin.licence or 'not stated; read its README before you use it'}")
    show_line(f"attribution: {origin.attribution}")
    if folder.manifest is not None and not folder.manifest.includes_text:
        say(f"warning: {folder.name} comes without its words; its README says where to get them")
    if "train" in folder.parts:
        show_line(f"`arbora train {folder.name}` trains a parser on it")


@command.command("check")
def check_treebanks(
    names: list[str] | None = argument("[NAME]: Treebanks on disk (default: all).", default=None),
    folder: DataOption = None,
) -> None:
    """Compare treebanks on disk with the checksums of their download.

    Exit status 1 if a file is missing or has changed. Treebanks that `arbora data get` did not download have
    no checksums.

    Examples: arbora data check; arbora data check UD_Danish-DDT
    """
    place = chosen_folder(folder)
    there = {each.name: each for each in installed(place)}
    for name in names or []:
        if name not in there:
            raise InputError(f"{name}: {folders.advice(name, place) or f'no treebank in {place}'}")
    if not there:
        say(f"note: there are no treebanks in {place}")
    damaged = 0
    for each in (there[name] for name in names or there):
        if each.manifest is None:
            show_line(f"{each.name}: no checksums, since `arbora data get` did not download it")
            continue
        faults = list(each.manifest.faults(each.path))
        damaged += bool(faults)
        show_line(f"{each.name} {each.manifest.release}: {'damaged' if faults else 'intact'}")
        for fault in faults:
            show_line(f"  {fault}")
    if damaged:
        complain(f"{counted(damaged, 'treebank')} damaged; `arbora data get NAME --replace` restores it")
        raise typer.Exit(1)
