"""`paddock web`: the dashboard in a browser, for whoever started it."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn

import click

if TYPE_CHECKING:
    from .guard import Keys

PORT: Final = 7177
BAD_USAGE: Final = 2
NO_DAEMON: Final = 69


@click.command("web")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True,
              help="Where it listens; 0 takes a free one.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Dangerous: not encrypted. Leave it, and use ssh -L instead.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The link as a JSON object, one a line.")
def command(port: int, host: str, as_json: bool) -> None:  # noqa: FBT001 - click calls it
    """Serve the dashboard in the browser: charts, agents, logs, actions.

    Prints a link that works once and lets one browser in; Enter prints another. Nobody else gets
    anything. It runs until Ctrl-C, and the agents do not notice either way.

    From another machine: ssh -L 7177:localhost:7177 HOST, and open the link there.

    \b
    Examples:
      paddock web
      paddock web --port 8080
    """
    if importlib.util.find_spec("nicegui") is None:
        _leave(
            "the dashboard needs nicegui; get it with: pip install '.[web]' in paddock's checkout",
            BAD_USAGE,
        )
    bound = _bind(host, port)
    with bound:
        _serve(bound, host, as_json=as_json)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        where, why = f"{host}:{port}", error.strerror or str(error)
        _leave(f"cannot listen on {where}: {why}; choose another with --port", BAD_USAGE)


def _serve(bound: socket.socket, host: str, *, as_json: bool) -> None:
    from paddock.client import ClientError
    from paddock.client.faces import find_places
    from paddock.client.starting import ensure_daemon

    places = find_places()
    try:
        ensure_daemon(places)
    except ClientError as error:
        _leave(str(error), NO_DAEMON)
    from .guard import Keys, is_loopback
    from .serving import serve

    port = int(bound.getsockname()[1])
    keys = Keys(port=port)
    told = _teller(keys, _name(host), port, as_json=as_json)
    if not is_loopback(host):
        click.echo(
            f"paddock: {host} can be reached from elsewhere and nothing is encrypted: whoever "
            "listens on the way sees the link and everything after it. Prefer ssh -L.",
            err=True,
        )
    serve(places, bound, keys, host=host, told=told)


def _name(host: str) -> str:
    """As a link says it; where any address will do, by the name of this machine."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _teller(keys: Keys, host: str, port: int, *, as_json: bool) -> Callable[..., None]:
    """Says the link, and again whenever one was used or asked for."""

    def told(*, used: bool = False) -> None:
        if used and sys.stdin.isatty() and not as_json:
            click.echo("A browser is in. Enter prints a link for another one, Ctrl-C ends.")
            return
        url = f"http://{host}:{port}{keys.path}/?token={keys.new_token()}"
        if as_json:
            click.echo(json.dumps({"url": url, "host": host, "port": port}))
        else:
            click.echo(f"Open {url}\nIt works once. Ctrl-C ends the dashboard, not the agents.")

    return told


def _leave(message: str, code: int) -> NoReturn:
    click.echo(f"paddock: {message}", err=True)
    raise click.exceptions.Exit(code)
