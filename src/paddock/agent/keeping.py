"""What an agent keeps for the attempt after it: whole or not at all, whenever it is killed."""

from __future__ import annotations

# os instead of pathlib, which takes longer to import than all of this room.
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

USUAL = "checkpoint"


def checkpoint_dir() -> Path | None:
    """Stays from one attempt of a run to the next, until the run succeeds; None without paddock."""
    from pathlib import Path

    found = os.environ.get("PADDOCK_CHECKPOINT_DIR")
    return Path(found) if found else None


def checkpoint(data: Any, name: str = USUAL) -> bool:
    """Keep `data` (what JSON can hold) for the next attempt, in place of what was kept before.

    It is on the disk on return. If paddock has asked for a checkpoint, this answers it. Without
    paddock nothing is kept, and the answer is False. OSError: it could not be written, and what
    was kept before still is.
    """
    import json

    path = _file(name)
    if path is None:
        return False
    put(path, json.dumps(data).encode())
    if os.access(os.environ.get("PADDOCK_CHECKPOINT_REQUEST") or "", os.F_OK):
        say_written()
    return True


def load(default: Any = None, name: str = USUAL) -> Any:
    """What an earlier attempt kept; `default` if there is nothing. ValueError: it is no JSON, so
    somebody else wrote it."""
    import json

    path = _file(name)
    if path is None:
        return default
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return json.load(file)
    except FileNotFoundError:
        return default
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} holds no checkpoint: {error}") from None


def say_written() -> bool:
    """Tell paddock that all is kept: it need not wait any longer. False without paddock."""
    path = os.environ.get("PADDOCK_CHECKPOINT_WRITTEN")
    if path:
        touch(path)  # where that fails, paddock waits its 30 seconds
    return bool(path)


def touch(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
    except OSError:
        return False
    return True


def put(path: str, content: bytes) -> None:
    """Beside it first: a kill in the middle leaves the old file as it was."""
    directory, _, name = path.rpartition("/")
    fresh = f"{directory}/.{name.lstrip('.')}.{os.getpid()}"
    try:
        with open(fresh, "wb") as file:  # noqa: PTH123
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)  # noqa: PTH105
    except BaseException:
        remove(fresh)
        raise
    _sync(directory)


def remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return


def _sync(directory: str) -> None:
    """So that the new name outlives a power cut."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:  # some file systems cannot, and have nothing to sync then
        return
    finally:
        os.close(descriptor)


def _file(name: str) -> str | None:
    if not name or "/" in name or name.startswith(".") or "\0" in name:
        raise ValueError(f"a checkpoint's name is a plain file name, not {name!r}")
    directory = os.environ.get("PADDOCK_CHECKPOINT_DIR")
    return f"{directory}/{name}.json" if directory else None
