"""OpenAI responses: what Codex speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from paddock.rehearsal.heard import Answer, Heard, Prompt, Refusal, Result, Tool, Turn, texts_in


def read(body: dict[str, Any]) -> Heard:
    given = body.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    tools = [
        Tool(each.get("name", each["type"]), each.get("parameters") or {})
        for each in body.get("tools", [])
    ]
    return Heard(
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        tools=tuple(tools),
        turns=tuple(turn for item in items for turn in _turns(item)),
        system=str(body.get("instructions") or ""),
    )


def whole(answer: Answer, heard: Heard) -> dict[str, Any]:
    return {**_response(heard, "completed"), "output": _items(answer)}


def stream(answer: Answer, heard: Heard) -> Iterator[bytes]:
    yield opening(heard)
    for index, item in enumerate(_items(answer)):
        yield _event("response.output_item.added", output_index=index, item=item)
        if item["type"] == "message":
            where = {"item_id": item["id"], "output_index": index, "content_index": 0}
            yield _event("response.output_text.delta", **where, delta=answer.text)
        yield _event("response.output_item.done", output_index=index, item=item)
    yield _event("response.completed", response=whole(answer, heard))


def opening(heard: Heard) -> bytes:
    return _event("response.created", response=_response(heard, "in_progress"))


def limited(refusal: Refusal, heard: Heard) -> Iterator[bytes]:
    """A limit as the provider says it once a stream has begun. The status alone would do, but then
    Codex does not say until when."""
    yield opening(heard)
    error = problem(refusal)["error"]
    yield _event("response.failed", response={**_response(heard, "failed"), "error": error})


def problem(refusal: Refusal) -> dict[str, Any]:
    kind = "rate_limit_exceeded" if refusal.status == 429 else "server_error"
    # The words are the provider's: Codex reads the time from them.
    wait = f" Please try again in {refusal.retry_after_s:.1f}s." if refusal.retry_after_s else ""
    return {"error": {"message": f"{refusal.message}.{wait}", "type": kind, "code": kind}}


def _turns(item: dict[str, Any]) -> Iterator[Turn]:
    if str(item.get("type", "")).endswith("_output"):
        yield Result(item.get("call_id", ""), texts_in(item.get("output")))
    elif item.get("role") == "user":
        yield Prompt(texts_in(item))


def _response(heard: Heard, status: str) -> dict[str, Any]:
    usage = {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 14,
    }
    return {"id": f"resp_{uuid4().hex}", "object": "response", "model": heard.model} | {
        "status": status,
        "output": [],
        "usage": usage if status == "completed" else None,
    }


def _items(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        found.append(
            {"type": "message", "id": f"msg_{uuid4().hex}", "role": "assistant"}
            | {"status": "completed", "content": content}
        )
    if answer.call is not None:
        call = answer.call
        found.append(
            {"type": "function_call", "id": f"fc_{call.id}", "call_id": f"call_{call.id}"}
            | {"name": call.tool, "arguments": json.dumps(call.arguments), "status": "completed"}
        )
    return found


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
