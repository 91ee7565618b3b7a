"""A program that talks with the stand-in's model, in each provider's shape, as the real ones do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from paddock.rehearsal.heard import Answer, Heard
from paddock.rehearsal.shapes import anthropic, chat, gemini, responses

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS: dict[ModuleType, list[dict[str, Any]]] = {
    anthropic: [{"name": "Bash", "input_schema": SCHEMA}],
    responses: [{"type": "function", "name": "shell_command", "parameters": SCHEMA}],
    chat: [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}],
    gemini: [{"functionDeclarations": [{"name": "run_shell_command", "parameters": SCHEMA}]}],
}
SHAPES = list(TOOLS)


@dataclass
class Program:
    """What a program keeps: its session. `body` is the request that it would send."""

    shape: ModuleType
    session: list[dict[str, Any]] = field(default_factory=list)

    def says(self, text: str) -> Heard:
        role = {"role": "user"}
        if self.shape is gemini:
            self.session.append({**role, "parts": [{"text": text}]})
        else:
            self.session.append({**role, "content": text})
        return self.heard()

    def takes(self, answer: Answer) -> str:
        """The id of the call as the program knows it."""
        whole = self.shape.whole(answer, self.heard())
        if self.shape is anthropic:
            self.session.append({"role": "assistant", "content": whole["content"]})
            return str(whole["content"][-1]["id"])
        if self.shape is responses:
            self.session += whole["output"]
            return str(whole["output"][-1]["call_id"])
        if self.shape is chat:
            message = whole["choices"][0]["message"]
            self.session.append(message)
            return str(message["tool_calls"][-1]["id"])
        self.session.append(whole["candidates"][0]["content"])
        return str(self.session[-1]["parts"][-1]["functionCall"]["id"])

    def did(self, call: str, text: str) -> Heard:
        if self.shape is anthropic:
            content = [{"type": "text", "text": text}]
            block = {"type": "tool_result", "tool_use_id": call, "content": content}
            self.session.append({"role": "user", "content": [block]})
        elif self.shape is responses:
            self.session.append({"type": "function_call_output", "call_id": call, "output": text})
        elif self.shape is chat:
            self.session.append({"role": "tool", "tool_call_id": call, "content": text})
        else:
            response = {"id": call, "name": "run_shell_command", "response": {"output": text}}
            self.session.append({"role": "user", "parts": [{"functionResponse": response}]})
        return self.heard()

    def heard(self, *, tools: bool = True) -> Heard:
        # As it comes over the wire: nothing of ours is in it by reference.
        body = json.loads(json.dumps(self.body(tools=tools)))
        heard: Heard = self.shape.read(body)
        return heard

    def body(self, *, tools: bool = True) -> dict[str, Any]:
        key = {responses: "input", gemini: "contents"}.get(self.shape, "messages")
        offered = TOOLS[self.shape] if tools else []
        return {"model": "m", "stream": True, key: self.session, "tools": offered}
