"""What people read of the commands, made from their definitions: every option of every command.

`python -m paddock.cli.reference` prints the page that is kept as docs/reference/options.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from .main import cli

_INTRODUCTION = """\
# Options

<!-- Made by `python -m paddock.cli.reference` from the commands themselves. -->

Every option of every command, as `--help` has it. What the commands do, with examples and JSON,
is in [commands](commands.md).
"""


def page() -> str:
    return "\n".join([_INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    top = click.Context(cli, info_name="paddock")
    for ctx in _walk(cli, top):
        yield f"## {ctx.command_path}\n"
        yield f"`{_usage(ctx)}`\n"
        rows = [_row(option, ctx) for option in ctx.command.params if _is_told(option)]
        if rows:
            yield "| option | |\n|---|---|"
            yield "\n".join(rows) + "\n"


def _walk(command: click.Command, ctx: click.Context) -> Iterator[click.Context]:
    if not isinstance(command, click.Group):
        yield ctx
        return
    if ctx.parent is not None:
        yield ctx
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        assert below is not None
        yield from _walk(below, click.Context(below, parent=ctx, info_name=name))


def _usage(ctx: click.Context) -> str:
    return " ".join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)])


def _is_told(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.hidden


def _row(option: click.Parameter, ctx: click.Context) -> str:
    record = option.get_help_record(ctx)
    assert record is not None
    words, about = (part.replace("|", "\\|").replace("\n", " ") for part in record)
    return f"| `{words}` | {about} |"


if __name__ == "__main__":
    sys.stdout.write(page())
