"""`paddock report`: use over time, forecast, right-sizing, cost and scorecard, from own history."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from .connecting import connected
from .exits import CommandError
from .here import settings_here
from .params import DurationType
from .printing import coloured, echo_json, note, terminal_width

if TYPE_CHECKING:
    from paddock.config.settings import Settings
    from paddock.wire.history_views import HistoryView

    from .reporting import Prices

DAY_S: Final = 86400.0
LONGEST_S: Final = 90 * DAY_S
STEP_S: Final = 3600
FINE_STEP_S: Final = 300
FINE_UNTIL_S: Final = 2 * DAY_S
MINUTE_S: Final = 60
MINUTES_UNTIL_S: Final = 6 * 3600.0


@click.command("report")
@click.option(
    "--forecast",
    "horizon_s",
    type=DurationType(),
    default="30d",
    metavar="TIME",
    show_default=True,
    help="How far ahead; no further than there is history.",
)
@click.option("--cost", is_flag=True, help="What it cost, by the prices in the config.")
@click.option("--scorecard", is_flag=True, help="The twelve success metrics.")
@click.option(
    "--since",
    "since_s",
    type=DurationType(),
    default="90d",
    metavar="TIME",
    show_default=True,
    help="How far back, 90 days at most.",
)
@click.option("--tiers", is_flag=True, help="The right-sizing by role, for a cluster.")
@click.option("--write", is_flag=True, help="With --tiers: into kubernetes.tiers of your file.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON on stdout.")
@click.option(
    "--html",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Everything, with plots, as one page in this file.",
)
def command(
    horizon_s: float, since_s: float, as_json: bool, file: Path | None, **shown: bool
) -> None:
    """Report capacity: what was used, what will be needed, what could be saved.

    Everything comes from paddock's own history, kept for 90 days; no other program is needed.

    \b
    Examples:
      paddock report
      paddock report --since 7d --cost --scorecard
      paddock report --html report.html
      paddock report --tiers --write
    """
    if shown["write"] and not shown["tiers"]:
        raise CommandError("--write: found without --tiers; allowed: both")
    if not 3600 <= since_s <= LONGEST_S:
        raise CommandError("--since: allowed: from 1h to 90d")
    if not DAY_S <= horizon_s <= LONGEST_S:
        raise CommandError("--forecast: allowed: from 1d to 90d")
    from paddock.config.cluster_settings import TIERS

    from .report_page import page
    from .report_text import lines
    from .report_tiers import write
    from .reporting import build

    now_at = time.time()
    past = _past(now_at, since_s)
    days = round(horizon_s / DAY_S)
    settings = settings_here()
    own = settings[TIERS]
    report = build(past, horizon_days=days, prices=_prices(settings), now_at=now_at, own_tiers=own)
    if file is not None:
        _write(file, page(report, past))
    if as_json:
        echo_json(report)
    elif file is not None:
        note(f"the report is in {file}")
    else:
        width, colour = terminal_width(), coloured(sys.stdout)
        click.echo("\n".join(lines(report, shown, own, width=width, colour=colour)))
    if shown["write"]:
        write(report.tiers)


def _past(now_at: float, since_s: float) -> HistoryView:
    step_s = FINE_STEP_S if since_s <= FINE_UNTIL_S else STEP_S
    with connected() as client:
        past = client.history(since_at=now_at - since_s, step_s=step_s, groups=True, ledger=True)
        if step_s > (finer := _finer(past, now_at)):
            from_at = max(past.points[0].at, now_at - since_s)
            # Where only hours are kept, they stay.
            past.points = client.history(since_at=from_at, step_s=finer).points or past.points
    return past


def _finer(past: HistoryView, now_at: float) -> int:
    """How fine the first hours are looked at: hours would make one point of them."""
    known_s = now_at - past.points[0].at if past.points else FINE_UNTIL_S
    if known_s >= FINE_UNTIL_S:
        return STEP_S
    return MINUTE_S if known_s < MINUTES_UNTIL_S else FINE_STEP_S


def _prices(settings: Settings) -> Prices:
    from paddock.config import settings as s

    from .reporting import Prices

    return Prices(
        memory_gib_hour=settings[s.MEMORY_PRICE],
        core_hour=settings[s.CORE_PRICE],
        currency=settings[s.CURRENCY],
    )


def _write(file: Path, text: str) -> None:
    """Whole or not at all: somebody may be looking at the old one."""
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        with suppress(OSError):  # where nothing may be written, nothing may be removed
            part.unlink(missing_ok=True)
        raise CommandError(f"{file} cannot be written: {error.strerror}") from None
