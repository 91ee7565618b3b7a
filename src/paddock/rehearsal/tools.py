"""From what a step asks for to a call of a tool that the program offers."""

from __future__ import annotations

import base64
import shlex
import sys
from pathlib import Path
from typing import Any, Final

from .heard import Tool
from .script import Asked, Memory, Run, Wait, Write

# By the programs' own names: Claude Code, opencode, Codex (two of its time), Gemini CLI.
_COMMANDS: Final = ("Bash", "bash", "shell_command", "exec_command", "shell", "run_shell_command")
_WRITERS: Final = {"Write": "file_path", "write": "filePath", "write_file": "file_path"}
# Longer than any wait that a script may ask for, so that only paddock's walls end a command.
LONGEST_MS: Final = 600_000
_HOLD: Final = (
    "import time; held = bytearray({size}); held[::4096] = b'x' * len(held[::4096]); "
    "time.sleep({seconds})"
)


def marker(number: int) -> str:
    """The last line of a command that ran to its end, whatever that end was."""
    return f"[rehearsal: step {number} ended with "


def call_of(
    step: Asked, number: int, *, tools: tuple[Tool, ...], directory: Path
) -> tuple[str, dict[str, Any]] | None:
    """The tool's name and its arguments; None where the program offers nothing that would do."""
    if isinstance(step, Write):
        native = _native_write(step, tools, directory)
        if native is not None:
            return native
    tool = command_tool(tools)
    if tool is None:
        return None
    text = (
        f'( {command_text(step, directory)}\n)\ncode=$?; echo "{marker(number)}$code]"; exit $code'
    )
    return tool.name, _arguments(tool, text)


def command_tool(tools: tuple[Tool, ...]) -> Tool | None:
    by_name = {tool.name: tool for tool in tools}
    return next((by_name[name] for name in _COMMANDS if name in by_name), None)


def is_writer(tool: str) -> bool:
    return tool in _WRITERS


def poll_of(session: str) -> tuple[str, dict[str, Any]]:
    """Codex's way to look after a command that takes its time."""
    return "write_stdin", {"session_id": int(session), "chars": "", "yield_time_ms": LONGEST_MS}


def command_text(step: Asked, directory: Path) -> str:
    """What to type for it."""
    match step:
        case Run(command):
            return command
        case Wait(seconds):
            return f"sleep {seconds:g}"
        case Memory(size, seconds):
            text = _HOLD.format(size=size, seconds=seconds)
            return shlex.join([sys.executable, "-I", "-c", text])
        case Write(path, text):
            target = shlex.quote(str(directory / path))
            packed = base64.b64encode(text.encode()).decode()
            folder = shlex.quote(str((directory / path).parent))
            return f"mkdir -p {folder} && echo {packed} | base64 -d > {target}"


def _native_write(
    step: Write, tools: tuple[Tool, ...], directory: Path
) -> tuple[str, dict[str, Any]] | None:
    """Only for a new file: programs want to have read what they write over."""
    path = directory / step.path
    for tool in tools:
        key = _WRITERS.get(tool.name)
        if key is not None and not path.exists():
            return tool.name, {key: str(path), "content": step.text}
    return None


def _arguments(tool: Tool, text: str) -> dict[str, Any]:
    known: dict[str, Any] = tool.parameters.get("properties", {})
    key = "cmd" if "cmd" in known else "command"
    listed = known.get(key, {}).get("type") == "array"
    found: dict[str, Any] = {key: ["bash", "-lc", text] if listed else text}
    if "description" in known:
        found["description"] = "A step of the rehearsal"
    for name in ("timeout", "timeout_ms", "yield_time_ms"):
        if name in known:
            found[name] = LONGEST_MS
    return found
