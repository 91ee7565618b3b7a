"""The right-sizing of a report as tiers of a cluster: shown, and put into the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from paddock.cluster.tiers import Tier
from paddock.core.units import format_size
from paddock.observe.tier_advice import TierAdvice, with_advice

from .exits import CommandError, ExitCode
from .printing import note, safe
from .tables import Column, Row, fold, table

KEY: Final = "kubernetes.tiers"
_TIERS: Final = (
    Column("role"),
    Column("request now", right=True, leaves=2),
    Column("limit now", right=True),
    Column("request", right=True, leaves=1),
    Column("limit", right=True),
    Column("confidence"),
    Column("because", below=True),
)


def tier_lines(
    advice: Sequence[TierAdvice], own: Sequence[Tier], *, width: int | None, colour: bool
) -> Iterator[str]:
    if not advice:
        text = "Tiers: no run of a role that is known has ended; a group names it last."
        yield from fold(text, width)
        return
    yield from table(_TIERS, [_row(one) for one in advice], width=width, colour=colour)
    tiers = with_advice(own, advice)
    if tiers == tuple(own):
        unsure = any(not one.is_sure for one in advice)
        why = "what is advised is not sure enough yet" if unsure else "all of them fit"
        yield f"The tiers stay as they are: {why}."
        return
    yield ""
    yield "kubernetes:"
    yield "  tiers:"
    yield from (f"    - {_shown([tier])[1:-1]}" for tier in tiers)


def _row(one: TierAdvice) -> Row:
    limit, request = (
        "not known" if value is None else format_size(value)
        for value in (one.limit_bytes, one.request_bytes)
    )
    return (
        safe(one.role),
        format_size(one.request_now_bytes),
        format_size(one.limit_now_bytes),
        request,
        "keep" if one.change == "keep" else limit,
        one.confidence,
        one.because,
    )


def _shown(tiers: Sequence[Tier]) -> str:
    from paddock.config.cluster_settings import TIERS

    return TIERS.kind.show(tuple(tiers))


def write(advice: Sequence[TierAdvice]) -> None:
    """Into the user's file, and of what that file says itself: a project's tiers stay its own."""
    from paddock.config.cluster_settings import TIERS
    from paddock.config.layers import load_settings, user_file
    from paddock.config.mistakes import ConfigError
    from paddock.config.writing import NotWritten, write_values

    try:
        own = load_settings(None)[TIERS]
    except ConfigError as error:
        raise CommandError(f"{error}; nothing was changed") from None
    tiers = with_advice(own, advice)
    if tiers == own:
        raise CommandError(
            "nothing is written: no advice on a tier is both new and sure enough", ExitCode.REFUSED
        )
    path, text = user_file(), _shown(tiers)
    try:
        write_values(path, {KEY: text})
    except NotWritten as error:
        raise CommandError(f"{error}; nothing was changed", ExitCode.REFUSED) from None
    note(f"{path}: {KEY}: {text}")
