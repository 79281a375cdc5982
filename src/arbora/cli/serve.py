"""`arbora serve`: the page and the JSON API."""

from __future__ import annotations

import ipaddress
import re
from importlib.util import find_spec
from pathlib import Path

import typer

import arbora
from arbora.cli import options
from arbora.cli.console import say
from arbora.errors import InputError
from arbora.storage.models import DEFAULT, EXAMPLES
from arbora.web.limits import Limits

DEFAULTS = Limits()
ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")


def _check_origin(url: str) -> None:
    """Check that a URL is an origin: scheme, host and port, as browsers send it."""
    if not ORIGIN.fullmatch(url):
        raise typer.BadParameter(
            f"{url}: expected an origin such as https://example.org or http://localhost:3000"
        )


def command(
    model: options.Model = None,
    host: str = typer.Option("127.0.0.1", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all."),
    port: int = typer.Option(8080, min=0, max=65535, help="Port; 0 for any free one."),
    allow_host: list[str] | None = options.option(
        "--allow-host NAME: Host name that browsers may use; localhost and IP addresses are always allowed.",
        default=None,
    ),
    allow_origin: list[str] | None = options.option(
        "--allow-origin URL: Another page whose scripts may send UDPipe's requests, such as https://example.org.",
        default=None,
    ),
    models: str | None = options.option(
        "--models FOLDER: Also answer Arborator's backend, and store the models that it trains here.",
        default=None,
    ),
    max_body: int = typer.Option(DEFAULTS.body, min=1, help="Bytes per request."),
    max_sentences: int = typer.Option(DEFAULTS.sentences, min=1, help="Sentences per request."),
    max_words: int = typer.Option(DEFAULTS.words, min=1, help="Words per sentence."),
    max_work: int = typer.Option(
        DEFAULTS.work, min=1, help="Sum of the cubed lengths of a request's sentences, which bounds its time."
    ),
    max_connections: int = typer.Option(DEFAULTS.connections, min=1, help="Open connections."),
    threads: int = typer.Option(
        DEFAULTS.running, min=1, help="Large requests computed in parallel; small ones have one more thread."
    ),
    queue: int = typer.Option(DEFAULTS.waiting, min=0, help="Longest queue of requests."),
    timeout: float = typer.Option(DEFAULTS.seconds, min=1, help="Seconds per request."),
    silence: float = typer.Option(
        DEFAULTS.silence, min=1, help="Seconds for a client to begin a request and to send its headers."
    ),
    quiet: bool = options.flag("--quiet -q: Do not log requests."),
) -> None:
    """The page shows trees, their probabilities and alternative trees. Nothing leaves this machine, and no
    other machine can call it unless you set --host. Ctrl-C ends it.

    Examples:

    - `arbora serve`
    - `arbora serve -m da.arbora --port 9000 --quiet`
    - `arbora serve --models models --max-body 50000000`
    """
    missing = [name for name in ("msgspec", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        packages = " and ".join(missing)
        raise typer.BadParameter(f"`arbora serve` needs {packages}: pip install 'arbora-nlp[serve]'")
    for origin in allow_origin or ():
        _check_origin(origin)
    from arbora.web.network import listen, serve
    from arbora.web.server import is_address, make_application
    from arbora.web.serving import Engine

    limits = Limits(
        body=max_body,
        sentences=max_sentences,
        words=max_words,
        ranked_words=min(max_words, DEFAULTS.ranked_words),
        ranked_sentences=min(max_sentences, DEFAULTS.ranked_sentences),
        work=max_work,
        connections=max_connections,
        running=threads,
        waiting=queue,
        seconds=timeout,
        silence=silence,
    )
    bundled = DEFAULT if model is None else model if model in EXAMPLES and not Path(model).exists() else None
    name = Path(model or DEFAULT).name if bundled is None else bundled.title()
    engine = Engine(arbora.load(model), name, EXAMPLES.get(bundled or "", ""))
    application = make_application(
        engine,
        limits,
        hosts=(host, *(allow_host or ())),
        origins=tuple(allow_origin or ()),
        models=None if models is None else Path(models),
        quiet=quiet,
    )
    try:
        bound = listen(host, port)
    except OSError as error:
        raise InputError(
            f"{host}, port {port}: cannot listen ({error.strerror or error}); try another --port"
        ) from None
    shown = f"[{host}]" if ":" in host else host
    say(f"serving {engine.name} on http://{shown}:{bound.getsockname()[1]}/ (Ctrl-C ends it)")
    is_local = ipaddress.ip_address(host).is_loopback if is_address(host) else host == "localhost"
    if not is_local:
        say("warning: other machines can reach this; there is no password")
    serve(application, bound, limits)
    say("ended")
