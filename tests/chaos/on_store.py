"""Faults of the store's files: in somebody else's hands, damaged, removed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import apsw

from tests.chaos.fault import NotDone
from tests.chaos.scene import LONG_S, Scene
from tests.kit import leaks
from tests.kit.waiting import until

NO_DAEMON = 69
PAGE = 4096


def hold_store(scene: Scene) -> None:
    """The daemon dies, and before the next one comes somebody opens the store and stays."""
    scene.kill_daemon()
    db = apsw.Connection(str(scene.house.places.store))
    try:
        db.execute("BEGIN EXCLUSIVE")
    except apsw.Error:
        raise NotDone from None  # the next one was quicker
    else:
        time.sleep(scene.draw.uniform(0.2, 2.5))
        db.execute("ROLLBACK")
    finally:
        db.close()


def damage_store(scene: Scene) -> None:
    """Stopped, its pages rot: no daemon starts on that, no byte changes. Then a copy is put back,
    as its owner would."""
    scene.wake()
    pid = scene.daemon_pid()
    scene.ask(lambda client: client.stop_daemon())
    until(lambda: not leaks.is_alive(pid), within_s=LONG_S)
    before = _contents(scene)
    store = scene.house.places.store
    store.write_bytes(scene.draw.choice(HARM)(store.read_bytes(), scene))
    harmed = _contents(scene)
    done = scene.house.paddock("status", before=scene.house.before, within_s=LONG_S)
    if done.returncode != NO_DAEMON or "is damaged" not in done.stderr:
        scene.blame(f"on a damaged store: {done.returncode}, {done.stderr!r}")
    if _contents(scene) != harmed:
        scene.blame("a damaged store was written to")
    for path in _files(scene):
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
        path.chmod(0o600)


def _torn_pages(data: bytes, scene: Scene) -> bytes:
    """All but the first, each at its head."""
    torn = bytearray(data)
    for at in range(PAGE, len(torn), PAGE):
        torn[at : at + 64] = scene.draw.randbytes(64)
    return bytes(torn)


def _half(data: bytes, _: Scene) -> bytes:
    return data[: len(data) // 2]


def _text(data: bytes, _: Scene) -> bytes:
    return b"a letter to a friend".ljust(len(data))


HARM: tuple[Callable[[bytes, Scene], bytes], ...] = (_torn_pages, _half, _text)


def _files(scene: Scene) -> list[Path]:
    store = scene.house.places.store
    return [path for path in store.parent.glob(f"{store.name}*") if path.suffix != ".lock"]


def _contents(scene: Scene) -> dict[Path, bytes]:
    """All but an empty write-ahead log, which says nothing."""
    found = {path: path.read_bytes() for path in _files(scene)}
    return {path: data for path, data in found.items() if any(data)}


def remove_store(scene: Scene) -> None:
    """Under the daemon, which still has it open and puts it back."""
    scene.wake()
    pid = scene.daemon_pid()
    store = scene.house.places.store
    names = scene.draw.choice([("",), ("-wal",), ("", "-wal")])
    removed = [path for name in names if (path := Path(f"{store}{name}")).exists()]
    for path in removed:
        path.unlink()
    # Until then what is remembered is in files without a name: whoever reads those that have one
    # reads of the past.
    until(
        lambda: all(path.exists() for path in removed) or not leaks.is_alive(pid), within_s=LONG_S
    )
