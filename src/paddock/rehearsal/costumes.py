"""What each program needs to take the stand-in for its provider.

Variables, and files in a home of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# The network is the attempt's own, so the port is always free, and a session that is resumed
# finds the same address in what it has stored.
PORT: Final = 4010
_BASE: Final = f"http://127.0.0.1:{PORT}"
_KEY: Final = "rehearsal-needs-no-key"
_GIT: Final = "[user]\n\tname = paddock rehearsal\n\temail = rehearsal@localhost\n"


@dataclass(frozen=True, slots=True)
class Costume:
    program: str
    variables: Callable[[], dict[str, str]]
    files: dict[str, str]  # below the home


def _claude() -> dict[str, str]:
    # As root it refuses to skip permissions anywhere but in a sandbox, which this is.
    sandbox = {"IS_SANDBOX": "1"} if os.getuid() == 0 else {}
    return sandbox | {
        "ANTHROPIC_BASE_URL": _BASE,
        "ANTHROPIC_API_KEY": _KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _gemini() -> dict[str, str]:
    return {
        "GOOGLE_GEMINI_BASE_URL": _BASE,
        "GEMINI_API_KEY": _KEY,
        # Named, or it asks its model which one to take, and a minute of tries goes by.
        "GEMINI_MODEL": "gemini-2.5-pro",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_SANDBOX": "false",
    }


def _aider() -> dict[str, str]:
    return {
        "OPENAI_API_BASE": f"{_BASE}/v1",
        "OPENAI_API_KEY": _KEY,
        "AIDER_MODEL": "openai/rehearsal",
        "AIDER_CHECK_UPDATE": "false",
        "AIDER_ANALYTICS_DISABLE": "true",
        "AIDER_SHOW_MODEL_WARNINGS": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _nothing() -> dict[str, str]:
    return {}


_CODEX: Final = f"""\
model = "rehearsal"
model_provider = "rehearsal"
check_for_update_on_startup = false

[model_providers.rehearsal]
name = "rehearsal"
base_url = "{_BASE}/v1"
wire_api = "responses"
request_max_retries = 4
stream_max_retries = 0

[features]
unified_exec = false
"""
_OPENCODE: Final = json.dumps(
    {
        "autoupdate": False,
        "share": "disabled",
        "model": "rehearsal/rehearsal",
        "permission": {"*": "allow"},
        "provider": {
            "rehearsal": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "rehearsal",
                "options": {"baseURL": f"{_BASE}/v1", "apiKey": _KEY},
                "models": {"rehearsal": {"name": "rehearsal"}},
            }
        },
    }
)
_GEMINI: Final = json.dumps(
    {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
)

COSTUMES: Final[dict[str, Costume]] = {
    "claude": Costume("claude", _claude, {}),
    "codex": Costume("codex", _nothing, {".codex/config.toml": _CODEX}),
    "opencode": Costume(
        "opencode",
        lambda: {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        {".config/opencode/opencode.json": _OPENCODE},
    ),
    "gemini": Costume(
        "gemini",
        _gemini,
        {".gemini/settings.json": _GEMINI},
    ),
    "aider": Costume("aider", _aider, {}),
}


def dress(costume: Costume, home: Path) -> dict[str, str]:
    """Make its home, unless an earlier attempt did; what to add to the environment."""
    for name, text in {".gitconfig": _GIT, **costume.files}.items():
        path = home / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return {"HOME": str(home), **costume.variables()}
