"""Anthropic messages: what Claude Code speaks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

from paddock.rehearsal.heard import Answer, Heard, Prompt, Refusal, Result, Tool, Turn, texts_in

_KINDS: Final = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}


def read(body: dict[str, Any]) -> Heard:
    said = [each for each in body.get("messages", []) if each.get("role") == "user"]
    tools = [Tool(each["name"], each.get("input_schema", {})) for each in body.get("tools", [])]
    return Heard(
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        tools=tuple(tools),
        turns=tuple(turn for message in said for turn in _turns(message.get("content"))),
        system=texts_in(body.get("system")),
    )


def whole(answer: Answer, heard: Heard) -> dict[str, Any]:
    return {**_message(heard), "content": _blocks(answer), **_stop(answer)}


def stream(answer: Answer, heard: Heard) -> Iterator[bytes]:
    yield _event("message_start", message={**_message(heard), "content": []})
    yield _event("ping")
    for index, block in enumerate(_blocks(answer)):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta=_stop(answer), usage={"output_tokens": 7})
    yield _event("message_stop")


def opening(heard: Heard) -> bytes:
    """How an answer begins that then does not go on."""
    return _event("message_start", message={**_message(heard), "content": []})


def problem(refusal: Refusal) -> dict[str, Any]:
    kind = _KINDS.get(refusal.status, "api_error")
    message = refusal.message
    if refusal.until is not None:
        # The provider's own words for a limit that ends at a stated time.
        message = f"Claude AI usage limit reached|{math.ceil(refusal.until)}"
    return {"type": "error", "error": {"type": kind, "message": message}}


def _turns(content: Any) -> Iterator[Turn]:
    if isinstance(content, str):
        yield Prompt(content)
        return
    for block in content or ():
        if block.get("type") == "tool_result":
            yield Result(block.get("tool_use_id", ""), texts_in(block.get("content")))
        elif not texts_in(block).startswith("<system-reminder>"):  # the program's own word
            yield Prompt(texts_in(block))


def _message(heard: Heard) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid4().hex}",  # two with one id would be one to the program
        "type": "message",
        "role": "assistant",
        "model": heard.model,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 7},
    }


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.text:
        found.append({"type": "text", "text": answer.text})
    if answer.call is not None:
        call = answer.call
        found.append(
            {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.tool}
            | {"input": call.arguments}
        )
    return found


def _stop(answer: Answer) -> dict[str, Any]:
    return {"stop_reason": "tool_use" if answer.call else "end_turn", "stop_sequence": None}


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
