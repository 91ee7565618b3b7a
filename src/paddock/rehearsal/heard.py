"""What a request says and what an answer holds, whichever provider's shape it came in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """What the program offers to do for its model."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)  # JSON schema


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person said, or whoever resumed the session."""

    text: str


Turn = Result | Prompt


@dataclass(frozen=True, slots=True)
class Heard:
    """A conversation so far."""

    model: str
    stream: bool
    tools: tuple[Tool, ...]
    turns: tuple[Turn, ...]  # of the program and its user, in order
    system: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """No answer: a status, and after how long to ask again."""

    status: int
    message: str
    until: float | None = None  # when to ask again, since the epoch
    now: float = 0.0

    @property
    def retry_after_s(self) -> float | None:
        return None if self.until is None else max(0.0, self.until - self.now)


def texts_in(content: Any) -> str:
    """The text of a message, however deep a provider puts it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(texts_in, content)))
    if isinstance(content, dict):
        for key in ("text", "content", "output", "parts"):
            if key in content:
                return texts_in(content[key])
    return ""
