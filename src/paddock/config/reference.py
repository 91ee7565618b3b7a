"""What people read of the settings, made from the table: the reference page, a file to start from.

`python -m paddock.config.reference` prints the page that is kept as docs/reference/config.md.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from .preset_reading import built_in
from .profiles import ABOUT, DEFAULT_PROFILE, PROFILES
from .settings import HOST_WIDE, OF_A_PROJECT, SECTIONS, SETTINGS, Setting

SECTION_ABOUT: Final = {
    "performance": "Agents at once, times, logs, repositories.",
    "sandbox": "The walls round each agent.",
    "kubernetes": "Agents of the driver `kubernetes`: which cluster, and in what.",
    "ladder": "What is done as memory fills. The steps rise; the target is below preempt.",
    "queue": "Runs that wait.",
    "breaker": "When a group of runs that keeps failing is held back.",
    "cost": "Prices, for the cost in `paddock report`.",
    "report": "Capacity reports that the daemon makes by itself, as a page and as JSON.",
}

_INTRODUCTION: Final = """\
# Configuration

<!-- Made by `python -m paddock.config.reference` from src/paddock/config/settings.py. -->

Four layers, the later ones stronger, key by key:

1. what is built in
2. the host's file, `/etc/paddock/config.yaml`
3. the user's file, `~/.config/paddock/config.yaml` (below `$XDG_CONFIG_HOME` where that is set)
4. the project's file, `.paddock/config.yaml` in the working directory or the nearest one above it;
   one that belongs neither to you, nor to root, nor to the owner of that directory is passed over

`paddock config show` says each value and where it comes from, `paddock config check` finds every
mistake at once, `paddock config init` writes a project's file to start from, with `--user` the
user's, and `paddock config schema` prints a JSON schema for editors:

```yaml
# yaml-language-server: $schema=./config.schema.json
```

Sizes are written `512M`, `4G`, `4GiB`, `1.5T` (powers of 1024), times `90s`, `15m`, `8h`; a plain
number is bytes or seconds. Files are YAML 1.2, at most 1 MiB: `no` is a word, `0755` is no number.

A running daemon reads the host's and the user's file again by itself, within seconds of a change. A
mistake in one changes nothing, and `paddock status` shows it until it is mended. The project's file
counts for what is submitted from then on. A key that counts only from the daemon's next start says
so below (`paddock daemon stop`; the next command starts it, and agents go on meanwhile). Where the
profile `host` puts workspaces and scratch directories counts from then, too.
"""

_PROFILES: Final = """\
## Profiles

A profile is a set of values to start from. It is chosen by `--performance-profile`, else by
`PADDOCK_PROFILE`, else by `performance_profile:` in the strongest file that has it.

- A key that is written in a file wins over the profile's value, whoever chose the profile.
- `max_concurrent_agents` is the exception: there the profile is a **cap**. The number in force is
  the smallest of what a file asks for, the profile's cap and what is safe on this host: with
  `admission: guaranteed` the number that `paddock capacity` gives for agents of `memory_limit`,
  with `learned` as many as fit by the sizes that were seen. The cap is the whole host's: it is
  raised in the user's file (`performance_profile: high`); `why` and `capacity` say who set it.
- `profiles:` in a file adds profiles, or changes those that ship, key by key. What a profile of
  one's own does not say is as in medium: its cap too, unless it says `max_concurrent_agents: auto`.
  Keys of `performance` and `sandbox` may stand there without their section.

```yaml
performance_profile: night
profiles:
  night: {max_concurrent_agents: 8, agent_timeout: 45m, memory_limit: 6G}
  low: {log_buffer_size_mb: 3}
```
"""

_AGENTS: Final = """\
## `agents`

Presets of one's own, and changes to those that ship ({names}):
how an agent program is started, how it goes on, what its rate limits look like. All keys are in
[presets](presets.md). A project's file may only say `memory`.

```yaml
agents:
  claude: {{memory: 6G}}
  mine: {{like: codex, env: {{CODEX_HOME: /srv/codex}}}}
```
"""

_HOST_WIDE: Final = """\
## Keys of the whole host

{keys}

These are the daemon's, and come from the user's or the host's file. A project's file cannot make
them looser: that is reported as a mistake, and a profile that a project chooses or changes does not
loosen them. Three of them it can make stricter, for its own runs, by itself or by a profile:

- `performance.max_concurrent_agents`: so many of its runs at once. The others of them wait, `why`
  says for what, and the runs of others pass them by; nobody is stopped for one of them.
