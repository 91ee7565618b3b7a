"""What people and programs write: configuration, fleets, records, boxes, reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from paddock.config.layers import settings_of
from paddock.config.mistakes import ConfigError
from paddock.config.patterns import BadPattern, Pattern
from paddock.config.policy import run_defaults, to_policy
from paddock.core.units import (
    GIB,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)
from paddock.rescue.records import Records, facts_in, object_in, read_facts, read_home
from paddock.supervisor.black_boxes import box_in
from paddock.wire.fleet_file import FleetFileError, parse_fleet
from paddock.wire.run_checks import check_heartbeat, check_run
from paddock.wire.run_lines import parse_lines
from paddock.wire.run_request import HeartbeatRequest, RunRequest
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.records import Shelf

from .target import a_place, is_clear, target, told

HERE = Path("/work")


@target(b"performance:\n  ", b"profiles:", b"agents:", b"<<: *a", b"&a ", b"memory_limit: ", b"!!")
def config(data: bytes) -> None:
    """Settings, or mistakes that can be printed; the same bytes say the same twice."""
    with a_place() as place:
        file = place / "f.yaml"
        file.write_bytes(data)
        for layer in ("user", "project"):
            try:
                found = settings_of({layer: file})
                to_policy(found, 16 * GIB)
                run_defaults(found, 16 * GIB)
                assert settings_of({layer: file}) == found
            except ConfigError as error:
                _check(error)


@target(
    b"runs:\n- ", b"name: a\n", b"command: [x]\n", b"needs: [", b"steps:", b"heartbeats:", b"env:",
)  # fmt: skip
def fleet(data: bytes) -> None:
    """What a file may say, the daemon takes, and it comes over the wire as it was."""
    with a_place() as place:
        file = place / "f.yaml"
        file.write_bytes(data)
        try:
            found = parse_fleet(file)
        except FleetFileError as error:
            _check(error)
            return
        for one in found.runs:
            assert check_run(one) is None, one
            _travels(one, RunRequest)
        for beat in found.heartbeats:
            assert check_heartbeat(beat) is None, beat
            _travels(beat, HeartbeatRequest)


@target(b'{"command": ["x"]}', b'{"name": "', b"sh -c '", b"\\ud800", b"#", b"\x85", b"\n")
def lines(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        found = parse_lines(text, file="-", directory=HERE)
    except FleetFileError as error:
        _check(error)
        return
    for one in found:
        if _is_utf8(one):
            assert check_run(one) is None, one
            _travels(one, RunRequest)


def _check(error: ConfigError) -> None:
    assert error.mistakes
    for mistake in error.mistakes:
        assert is_clear(str(mistake)), mistake


def _travels(one: Any, kind: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(one), type=kind) == one


def _is_utf8(one: RunRequest) -> bool:
    try:
        msgspec.json.encode(one)
    except UnicodeEncodeError:
        return False
    return True


@target(b"(?P<seconds>", b"(?i)", b"{1000}", b"\\p{L}", b"[[:", b"\\C", b"a*" * 20, b"\0")
def pattern(data: bytes) -> None:
    """The first line is a preset's pattern, the rest is what an agent wrote."""
    text, _, written = _text(data).partition("\n")
    try:
        made = Pattern(text)
    except BadPattern as error:
        told(str(error))
        return
    for line in written.encode("utf-8", "replace").decode("utf-8", "replace").split("\n"):
        found = made.search(line)
        assert found is None or found.keys() <= made.groups


def _text(data: bytes) -> str:
    """With lone surrogates where they are all that is wrong: YAML can write them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


@target(b"GiB", b"MB", b"1e9", b"0x1", b"1h30m", b"ms", b"none", b".", b"%", b"\xd9\xa3")
def units(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        size = parse_size(text)
        assert size > 0 and format_size(size)
    except ValueError as error:
        told(str(error))
    try:
        seconds = parse_duration(text)
        assert seconds > 0 and format_duration(seconds)
    except ValueError as error:
        told(str(error))


@target(
    b'"format": 1', b'"state": "idle"', b'"saved": {', b"1e999", b"\\ud800", b"null", b"[" * 900,
)  # fmt: skip
def workspace_record(data: bytes) -> None:
    """A record that can be written as it was read, or one line that says where it lies."""
    with a_place() as place:
        shelf = Shelf(place)
        (place / ".run.json").write_bytes(data)
        try:
            found = shelf.read("run")
        except WorkspaceError as error:
            told(str(error))
            return
        assert found is not None
        (place / ".run.json").unlink()
        (place / f".{Path(found.name).name or 'x'}.json").unlink(missing_ok=True)
        if "/" not in found.name and 0 < len(found.name.encode("utf-8", "replace")) < 100:
            shelf.write(found)
            assert shelf.read(found.name) == found


@target(b'{"why": "', b"[" * 900, b"null", b"\\ud800", b"1e999")
def black_box(data: bytes) -> None:
    with a_place() as place:
        (place / "run.json").write_bytes(data)
        found = box_in(place / "run.json")
        assert found is None or all(isinstance(text, str) for text in found.values())


@target(
    b'{"version": 2', b'"directories": {"unified": "/', b'"priority": ', b"..", b"1e999",
    b"[" * 900,
)  # fmt: skip
def rescue_files(data: bytes) -> None:
    """What a dead daemon left for rescues: whatever is in it, the machine can be rescued."""
    with a_place() as place:
        records = Records(str(place))
        (place / "keeper/attempts").mkdir(parents=True)
        for name in ("home", "ladder", "attempts/run-1.1.facts", "attempts/run.facts"):
            (place / "keeper" / name).write_bytes(data)
        (place / "instance").write_bytes(data)
        assert isinstance(object_in(records.ladder), dict)
        assert records.instance().isalnum() or not records.instance()
        read_home(records)
        for facts in read_facts(records).values():
            assert facts.run == "run-1" and facts.attempt == 1 and 0 <= facts.priority <= 3
        facts_in({}, data.decode("utf-8", "surrogateescape"))
