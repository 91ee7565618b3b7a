"""Exit codes, and the error that a command raises to end with one. Scripts rely on these."""

from __future__ import annotations

from enum import IntEnum

import click


class ExitCode(IntEnum):
    DONE = 0
    ENDED_OTHERWISE = 1
    BAD_USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    NO_DAEMON = 69
    BUG = 70
    # Of `paddock run` where it is not the agent's own: as `timeout` and shells have them.
    TIMEOUT_EXCEEDED = 124
    PADDOCK_FAILED = 125
    NOT_EXECUTABLE = 126
    NO_SUCH_COMMAND = 127
    INTERRUPTED = 130
    LEFT_RUNNING = 131  # Ctrl-\: 128 and SIGQUIT; what comes after `&&` must not begin
    MEMORY_LIMIT_EXCEEDED = 137
    # What a shell reports for a program that SIGPIPE ended: the reader went away.
    BROKEN_PIPE = 141
    TERMINATED = 143


class CommandError(click.ClickException):
    """Says in one line what was wrong and what to do, and ends the program with its code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.BAD_USAGE) -> None:
        super().__init__(message)
        self.code = code


class OutputLost(CommandError):
    """What was to be printed could not be: stdout is a file on a full disk, or the like."""

    def __init__(self, reason: str, code: ExitCode = ExitCode.ENDED_OTHERWISE) -> None:
        super().__init__(f"its output could not be written: {reason}", code)
        self.reason = reason
