"""How many agents may run at once: as asked, as profile and host allow, and who allows more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paddock.core.capacity import default_limit, host_reserve, max_agents, nominal_total
from paddock.core.units import format_size

from . import settings as s
from .layers import PROFILE_OPTION, PROFILE_VARIABLE, user_file
from .mistakes import ConfigError, Mistake, Place
from .profiles import PROFILES
from .settings import Held, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsAtOnce:
    """How many agents may run at once: what was asked, what the profile and the host allow."""

    asked: int | None  # None: auto
    profile_cap: int | None  # None: no cap
    safe: int  # CAP-1, for agents of the default size

    @property
    def effective(self) -> int:
        known = (self.asked, self.profile_cap, self.safe)
        return min(number for number in known if number is not None)

    @property
    def configured(self) -> int | None:
        """Without the host's own number, which admission works out from real sizes."""
        known = [number for number in (self.asked, self.profile_cap) if number is not None]
        return min(known, default=None)


@dataclass(frozen=True, slots=True)
class CapInWords:
    """Parts of sentences, such as `by the profile medium`."""

    by: str = ""
    more: str = ""  # what would raise it; empty where nothing but memory would


def reserve_bytes(settings: Settings, total_bytes: int) -> int:
    """What the host keeps; a project has no say in it."""
    total = nominal_total(total_bytes)
    automatic, asked = host_reserve(total), settings[s.HOST_RESERVE]
    if asked is None:
        return automatic
    if asked <= total - s.AGENT_SIZE.least:
        return asked
    held = settings.where(s.HOST_RESERVE)
    mistake = Mistake(
        held.at or Place(held.source),
        s.HOST_RESERVE.key,
        found=s.HOST_RESERVE.kind.show(asked),
        allowed=f"auto, or less than the {format_size(total)} of this host, with room for an agent",
    )
    raise ConfigError([mistake])


def agents_at_once(settings: Settings, total_bytes: int) -> AgentsAtOnce:
    total = nominal_total(total_bytes)
    reserve = reserve_bytes(settings, total)
    each = default_limit(total, reserve_bytes=reserve, wanted_bytes=settings[s.MEMORY_LIMIT])
    return AgentsAtOnce(
        asked=settings[s.MAX_AGENTS],
        profile_cap=settings.agents_cap.value,
        safe=max_agents(total, reserve_bytes=reserve, per_agent_bytes=each),
    )


# -- in words -----------------------------------------------------------------------------------


def cap_in_words(settings: Settings, at_once: AgentsAtOnce, *, guaranteed: bool) -> CapInWords:
    """Who sets the number that holds."""
    asked, cap, configured = at_once.asked, at_once.profile_cap, at_once.configured
    if guaranteed and (configured is None or at_once.safe < configured):
        return CapInWords(f"as many as are safe with {s.ADMISSION.key}: guaranteed")
    if asked is not None and (cap is None or asked <= cap):
        return CapInWords(f"by {s.MAX_AGENTS.key} in {settings.where(s.MAX_AGENTS).source}")
    if cap is None:
        return CapInWords()
    return CapInWords(f"by {_profile_that_caps(settings)}", _what_allows_more(settings, cap))


def _profile_that_caps(settings: Settings) -> str:
    """The project's own choice does not count where it is looser than the host's."""
    source = settings.agents_cap.source
    if source.startswith("profile "):
        return f"the {source}"
    return f"the profile {settings.profile.value} ({source})"


def _what_allows_more(settings: Settings, cap: int) -> str:
    if settings.profile.source in (PROFILE_OPTION, PROFILE_VARIABLE):
        return f"another {settings.profile.source} may allow more"
    for name, values in PROFILES.items():
        allowed = values[s.MAX_AGENTS.key]
        if allowed == "auto" or int(allowed) > cap:
            most = "as many as fit" if allowed == "auto" else allowed
            return f"`performance_profile: {name}` in {_shown(user_file())} allows {most}"
    return ""


def _shown(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def notes_on_agents(settings: Settings, at_once: AgentsAtOnce) -> Iterator[str]:
    held, cap, safe = settings.where(s.MAX_AGENTS), at_once.profile_cap, at_once.safe
    asked = at_once.asked
    if asked is not None and cap is not None and asked > cap:
        yield (
            f"{held.source}: {asked} agents at once are asked for, but "
            f"{_profile_that_caps(settings)} allows {cap}; {_way_out(settings, held, cap)}"
        )
    if asked is not None and safe < min(asked, cap or asked):
        yield (
            f"{held.source}: {asked} agents at once are asked for, but {safe} of "
            f"{s.MEMORY_LIMIT.kind.show(settings[s.MEMORY_LIMIT])} are safe on this host"
        )
    chosen = settings.profile
    if cap is not None and _is_projects(settings, chosen) and _is_looser(chosen.value, cap):
        yield (
            f"{chosen.source}: the profile {chosen.value} does not raise the {cap} agents at once: "
            f"{_way_out(settings, chosen, cap)}"
        )


def _way_out(settings: Settings, held: Held, cap: int) -> str:
    more = _what_allows_more(settings, cap)
    if not _is_projects(settings, held):
        return more
    only = "a project can only make keys of the whole host stricter"
    return f"{only}; looser goes in the user's file: {more}"


def _is_projects(settings: Settings, held: Held) -> bool:
    return held.at is not None and held.at.file == settings.project_file


def _is_looser(profile: str, cap: int) -> bool:
    allowed = PROFILES.get(profile, {}).get(s.MAX_AGENTS.key, str(cap))
    return allowed == "auto" or int(allowed) > cap
