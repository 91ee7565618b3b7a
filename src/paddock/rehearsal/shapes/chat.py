"""OpenAI chat completions: what opencode, Aider and many others speak."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from paddock.rehearsal.heard import Answer, Heard, Prompt, Refusal, Result, Tool, Turn, texts_in

_USAGE: Final = {"prompt_tokens": 7, "completion_tokens": 7, "total_tokens": 14}


def read(body: dict[str, Any]) -> Heard:
    messages = body.get("messages", [])
    functions = [each["function"] for each in body.get("tools") or [] if "function" in each]
    tools = [Tool(each["name"], each.get("parameters") or {}) for each in functions]
    system = [texts_in(each) for each in messages if each.get("role") == "system"]
    return Heard(
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        tools=tuple(tools),
        turns=tuple(turn for message in messages for turn in _turns(message)),
        system="\n".join(system),
    )


def whole(answer: Answer, heard: Heard) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.call is not None:
        message["tool_calls"] = [_call(answer)]
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer)}
    return {**_head(heard, "chat.completion"), "choices": [choice], "usage": _USAGE}


def stream(answer: Answer, heard: Heard) -> Iterator[bytes]:
    yield opening(heard)
    if answer.text:
        yield _chunk(heard, {"content": answer.text})
    if answer.call is not None:
        yield _chunk(heard, {"tool_calls": [{"index": 0, **_call(answer)}]})
    yield _chunk(heard, {}, reason=_reason(answer))
    yield _data({**_head(heard, "chat.completion.chunk"), "choices": [], "usage": _USAGE})
    yield b"data: [DONE]\n\n"


def opening(heard: Heard) -> bytes:
    return _chunk(heard, {"role": "assistant", "content": ""})


def problem(refusal: Refusal) -> dict[str, Any]:
    kind = "rate_limit_exceeded" if refusal.status == 429 else "server_error"
    wait = f" Please try again in {refusal.retry_after_s:.1f}s." if refusal.retry_after_s else ""
    return {"error": {"message": f"{refusal.message}.{wait}", "type": kind, "code": kind}}


def _turns(message: dict[str, Any]) -> Iterator[Turn]:
    if message.get("role") == "tool":
        yield Result(message.get("tool_call_id", ""), texts_in(message.get("content")))
    elif message.get("role") == "user":
        yield Prompt(texts_in(message.get("content")))


def _call(answer: Answer) -> dict[str, Any]:
    call = answer.call
    assert call is not None
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{call.id}", "type": "function", "function": function}


def _reason(answer: Answer) -> str:
    return "tool_calls" if answer.call else "stop"


def _head(heard: Heard, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-rehearsal", "object": kind, "created": 1, "model": heard.model}


def _chunk(heard: Heard, delta: dict[str, Any], *, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _data({**_head(heard, "chat.completion.chunk"), "choices": [choice]})


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
