"""`paddock top`: the command. Imports textual only when there is a screen to draw on."""

from __future__ import annotations

import os
import sys

import click

HOW_TO_GET_IT = "pip install '.[tui]' in paddock's checkout"


@click.command("top")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@click.option("--json", "as_json", is_flag=True, help="One look as one JSON object, no dashboard.")
def command(*, no_mouse: bool, as_json: bool) -> None:
    """Watch the fleet: agents against their walls, the ladder, the queue, the log of one; and act.

    ? shows the keys, q quits; nothing that runs is touched by that. A daemon that is restarted
    meanwhile is waited for. Works over ssh, from 80 by 24 on, without colours (NO_COLOR) and
    without a mouse.

    \b
    Examples:
      paddock top
      ssh build-host -t paddock top
      paddock top --json | jq '.runs[] | [.name, .memory_bytes]'
    """
    if as_json:
        _print_look()
        return
    _check_terminal()
    _run(mouse=not no_mouse)


def _print_look() -> None:
    import msgspec

    from paddock.client import Client
    from paddock.client.faces import find_places
    from paddock.client.starting import ensure_daemon

    places = find_places()
    ensure_daemon(places)
    with Client(places) as client:
        look = {
            "status": client.status(),
            "runs": client.runs(),
            "memory": client.memory(recent=True),
        }
    click.echo(msgspec.json.format(msgspec.json.encode(look), indent=2).decode())


def _check_terminal() -> None:
    if not all(one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr)):
        raise click.ClickException(
            "top draws on a terminal, and this is none; in scripts use: paddock top --json"
        )
    term = os.environ.get("TERM", "")
    can = _abilities(term)
    if can == "none":
        raise click.ClickException(
            f"a terminal of the kind {term or 'nothing'!r} (TERM) cannot be drawn on; "
            "use: paddock status, paddock ls, or set TERM to what it is, such as xterm"
        )
    if can == "plain":
        os.environ["NO_COLOR"] = "1"


def _abilities(term: str) -> str:
    """`none`: nothing can be put anywhere on it; `plain`: no colours. One that this host has never
    heard of is a new one that can do everything."""
    import curses

    if term in ("", "dumb", "unknown"):
        return "none"
    try:
        curses.setupterm(term, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    except curses.error:
        return "all"
    if not curses.tigetstr("cup"):
        return "none"
    return "all" if curses.tigetnum("colors") >= 8 else "plain"


def _run(*, mouse: bool) -> None:
    try:
        import textual  # noqa: F401
    except ImportError:
        message = f"top needs the package textual, which is not installed; try: {HOW_TO_GET_IT}"
        raise click.ClickException(message) from None

    from paddock.client import AsyncClient
    from paddock.client.faces import find_places, log_lines
    from paddock.client.starting import ensure_daemon

    from .app import Top

    places, lines = find_places(), log_lines()
    ensure_daemon(places)
    Top(AsyncClient(places), log_lines=lines).run(mouse=mouse)
