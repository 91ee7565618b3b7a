"""What goes over the wire. That the real programs take it is shown in tests/agents."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from paddock.rehearsal.heard import Answer, Call, Heard, Prompt, Refusal, Result, texts_in
from paddock.rehearsal.shapes import anthropic, chat, gemini, responses

from .talking import SHAPES, Program

CALL = Call("rehearsal3x1", "Bash", {"command": "echo 'ä\n'"})
HEARD = Heard("m", stream=True, tools=(), turns=())


def events(shape: ModuleType, answer: Answer) -> list[dict[str, Any]]:
    found = []
    for block in b"".join(shape.stream(answer, HEARD)).decode().split("\n\n"):
        data = [line.removeprefix("data: ") for line in block.split("\n") if "data: " in line[:6]]
        if data and data != ["[DONE]"]:
            found.append(json.loads(data[0]))
    return found


def test_anthropic_streams_blocks_one_after_the_other() -> None:
    found = events(anthropic, Answer("Hello", CALL))
    kinds = [event["type"] for event in found]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds == ["message_start", "ping", *block, *block, "message_delta", "message_stop"]
    assert found[3]["delta"] == {"type": "text_delta", "text": "Hello"}
    assert found[5]["content_block"]["id"] == "toolu_rehearsal3x1"
    assert json.loads(found[6]["delta"]["partial_json"]) == CALL.arguments
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    assert events(anthropic, Answer("Bye"))[-2]["delta"]["stop_reason"] == "end_turn"
    # Two messages with one id are one to Claude Code.
    ids = {events(anthropic, Answer("x"))[0]["message"]["id"] for _ in range(2)}
    assert len(ids) == 2


def test_responses_end_with_the_whole_of_it() -> None:
    found = events(responses, Answer("Hello", CALL))
    assert found[0]["type"] == "response.created"
    last = found[-1]
    assert last["type"] == "response.completed"
    message, call = last["response"]["output"]
    assert message["content"][0]["text"] == "Hello"
    assert (call["type"], call["call_id"]) == ("function_call", "call_rehearsal3x1")
    assert json.loads(call["arguments"]) == CALL.arguments
    assert last["response"]["usage"]["total_tokens"] == 14


def test_chat_completions_end_with_a_reason_and_the_usage() -> None:
    found = events(chat, Answer("Hello", CALL))
    deltas = [each["choices"][0] for each in found if each["choices"]]
    assert deltas[1]["delta"] == {"content": "Hello"}
    (call,) = deltas[2]["delta"]["tool_calls"]
    assert (call["index"], call["id"]) == (0, "call_rehearsal3x1")
    assert json.loads(call["function"]["arguments"]) == CALL.arguments
    assert deltas[-1]["finish_reason"] == "tool_calls"
    assert found[-1]["usage"]["total_tokens"] == 14
    assert b"".join(chat.stream(Answer("x"), HEARD)).endswith(b"data: [DONE]\n\n")


def test_gemini_sends_one_candidate() -> None:
    (event,) = events(gemini, Answer("Hello", CALL))
    text, call = event["candidates"][0]["content"]["parts"]
    assert text == {"text": "Hello"}
    assert call["functionCall"]["args"] == CALL.arguments


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_program_keeps_of_an_answer_is_read_back(shape: ModuleType) -> None:
    program = Program(shape)
    program.says("do it")
    heard = program.did(program.takes(Answer("Hello", CALL)), "done 'ä")
    assert isinstance(heard.turns[0], Prompt) and heard.turns[0].text == "do it"
    result = heard.turns[1]
    assert isinstance(result, Result) and result.call.endswith("rehearsal3x1")
    assert "done '" in result.text
    assert [tool.name for tool in heard.tools] and "command" in str(heard.tools[0].parameters)


def test_what_claude_code_adds_by_itself_is_nobodys_prompt() -> None:
    reminder = {"type": "text", "text": "<system-reminder>\nBe brief.\n</system-reminder>"}
    body = {"messages": [{"role": "user", "content": [reminder, {"type": "text", "text": "a"}]}]}
    assert anthropic.read(body).turns == (Prompt("a"),)


def test_a_limit_is_worded_as_each_provider_words_it() -> None:
    limit = Refusal(429, "Rate limit reached", until=1030.5, now=1000.0)
    assert "usage limit reached|1031" in anthropic.problem(limit)["error"]["message"]
    assert "try again in 30.5s" in chat.problem(limit)["error"]["message"]
    assert "try again in 30.5s" in b"".join(responses.limited(limit, HEARD)).decode()
    assert gemini.problem(limit)["error"]["details"][0]["retryDelay"] == "30s"
    for shape in SHAPES:
        assert "no luck" in str(shape.problem(Refusal(500, "no luck")))
        assert shape.opening(HEARD).endswith(b"\n\n")


def test_empty_and_odd_requests_are_read_too() -> None:
    for shape in SHAPES:
        heard = shape.read({})
        assert (heard.turns, heard.tools) == ((), ())
    assert responses.read({"input": "do it"}).turns == (Prompt("do it"),)
    assert texts_in(None) == "" and texts_in([{"type": "image"}, "a"]) == "a"
