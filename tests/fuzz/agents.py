"""What agents say of themselves: when to be tried again, checkpoints, streams between steps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from paddock.agent.keeping import load
from paddock.rehearsal import ledger
from paddock.stream.acks import Acks
from paddock.stream.ends import Trouble
from paddock.stream.journal import Journal
from paddock.stream.ledger import Ledger
from paddock.stream.spec import Stage, Step, read_stage
from paddock.supervisor.later import stated_in
from paddock.supervisor.stated_times import wait_s
from paddock.tool.advice import find_workers
from paddock.tool.leases import Holder

from .target import a_place, is_clear, target, told

NOW = datetime(2026, 11, 17, 5, 0, tzinfo=UTC)
USUAL = {"each": "stream", "cut": "bytes", "resume": "replay"}
STAGE = Stage(
    [Step(name, ["x"], USUAL) for name in ("a", "b", "c")],
    {"chunk_bytes": 1 << 20, "queued": 10, "grace_s": 1.0, "linger_s": 1.0},
)


@target(
    b"90", b"2026-11-16T18:00:00Z", b"Mon, 16 Nov 2026 18:00:00 GMT", b"3pm (Europe/Berlin)",
    b"1h 5m", b"9" * 300, b"+99:99", b"0001-01-01T00:00:00+23:59", b"Feb 29 3pm", b"inf", b"nan",
    b"1e400",
)  # fmt: skip
def try_later(data: bytes) -> None:
    """A time that is there, or what is wrong with it; never one before now."""
    with a_place() as place:
        file = place / "later"
        file.write_bytes(data)
        stated = stated_in(str(file), now=NOW.timestamp())
        assert stated.after_s is None or 0 <= stated.after_s < 1e15
        assert stated.problem is None or is_clear(stated.problem)
    text = data.decode("utf-8", "replace")
    for kind in ("seconds", "epoch", "duration", "until"):
        found = wait_s(kind, text, NOW)
        assert found is None or 0 < found < float("inf")


@target(b'{"done": 1}', b"[" * 900, b"NaN", b"\xff", b"\\ud800")
def checkpoint(data: bytes) -> None:
    """What an attempt kept: itself, or the one error that says that somebody else wrote it."""
    with a_place() as place, _environment(PADDOCK_CHECKPOINT_DIR=str(place)):
        (place / "checkpoint.json").write_bytes(data)
        try:
            load()
        except ValueError as error:
            told(str(error))


@target(
    b'{"spool":1,"steps":[["a","stream"],["b","stream"],["c","stream"]]}\n',
    b'{"seal":{"link":0,"n":0,', b"[" * 900, b'"at":0,"bytes":5,"sha256":"00"}}\n',
    b'{"ack":{"link":0,"upto":5}}\n', b'{"drop":0}\n', b'{"done":1}\n', b"1e999",
    b'{"upto":{"link":0,"kept":0,"acked":0,"reached":0,"base":0}}\n',
    b'{"from":{"link":0,"n":1,"at":1}}\n', b"\n",
)  # fmt: skip
def stream_journal(data: bytes) -> None:
    """What a killed relay left: read, cut off at what was torn, or damage that is said. Written
    anew it says the same."""
    with a_place() as place:
        (place / "journal").write_bytes(data)
        journal = Journal(str(place), STAGE)
        try:
            journal.load()
            journal.add({"done": 0})
            ledger = journal.load()
            journal.shorten(ledger)
            assert _standing(journal.load()) == _standing(ledger)
        except Trouble as error:
            told(str(error))
        finally:
            journal.close()


def _standing(ledger: Ledger) -> list[object]:
    found: list[object] = [sorted(ledger.done)]
    for link in ledger.links:
        numbers = (link.number, link.sealed, link.acked, link.base, link.reached)
        found.append((numbers, [(chunk.number, chunk.at, chunk.size) for chunk in link.kept]))
    return found


@target(
    b'{"steps": [{"name": "a", "command": ["x"]}]', b'"queued": ', b"1e999", b"[" * 900, b"\\u0000",
    b"NaN", b"\\ud800",
)  # fmt: skip
def stage(data: bytes) -> None:
    with a_place() as place:
        (place / "stage").write_bytes(data)
        try:
            found = read_stage([str(place / "stage")], {})
        except Trouble as error:
            told(str(error))
            return
        for step in found.steps:
            assert b"\0" not in b"".join(map(os.fsencode, (step.name, *step.command)))


@target(b"1\n", b"\n", b"9" * 80, b"-1\n", b" 3 \n", b"\xd9\xa3\n")
def acknowledgements(data: bytes) -> None:
    acks = Acks("a", 0)
    writer = acks.pipe()
    os.set_blocking(writer, False)
    try:
        os.write(writer, data[:60_000])
    finally:
        os.close(writer)
    try:
        while acks.descriptor >= 0:
            acks.hear(1000)
        assert 0 <= acks.upto <= 1000
    except Trouble as error:
        told(str(error))
    finally:
        if acks.descriptor >= 0:
            os.close(acks.descriptor)


@target(b'{"what": "refused", "step": 1, "until": ', b"\n", b"[" * 900, b"null")
def rehearsal_ledger(data: bytes) -> None:
    with a_place() as place:
        (place / "ledger").write_bytes(data)
        found = ledger.Ledger(place / "ledger")
        assert found.times("refused", 1) >= 0
        found.first_until(1)


@target(
    b"make\0-j", b"pytest\0-n\0auto", b"9" * 400, b"mvn\0-T\x001C", b"%", b"sh\0-c\0", b"\xc2\xb2",
)  # fmt: skip
def tool_words(data: bytes) -> None:
    """A command of an agent, as its shim looks at it; and what somebody wrote into a lease."""
    words = data.decode("utf-8", "replace").split("\0")
    env = {"MAKEFLAGS": words[-1], "PYTEST_XDIST_AUTO_NUM_WORKERS": words[0]}
    found = find_workers(words, env, cpus=2)
    assert found is None or found.number is None or found.number > 0
    assert is_clear(str(Holder(1, data.decode("utf-8", "replace"))))


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
