"""`arbora serve`: the page and the JSON API."""

from __future__ import annotations

import ipaddress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

import arbora
from arbora.cli.files import existing_model_if_given, say, session
from arbora.errors import InputError
from arbora.storage.bundled import DEFAULT, EXAMPLES, is_bundled
from arbora.web.api import Limits

DEFAULTS = Limits()


def serve_model(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            callback=existing_model_if_given,
            help="From `arbora train`; without it, the English model that comes with Arbora.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name under which browsers may call; addresses and localhost always may.",
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = DEFAULTS.body,
    max_sentences: Annotated[int, typer.Option(min=1, help="Of a request.")] = DEFAULTS.sentences,
    max_words: Annotated[int, typer.Option(min=1, help="Of a sentence.")] = DEFAULTS.words,
    threads: Annotated[int, typer.Option(min=1, help="Requests computed at a time.")] = DEFAULTS.running,
    queue: Annotated[int, typer.Option(min=0, help="Requests that wait; more get 503.")] = DEFAULTS.waiting,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for a request.")] = DEFAULTS.seconds,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line per request.")] = False,
) -> None:
    """Serve a page to type text on, and see trees, how sure they are, and what else they could be.

    Nothing leaves this machine, and nobody else's can call it, unless --host says so. Ctrl-C ends it.

    Examples:

    - `arbora serve`
    - `arbora serve -m da.arbora --port 9000 --quiet`
    """
    if find_spec("uvicorn") is None:
        raise typer.BadParameter("serve needs uvicorn: pip install 'arbora[serve]'")
    from arbora.web.server import Application, listen, serve
    from arbora.web.serving import make_engine

    limits = Limits(
        body=max_body,
        sentences=max_sentences,
        words=max_words,
        ranked_words=min(max_words, DEFAULTS.ranked_words),
        ranked_sentences=min(max_sentences, DEFAULTS.ranked_sentences),
        running=threads,
        waiting=queue,
        seconds=timeout,
    )
    with session():
        bundled = DEFAULT if model is None else model if is_bundled(model) else None
        name = Path(model or DEFAULT).name if bundled is None else bundled.title()
        engine = make_engine(arbora.load(model), name, EXAMPLES.get(bundled or "", ""))
        application = Application(engine, limits, hosts=(host, *(allow_host or ())), quiet=quiet)
        try:
            bound = listen(host, port)
        except OSError as error:
            raise InputError(
                f"{host}, port {port}: cannot be listened on ({error.strerror or error}); try another --port"
            ) from None
        shown = f"[{host}]" if ":" in host else host
        say(f"serving {engine.name} on http://{shown}:{bound.getsockname()[1]}/ (Ctrl-C ends it)")
        if not _is_local(host):
            say("warning: other machines can reach this; there is no password")
        serve(application, bound)
        say("ended")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
