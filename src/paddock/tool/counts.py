"""Worker counts in a command's environment: lowered only where all cores' workers would not fit.

CPU may burst and memory is the wall: a count is set only when one worker a core, at what such a
worker usually takes, would pass the wall, and only where the user has said nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MIB = 1 << 20
# What one worker takes: not what it may take. The wall is for those that take more.
PYTEST_BYTES = (
    350 * MIB
)  # an interpreter with a project's imports: 335 MB is an agent's mean process
CARGO_BYTES = 750 * MIB  # rustc: 0.3 to 1.5 GB for a crate with generics, in a debug build
GO_BYTES = 400 * MIB  # compile and link of a package; a test binary with its linker
NODE_BYTES = 400 * MIB  # a worker of vitest or jest: V8, transformed modules, jsdom
BUILD_BYTES = 600 * MIB  # uv builds a source distribution: often a C, C++ or Rust compiler
HEADROOM = (
    0.9  # of the wall, for Go's soft limit: its collector works harder before the wall is met
)

# Set for every walled command, whatever its name: `make` and `npm test` start these as well. Not
# here: MAKEFLAGS (make runs one job unless told otherwise, so a count could only raise it), jest
# and ninja (they read no variable), VITEST_MAX_FORKS (below its minimum, vitest 1 to 3 refuse to
# start), GRADLE_OPTS (a JVM's options, not a count), NODE_OPTIONS (heap flags are no limits).
WORKERS = (
    ("PYTEST_XDIST_AUTO_NUM_WORKERS", PYTEST_BYTES, "{}"),  # read only for `-n auto|logical`
    ("CARGO_BUILD_JOBS", CARGO_BYTES, "{}"),
    ("GOFLAGS", GO_BYTES, "-p={}"),
    ("VITEST_MAX_WORKERS", NODE_BYTES, "{}"),
    ("UV_CONCURRENT_BUILDS", BUILD_BYTES, "{}"),
)


def cores() -> int:
    """As the tools count them."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def fitting(limit_bytes: int, each_bytes: int) -> int:
    return max(1, limit_bytes // each_bytes)


def counts_for(env: Mapping[str, str], *, limit_bytes: int, cpus: int, cwd: str) -> dict[str, str]:
    """What to add to this environment: often nothing."""
    added = {}
    for name, each_bytes, form in WORKERS:
        would_fit = cpus * each_bytes <= limit_bytes
        if would_fit or name in env or _is_said_in_a_file(name, env, cwd):
            continue
        added[name] = form.format(fitting(limit_bytes, each_bytes))
    if "GOFLAGS" in added and "GOMEMLIMIT" not in env:
        added["GOMEMLIMIT"] = f"{int(limit_bytes * HEADROOM)}B"
    return added


def _is_said_in_a_file(name: str, env: Mapping[str, str], cwd: str) -> bool:
    """A variable would override what the user wrote into a file of the tool's own."""
    home = env.get("HOME", "")
    if name == "GOFLAGS":
        config = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        return _has_line(env.get("GOENV") or f"{config}/go/env", "GOFLAGS=")
    if name == "CARGO_BUILD_JOBS":
        places = [env.get("CARGO_HOME") or f"{home}/.cargo"]
        places += [f"{above}/.cargo" for above in _upwards(cwd)]
        files = [f"{place}/{file}" for place in places for file in ("config.toml", "config")]
        return any(_has_line(file, "jobs") for file in files)
    return False


def _upwards(path: str) -> list[str]:
    found = []
    while path.startswith("/"):
        found.append(path.rstrip("/"))
        if path == "/":
            break
        path = path.rpartition("/")[0] or "/"
    return found


def _has_line(path: str, beginning: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return any(line.lstrip().startswith(beginning) for line in file)
    except OSError:
        return False
