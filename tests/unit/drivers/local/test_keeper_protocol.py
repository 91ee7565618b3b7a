"""Messages: whole lines from any cut of the stream, and orders checked before they are used."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.drivers.local.keeper.protocol import (
    MAX_MESSAGE_BYTES,
    BadMessage,
    Lines,
    Order,
    Refused,
    decode,
    encode,
    journal_name,
)

PLAIN: dict[str, Any] = {
    "attempt": "run-1.1",
    "argv": ["true"],
    "env": {"PATH": "/bin"},
    "cwd": "/",
    "fifo": "/f",
    "segment": "/s",
    "cap_bytes": 10,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers())), st.data())
def test_messages_arrive_whole_however_the_stream_is_cut(
    messages: list[dict[str, Any]], data: st.DataObject
) -> None:
    stream = b"".join(map(encode, messages))
    lines, found = Lines(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += lines.feed(stream[:cut])
        stream = stream[cut:]
    assert [decode(line) for line in found] == messages


@given(st.binary())
def test_any_line_is_a_message_or_a_bad_one(line: bytes) -> None:
    with suppress(BadMessage):
        assert isinstance(decode(line), dict)


def test_a_message_that_never_ends_is_not_kept() -> None:
    lines = Lines()
    for _ in range(MAX_MESSAGE_BYTES // 65536):
        lines.feed(b"x" * 65536)
    with pytest.raises(BadMessage):
        lines.feed(b"x")


def test_bytes_that_are_no_text_survive_the_way() -> None:
    name = os.fsdecode(b"/tmp/\xff\xfe")
    assert os.fsencode(decode(encode({"path": name}))["path"]) == b"/tmp/\xff\xfe"


def test_an_order_has_defaults_and_the_mark() -> None:
    order = Order({**PLAIN, "env": {}})
    assert order.env == {"PADDOCK_ATTEMPT": "run-1.1"}
    assert (order.stdin, order.umask, order.cgroups) == ("/dev/null", 0o022, [])
    assert (order.oom_score_adj, order.nofile) == (None, None)


def test_a_mark_that_was_given_is_kept() -> None:
    order = Order({**PLAIN, "env": {"PADDOCK_ATTEMPT": "mine"}})
    assert order.env["PADDOCK_ATTEMPT"] == "mine"


def test_secrets_and_prompts_are_dropped_once_the_process_is_there() -> None:
    order = Order({**PLAIN, "argv": ["claude", "-p", "a long prompt"], "env": {"TOKEN": "x"}})
    order.slim()
    assert (order.argv, order.env) == (["claude"], {})


BAD: dict[str, list[Any]] = {
    "attempt": ["", "x" * 201, "a\nb", 1, None],
    "argv": [[], [""], ["-x"], ["a", 1], "true", ["a\0"], None],
    "env": [None, [], {"a": 1}, {"": "x"}, {"a=b": "x"}, {"a": "\0"}],
    "cwd": ["", "relative", 3, "/\ud800"],
    "fifo": [None, "x"],
    "cap_bytes": [-1, 1.5, True, "1", None, 1 << 63],
    "cgroups": ["x", [1]],
    "oom_score_adj": [-1001, 1001, "0"],
    "umask": [-1, 0o1000],
    "stdin": ["x", None],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in BAD.items() for value in values]
)
def test_an_order_that_cannot_be_is_refused(field: str, value: object) -> None:
    with pytest.raises(Refused, match=r"wanted|hold|printable|'='"):
        Order({**PLAIN, field: value})


def test_a_refusal_does_not_repeat_what_may_be_secret() -> None:
    with pytest.raises(Refused) as refused:
        Order({**PLAIN, "env": {"TOKEN": "hunter2\0"}})
    assert "hunter2" not in str(refused.value)


@given(st.dictionaries(st.sampled_from(sorted([*PLAIN, "stdin", "umask", "nofile"])), JSON))
def test_no_order_does_more_than_be_refused(changes: dict[str, Any]) -> None:
    with suppress(Refused):
        Order({**PLAIN, **changes})


def test_every_keeper_has_a_journal_of_its_own() -> None:
    assert journal_name({"pid": 3, "start": 77}) != journal_name({"pid": 3, "start": 78})
