"""Faults of what is around paddock: the clock, its socket, its settings, the repository."""

from __future__ import annotations

import signal

from tests.chaos.fault import NotDone, Undo
from tests.chaos.scene import A_MONTH_S, CONFIG, LONG_S, Scene, signalled
from tests.kit import leaks
from tests.kit.waiting import until

STEPS_S = (3600, -3600, 7200, A_MONTH_S, -86400, -1)
SETTINGS = (
    CONFIG.replace("profile: high", "profile: medium"),
    f"{CONFIG}queue: {{depth: 50}}\n",
    f"{CONFIG}queue: {{admission: guaranteed}}\nbreaker: {{failures: 7}}\n",
    CONFIG.replace("performance: {", "performance: {max_concurrent_agents: 1, "),
    f"{CONFIG}queue: {{depth: none of it}}\n",
    "performance: [\n",
    "\0\xff",
    # Not an empty file: by the usual sizes one flood may take all there is of the small disk.
    "performance: {log_buffer_size_mb: 2, log_rotation_size_mb: 10}\n",
)
LOCKS = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock")


def step_clock(scene: Scene) -> Undo:
    for _ in range(scene.draw.randint(1, 3)):
        scene.set_clock(scene.draw.choice(STEPS_S))
        scene.pause(0.3)
    return lambda: scene.set_clock(0)


def remove_socket(scene: Scene) -> None:
    socket, pid = scene.house.places.socket, scene.daemon_pid()
    if not pid or not socket.exists():
        raise NotDone
    socket.unlink(missing_ok=True)
    until(lambda: socket.exists() or not leaks.is_alive(pid), within_s=LONG_S)


def change_settings(scene: Scene) -> Undo:
    def put(text: str) -> None:
        scene.config.write_text(text, encoding="utf-8")
        signalled(scene.daemon_pid(), signal.SIGHUP)

    for _ in range(scene.draw.randint(1, 4)):
        put(scene.draw.choice(SETTINGS))
        scene.pause(0.2)
    return lambda: put(CONFIG)


def lock_repository(scene: Scene) -> Undo:
    """As a git of its owner that was killed."""
    locks = [scene.shop / ".git" / name for name in LOCKS]
    for lock in locks:
        lock.touch()

    def unlock() -> None:
        for lock in locks:
            lock.unlink(missing_ok=True)

    return unlock
