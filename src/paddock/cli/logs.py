"""`paddock logs`: what a run wrote, and what it goes on to write."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import click

from paddock.core.units import DAY_S, parse_duration

from .completing import complete_any_run
from .connecting import connected, door, explained
from .exits import CommandError
from .printing import coloured, echo_json_line, note

if TYPE_CHECKING:
    from paddock.client import Record
    from paddock.wire.views import RunView

MOST_LINES: Final = 10_000_000
_SINCE: Final = "10m (ago), 14:30 or 14:30:15"
_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


@click.command("logs")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
@click.option("--since", metavar="T", help="10m (ago) or 14:30: what was written since then.")
@click.option("--grep", metavar="RE", help="Only lines that match this regular expression.")
@click.option(
    "--lines",
    "count",
    type=click.IntRange(0, MOST_LINES),
    metavar="N",
    help="Only the last N; --grep then looks at these.",
)
@click.option("--raw", is_flag=True, help="On a terminal too, exactly what was written.")
@click.option("--json", "as_json", is_flag=True, help='An object for each line: {"line": …}.')
@click.argument("run", metavar="RUN", shell_complete=complete_any_run)
def command(
    run: str,
    follow: bool,
    since: str | None,
    grep: str | None,
    count: int | None,
    raw: bool,
    as_json: bool,
) -> None:
    """Print what a run wrote: all its attempts as one stream, stdout and stderr together.

    Times are known to about a second; after hours of talk, to less. On a terminal only text and
    colours come through (--raw: everything); into a pipe or file goes every byte as it was written.
    What is not kept any more is counted on stderr.

    \b
    Examples:
      paddock logs review
      paddock logs -f --lines 20 review
      paddock logs --since 10m --grep 'error|warning' review
    """
    pattern = None if grep is None else _pattern(grep)
    since_at = None if since is None else _moment(since, now=time.time())
    view = _run(run)
    records = _records(view, follow=follow, count=count, since_at=since_at)
    if as_json:
        _print_json(records, pattern)
    else:
        _print(records, pattern, exact=raw or not sys.stdout.isatty())


def _pattern(text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(text.encode(errors="surrogateescape"))
    except re.error as error:
        raise CommandError(f"--grep: {text!r} is no regular expression: {error}") from error


def _run(run: str) -> RunView:
    with connected() as client:
        return client.run(run)


def _moment(text: str, *, now: float) -> float:
    """Seconds since 1970 of `10m` (ago) or of the last time it was `14:30`."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        try:
            return now - parse_duration(text)
        except ValueError as error:
            reason = str(error).rpartition("; ")[0]
            raise CommandError(f"--since: {reason}; allowed: {_SINCE}") from error
    hour, minute, second = (int(part or 0) for part in match.groups())
    day = time.localtime(now)
    at = time.mktime((*day[:3], hour, minute, second, 0, 0, -1))
    return at if at <= now else at - DAY_S


def _records(
    run: RunView, *, follow: bool, count: int | None, since_at: float | None
) -> Iterator[Record]:
    from paddock.client.errors import ClientError

    from .staying import Staying

    try:
        if follow:
            with Staying(door()) as daemon:
                yield from daemon.records(run.id, lines=count, since_at=since_at)
            return
        with connected() as client:
            yield from client.log_records(run.id, lines=count, since_at=since_at)
    except ClientError as error:
        raise explained(error) from error


def _print(records: Iterator[Record], pattern: re.Pattern[bytes] | None, *, exact: bool) -> None:
    from .following import missing, raw_writer
    from .log_lines import cleaned, matching

    chunks = _chunks(records, lambda gap: note(missing(gap)), cut=pattern is not None)
    if pattern is not None:
        chunks = matching(chunks, pattern)
    if not exact:
        chunks = cleaned(chunks, colours=coloured(sys.stdout))
    write = raw_writer(sys.stdout)
    for chunk in chunks:
        write(chunk)


def _print_json(records: Iterator[Record], pattern: re.Pattern[bytes] | None) -> None:
    from .log_lines import lines, matching

    chunks = _chunks(records, _print_gap, cut=True)
    for line in lines(chunks if pattern is None else matching(chunks, pattern)):
        echo_json_line({"line": line.rstrip(b"\r\n").decode(errors="replace")})


def _print_gap(gap: Record) -> None:
    echo_json_line({"missing_bytes": gap.missing_bytes, "missing_lines": gap.missing_lines})


def _chunks(
    records: Iterator[Record], say: Callable[[Record], None], *, cut: bool
) -> Iterator[bytes]:
    """`cut`: what stands before a gap and after it are not one line."""
    whole = True
    for record in records:
        if record.missing_bytes:
            if cut and not whole:
                yield b"\n"
            say(record)
        if record.data:
            whole = record.data.endswith(b"\n")
            yield record.data
