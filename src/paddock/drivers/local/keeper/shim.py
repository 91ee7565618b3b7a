"""The shim: what runs in the new process between `posix_spawn` and the agent.

As a program of its own where one was compiled (shim.c: 0.1 ms), else as shell text (0.7 ms).
It speaks only when something is wrong, in a file of its own, so that no descriptor is left for the
agent and an agent that itself exits 127 is not taken for one that was never started.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .protocol import Order

SHELL = "/bin/sh"
BASH = "/bin/bash"
FIRST_LINE = "# paddock shim, version 1"
# Named by what it understands, so that no keeper starts one that understands something else.
PROGRAM = __file__.rpartition("/")[0] + "/shim-1"

# dash and busybox leave at a failed exec and run the trap; bash forgets its traps there, but goes
# on to the next line with `execfail`. Variables are named so that they are in nobody's environment:
# assigning to one that is exported would change what the agent gets. `0` in cgroup.procs is the
# writer itself: joined before the first line of the agent, with no race.
TEXT = (
    FIRST_LINE
    + r"""
paddock_shim_report=$1 paddock_shim_step=start
paddock_shim_tell() { printf '%s\n' "$*" >>"$paddock_shim_report"; }
trap 'paddock_shim_tell fail "$paddock_shim_step"' EXIT
trap '' USR1 USR2
umask "$2"
[ "$3" = - ] || ulimit -S -n "$3" 2>/dev/null || paddock_shim_tell note nofile
paddock_shim_oom=$4 paddock_shim_cwd=$5 paddock_shim_left=$6
shift 6
paddock_shim_step=cgroup
while [ "$paddock_shim_left" -gt 0 ]; do
  { printf 0 >"$1"; } 2>/dev/null || exit 125
  paddock_shim_left=$((paddock_shim_left - 1))
  shift
done
[ "$paddock_shim_oom" = - ] || { printf %s "$paddock_shim_oom" >/proc/self/oom_score_adj; } \
  2>/dev/null || paddock_shim_tell note oom_score_adj
paddock_shim_step=cwd
cd "$paddock_shim_cwd" 2>/dev/null || exit 125
unset OLDPWD
paddock_shim_step=exec
[ -z "${BASH_VERSION-}" ] || shopt -s execfail 2>/dev/null
# Looked for first, because a shell that cannot exec says so in the agent's own output.
if ! command -v "$1" >/dev/null 2>&1; then
  paddock_shim_code=127
  case $1 in */*) [ ! -e "$1" ] || paddock_shim_code=126 ;; esac
  exit "$paddock_shim_code"
fi
exec "$@"
paddock_shim_code=$?
paddock_shim_tell fail exec
exit "$paddock_shim_code"
"""
)


class Report:
    """What the shim said: `fail` is the step it died at, `notes` what it went on without."""

    __slots__ = ("fail", "notes")

    def __init__(self, text: str) -> None:
        self.fail: str | None = None
        self.notes: list[str] = []
        for line in text.splitlines():
            kind, _, what = line.partition(" ")
            if kind == "fail":
                self.fail = what
            elif kind == "note":
                self.notes.append(what)


def commands(order: Order, report: str) -> Iterator[tuple[str, list[str]]]:
    """Programs that do it, with their words: the first that can be started is good. One is there
    always."""

    def given(value: int | None) -> str:
        return "-" if value is None else str(value)

    words = [
        *(report, f"{order.umask:o}", given(order.nofile), given(order.oom_score_adj)),
        *(order.cwd, str(len(order.cgroups)), *order.cgroups, *order.argv),
    ]
    if os.access(PROGRAM, os.X_OK):
        yield PROGRAM, [FIRST_LINE, *words]
    shell = shell_for(order.env)
    yield shell[0], [*shell, "-c", TEXT, "paddock-shim", *words]


def environment(order: Order) -> dict[str, str]:
    """Where it is, and not where whoever submitted it was before; a shell says the same."""
    said = order.env | {"PWD": order.cwd}
    said.pop("OLDPWD", None)
    return said


def shell_for(env: dict[str, str]) -> list[str]:
    """dash drops variables that it could not name itself (`npm_config_@x:y`); bash hands them on.

    `--posix`, because bash would otherwise run what BASH_ENV names.
    """
    if any(not is_shell_name(name) for name in env) and os.access(BASH, os.X_OK):
        return [BASH, "--posix"]
    return [SHELL]


def is_shell_name(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def is_still_shim(cmdline: bytes) -> bool:
    """Between exec and exec `/proc/PID/cmdline` may read empty: then nothing is known yet."""
    return not cmdline or FIRST_LINE.encode() in cmdline


def why_failed(step: str, code: int, order: Order) -> str:
    if step == "cgroup":
        return "a cgroup could not be joined: " + " ".join(order.cgroups)
    if step == "cwd":
        return f"the working directory cannot be entered: {order.cwd}"
    if step == "exec":
        return f"{order.argv[0]}: " + ("not executable" if code == 126 else "not found")
    return f"the shim failed before it began (exit {code})"
