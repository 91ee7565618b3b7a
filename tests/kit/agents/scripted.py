"""Speaks the language of the fake driver's scripts (`drivers/fake/script.py`), with real memory,
real signals and real processes; standard library only."""

import os
import signal
import sys
import time

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
asked_for_a_checkpoint: list[int] = []


def size(text: str) -> int:
    return int(float(text[:-1]) * UNITS[text[-1]]) if text[-1] in UNITS else int(text)


def make(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def leave_strays(seconds: float) -> None:
    """Daemons: forked twice, in a session of their own, deaf to all but SIGKILL."""
    reader, writer = os.pipe()
    if os.fork():
        os.read(reader, 1)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(writer, b"!")
    time.sleep(seconds)
    os._exit(0)


def take_manners(words: dict[str, str]) -> None:
    """From the file on it may be told: signals that came before this had no effect."""
    if "deaf" in words:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "wraps-up" in words:
        signal.signal(signal.SIGUSR1, lambda *_: os._exit(int(words["wraps-up"])))
    if "checkpoints" in words:
        signal.signal(signal.SIGUSR2, lambda number, _: asked_for_a_checkpoint.append(number))
    make(f"awake.{os.environ['PADDOCK_RUN']}.{os.environ['PADDOCK_ATTEMPT_NUMBER']}")


def sleep(seconds: float, words: dict[str, str]) -> None:
    """On, after being woken for a checkpoint."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if asked_for_a_checkpoint:
            asked_for_a_checkpoint.clear()
            time.sleep(float(words["checkpoints"]))
            make(os.environ["PADDOCK_CHECKPOINT_WRITTEN"])
        time.sleep(min(left, 0.01) if "checkpoints" in words else left)


def main() -> None:
    script = [word.partition("=")[::2] for word in sys.argv[1:]]
    words = dict(script)
    take_manners(words)
    held = b""
    for name, value in script:
        if name == "use":
            held = b"\1" * size(value)
        elif name == "sleep":
            sleep(float(value), words)
        elif name == "print":
            os.write(1, value.encode() + b"\n")
        elif name in ("exit", "die"):
            break
    del held
    if "strays" in words:
        leave_strays(float(words["strays"]))
    if "die" in words:
        os.kill(os.getpid(), int(words["die"]))
    os._exit(int(words.get("exit", "0")))


if __name__ == "__main__":
    main()
