"""Gemini's generateContent and streamGenerateContent: what Gemini CLI speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from paddock.rehearsal.heard import Answer, Heard, Prompt, Refusal, Result, Tool, Turn, texts_in

_STATUS: Final = {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


def read(body: dict[str, Any]) -> Heard:
    contents = body.get("contents", [])
    said = [content for content in contents if content.get("role") != "model"]
    parts = [part for content in said for part in content.get("parts", [])]
    declared = [
        each for group in body.get("tools") or [] for each in group.get("functionDeclarations", [])
    ]
    return Heard(
        model="gemini",
        stream=False,  # the address says it here, not the body
        tools=tuple(Tool(each["name"], _schema(each)) for each in declared),
        turns=tuple(turn for part in parts for turn in _turns(part)),
        system=texts_in(body.get("systemInstruction")),
    )


def whole(answer: Answer, heard: Heard) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if answer.text:
        parts.append({"text": answer.text})
    if answer.call is not None:
        call = answer.call
        parts.append({"functionCall": {"id": call.id, "name": call.tool, "args": call.arguments}})
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 7, "totalTokenCount": 14}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": heard.model}


def stream(answer: Answer, heard: Heard) -> Iterator[bytes]:
    yield f"data: {json.dumps(whole(answer, heard))}\n\n".encode()


def opening(heard: Heard) -> bytes:
    """A comment: with this provider an answer may be one event, so nothing comes before it."""
    return f": {heard.model}\n\n".encode()


def problem(refusal: Refusal) -> dict[str, Any]:
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.message} | {
        "status": _STATUS.get(refusal.status, "UNKNOWN")
    }
    if refusal.retry_after_s is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{refusal.retry_after_s:.0f}s"}]
    return {"error": error}


def _turns(part: dict[str, Any]) -> Iterator[Turn]:
    found = part.get("functionResponse")
    if found is not None:
        yield Result(str(found.get("id", "")), json.dumps(found))
    elif "text" in part:
        yield Prompt(str(part["text"]))


def _schema(declared: dict[str, Any]) -> dict[str, Any]:
    found = declared.get("parametersJsonSchema") or declared.get("parameters") or {}
    return found if isinstance(found, dict) else {}
