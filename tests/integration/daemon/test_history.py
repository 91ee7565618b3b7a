"""What real agents did is still known after the daemon that saw it has ended."""

from __future__ import annotations

import apsw

from tests.kit.house import House
from tests.kit.waiting import until


def test_the_past_outlives_the_daemon(house: House) -> None:
    for words in (("sh", "-c", "sleep 0.3"), ("false",)):
        house.paddock("run", "--memory", "64M", "--", *words)
    assert house.paddock("daemon", "stop").returncode == 0
    house.start()
    with house.client() as client:
        found = client.history(groups=True, ledger=True)
    assert sum(point.starts for point in found.points) == 2
    assert sum(point.ends.get("failed", 0) for point in found.points) == 1
    assert max(point.agents_max for point in found.points) == 1
    assert sum(group.attempts for group in found.groups) == 2
    assert max(group.limit_bytes or 0 for group in found.groups) == 64 << 20
    life, *_ = [entry for entry in found.ledger if entry.kind == "daemon"]
    assert life.verdict == "stopped" and life.until_at is not None and life.until_at > life.at


def lives(house: House) -> list[str]:
    with house.client() as client:
        found = client.history(ledger=True).ledger
    return [entry.verdict for entry in found if entry.kind == "daemon"]


def test_a_daemon_that_was_killed_did_not_stop(house: House) -> None:
    house.start()
    until(lambda: lives(house) == [""], within_s=30)
    assert house.kill_daemon()
    house.start()
    until(lambda: lives(house) == ["", ""], within_s=30)
    house.paddock("daemon", "stop")
    house.start()
    until(lambda: lives(house) == ["", "stopped", ""], within_s=30)


def test_a_past_that_rotted_is_no_reason_to_end(house: House) -> None:
    house.start()
    until(lambda: lives(house) == [""], within_s=30)
    assert house.paddock("daemon", "stop").returncode == 0
    with apsw.Connection(str(house.places.state / "paddock.db")) as db:
        db.execute("UPDATE rollups SET data = x'c1'")
        db.execute("UPDATE ledger SET facts = '{'")
    db.close()
    house.start()
    until(lambda: lives(house) == ["stopped", ""], within_s=30)  # it has written, and lives
    assert house.paddock("daemon", "stop").returncode == 0
    log = (house.places.state / "daemon.log").read_text(encoding="utf-8")
    assert log.count("unreadable rows of the history") == 1 and "Traceback" not in log
