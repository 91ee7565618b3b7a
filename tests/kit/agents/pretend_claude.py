"""An agent program as small as one can be: it speaks the Anthropic shape, and keeps its session.

`pretend_claude.py --session-id ID …` begins one, `--resume ID` goes on with it. With EARLY in its
environment it leaves after the first answer. Its last output says what it sees of the world.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

TOOL = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}


def ask(session: list[dict[str, Any]]) -> list[dict[str, Any]]:
    body = json.dumps({"model": "m", "messages": session, "tools": [TOOL]}).encode()
    address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    with urlopen(Request(address, body), timeout=60) as answer:
        content: list[dict[str, Any]] = json.load(answer)["content"]
    return content


def main() -> None:
    given = sys.argv[1:]
    at = next(i for i, word in enumerate(given) if word in ("--session-id", "--resume"))
    kept = Path.home() / f"{given[at + 1]}.json"
    session = json.loads(kept.read_text("utf-8")) if given[at] == "--resume" else []
    session.append({"role": "user", "content": given[-1]})
    while True:
        content = ask(session)
        session.append({"role": "assistant", "content": content})
        kept.write_text(json.dumps(session), "utf-8")
        if content[-1]["type"] != "tool_use" or "EARLY" in os.environ:
            break
        words = ["bash", "-c", content[-1]["input"]["command"]]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        block = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": done.stdout}
        session.append({"role": "user", "content": [block]})
        kept.write_text(json.dumps(session), "utf-8")
    sys.stdout.write(json.dumps({"text": content[0].get("text"), "env": dict(os.environ)}) + "\n")


main()