- `queue.depth`: so many of its runs may wait; one more is refused.
- `queue.admission: guaranteed`: its runs are counted with their full limits.

Runs belong to a project by its file: all that were submitted from below its directory. Each
remembers what the file said when it was submitted, and the newest of them that has not ended says
how many run at once. Runs on other machines are not counted.

`sandbox.driver` is per run; it is among these keys because a project that says `local` would take
its agents out of the container that the user asked for. The others of them are about the memory of
the whole host. In a project's file they have no effect: `paddock config show`, `paddock config
check` and every submission say so. All keys that are not named here are per run.
"""


def page() -> str:
    parts = [_INTRODUCTION]
    for section in SECTIONS:
        parts += [_section(section), _tool_walls()] if section == "sandbox" else [_section(section)]
    agents = _AGENTS.format(names=", ".join(f"`{name}`" for name in built_in()))
    parts += [_PROFILES, _profile_table(), agents, _HOST_WIDE.format(keys=_host_wide())]
    return "\n".join(parts)


def starter(whose: str = "this project") -> str:
    """A file with every key commented out, at its default."""
    return "\n".join(_starter_lines(whose)) + "\n"


def _section(section: str) -> str:
    rows = [
        f"| `{each.name}` | `{each.default}` | {each.kind.allowed} | {each.about} |"
        for each in SETTINGS
        if each.section == section
    ]
    head = ["| key | default | allowed | |", "|---|---|---|---|"]
    return "\n".join([f"## `{section}`", "", SECTION_ABOUT[section], "", *head, *rows, ""])


def _tool_walls() -> str:
    return textwrap.dedent("""\
        A tool wall is for commands of an agent, found by the name of their program (`*` and `?`
        match any): `memory` is a wall of their own, `lease` lets one of them run on the host at a
        time. A plain name gets `tool_share` of its agent's memory.

        ```yaml
        sandbox:
          tool_walls:
            - npm
            - {command: pytest, memory: 2G}
            - {command: "cargo*", memory: 6G, lease: build}
        ```
        """)


def _profile_table() -> str:
    keys = list(dict.fromkeys(key for values in PROFILES.values() for key in values))
    lines = [
        "| profile | for | " + " | ".join(f"`{_short(key)}`" for key in keys) + " |",
        "|---" * (len(keys) + 2) + "|",
    ]
    for name, values in PROFILES.items():
        shown = f"**{name}**" if name == DEFAULT_PROFILE else name
        cells = " | ".join(values.get(key, "") for key in keys)
        lines.append(f"| {shown} | {ABOUT[name]} | {cells} |")
    return "\n".join([*lines, ""])


def _short(key: str) -> str:
    section, _, name = key.partition(".")
    return name if section in ("performance", "sandbox") else key


def _host_wide() -> str:
    names = ", ".join(f"`{setting.key}`" for setting in HOST_WIDE)
    return textwrap.fill(names, 100, break_long_words=False, break_on_hyphens=False)


def _starter_lines(whose: str) -> Iterator[str]:
    yield f"# paddock's configuration for {whose}. Every key is commented out, at its default:"
    yield "# take away the # of what you change, and of the section above it."
    yield "# `paddock config show` says what is in force; `paddock config check` finds mistakes."
    yield ""
    yield f"# performance_profile: {DEFAULT_PROFILE}    # {', '.join(PROFILES)}, or your own"
    for section in SECTIONS:
        yield ""
        yield f"# {section}:    # {SECTION_ABOUT[section]}"
        for setting in SETTINGS:
            if setting.section == section:
                yield from _starter_setting(setting)
    yield ""
    yield "# profiles:    # of one's own"
    yield "#   night: {max_concurrent_agents: 8, agent_timeout: 45m}"
    if whose == "this project":
        return  # which program runs is the user's to say
    yield ""
    yield "# agents:    # presets of one's own; docs/reference/presets.md has all keys"
    yield "#   mine: {like: claude, memory: 6G}"


def _starter_setting(setting: Setting[Any]) -> Iterator[str]:
    strict = ""
    if setting.host_wide:
        may = setting in OF_A_PROJECT
        strict = f" A project can {'only make it stricter' if may else 'not set it'}."
    about = f"{setting.about}{strict} Allowed: {setting.kind.allowed}."
    for line in textwrap.wrap(about, 94, break_long_words=False, break_on_hyphens=False):
        yield f"#   # {line}"
    yield f"#   {setting.name}: {setting.default}"


if __name__ == "__main__":
    sys.stdout.write(page())
