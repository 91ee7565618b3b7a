"""What of the host containers see, as it is written in a file."""

from __future__ import annotations

import pytest

from paddock.config import settings as s
from paddock.config.mounts import HostMount
from tests.unit.config.files import mistakes_in, settings


def mounts(text: str) -> tuple[HostMount, ...]:
    found: tuple[HostMount, ...] = settings(f"sandbox:\n  container_mounts: {text}\n")[
        s.CONTAINER_MOUNTS
    ]
    return found


def test_mounts_are_read_as_docker_writes_them() -> None:
    assert mounts("[/a, '/b:ro', '/c:/d', '/e/:/f/:rw', '/g:/h:ro']") == (
        HostMount("/a", "/a", read_only=False),
        HostMount("/b", "/b", read_only=True),
        HostMount("/c", "/d", read_only=False),
        HostMount("/e", "/f", read_only=False),
        HostMount("/g", "/h", read_only=True),
    )
    assert mounts("[]") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/a:/b", "allowed: a list of SRC"),
        ("[models]", "allowed: a list of SRC[:DST][:ro], absolute paths"),
        ("['/a:b']", "absolute paths"),
        ("['/a:/b:rx']", "absolute paths"),
        ("['/a:/b:/c']", "absolute paths"),
        ("['/a/../etc:/b']", "allowed: paths without .."),
        ("['/a:/proc/']", "allowed: a place inside other than /, /proc"),
        ("['/a:/c', '/b:/c']", "found /c twice; allowed: each place inside once"),
        ("[[/a]]", "absolute paths"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(text: str, said: str) -> None:
    (line,) = mistakes_in(f"sandbox:\n  container_mounts: {text}\n")
    assert said in line


def test_it_is_shown_as_it_is_written() -> None:
    kind = s.CONTAINER_MOUNTS.kind
    assert kind.show(mounts("['/a:ro', '/c:/d']")) == "[/a:/a:ro, /c:/d]"
