"""A click group that imports a command's module only when that command is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click


class Entry(NamedTuple):
    """Where a command lives (its module, and its name there) and what it does, in one line."""

    module: str
    summary: str
    name: str = "command"


class LazyGroup(click.Group):
    """Answers `--help` and unknown names from its table alone."""

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, Entry],
        meant: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.table = table
        self.meant = meant or {}  # what other programs call it

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self.table:
            return None
        entry = self.table[cmd_name]
        command = getattr(importlib.import_module(entry.module), entry.name)
        assert isinstance(command, click.Command), f"{entry.module}.{entry.name} is no command"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and args[0] not in self.table and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:  # that is the shell, which wants no errors
            near = self._nearest(args[0])
            hint = f" Did you mean {near}?" if near else ""
            ctx.fail(f"there is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def _nearest(self, name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, self.table, n=1)
        return self.meant.get(name) or (repr(near[0]) if near else "")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.table[name].summary) for name in self.list_commands(ctx)]
            )
