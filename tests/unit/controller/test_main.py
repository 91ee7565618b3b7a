"""Log lines of a controller: one JSON object each, whatever is in the message."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from paddock.controller.main import JsonLines


def line_of(message: str, *words: object, **more: object) -> str:
    record = logging.LogRecord("paddock.controller", logging.WARNING, "f", 1, message, words, None)
    for name, value in more.items():
        setattr(record, name, value)
    return JsonLines().format(record)


@pytest.mark.parametrize("said", ['a "quoted" word', "two\nlines", "back\\slash", "ä\x00\x1b[31m"])
def test_any_message_is_one_object_on_one_line(said: str) -> None:
    line = line_of("AgentRun %s: 100%% of it", said)
    assert "\n" not in line
    read = json.loads(line)
    assert read["message"] == f"AgentRun {said}: 100% of it"
    assert (read["from"], read["level"]) == ("paddock.controller", "warning")
    assert read["at"]


def test_a_trace_is_in_it() -> None:
    try:
        raise RuntimeError('no "such" thing')
    except RuntimeError:
        line = line_of("the controller met a bug", exc_info=sys.exc_info())
    read = json.loads(line)
    assert 'RuntimeError: no "such" thing' in read["trace"] and "\n" not in line
