"""Passwords in addresses of repositories: taken out before anything is shown or written."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

# Everything up to the last @ before the path: a password may hold an @ or a colon of its own.
_IN_ADDRESS: Final = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^/\s'\"]*@", re.IGNORECASE)
_IN_QUERY: Final = re.compile(
    r"([?&](?:[a-z_]*token|password|secret|key|sig)=)[^&\s'\"]+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a repository is, and what opens it; the second is never printed or stored."""

    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)  # git settings


def without_secrets(text: str) -> str:
    """`https://user:token@host/x` → `https://host/x`, wherever in the text it stands."""
    return _IN_QUERY.sub(r"\1…", _IN_ADDRESS.sub(r"\1", text))


def is_address(text: str) -> bool:
    """Whether this is a URL or `host:path`, and not a path on this machine."""
    if "://" in text:
        return True
    head, colon, _ = text.partition(":")
    return bool(colon) and "/" not in head and not text.startswith(".")


def parted(text: str) -> Address:
    """A password goes to git as a header, by the environment: `ps` shows every user a command."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return Address(text)
    login, _, host = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    url = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    header = f"Authorization: Basic {base64.b64encode(pair).decode()}"
    return Address(url, {f"http.{parts.scheme}://{host}/.extraHeader": header})
