"""The two clients have one source, and importing the first costs little."""

from __future__ import annotations

import inspect
import subprocess
import sys

from paddock.api.routes import ROUTES
from paddock.client import AsyncClient, Client
from paddock.client.endpoints import Endpoints, call, stream

HEAVY = ("asyncio", "starlette", "uvicorn", "rich", "pydantic", "apsw", "yaml", "subprocess")


def test_importing_the_client_brings_in_nothing_heavy() -> None:
    code = f"import sys, paddock.client; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_both_clients_have_every_method_from_one_place() -> None:
    methods = {name for name, each in vars(Endpoints).items() if isinstance(each, call | stream)}
    assert len(methods) >= 20
    for kind in (Client, AsyncClient):
        assert methods <= {name for name, _ in inspect.getmembers(kind)}
        assert not methods & vars(kind).keys()


def test_there_is_a_method_for_every_route() -> None:
    renamed = {"upload": "upload_stdin"}
    for route in ROUTES:
        assert hasattr(Endpoints, renamed.get(route.name, route.name)), route.path


def test_methods_keep_their_names_and_words() -> None:
    assert "ended" in (Endpoints.runs.__doc__ or "")
    assert Client.status.__doc__ == Endpoints.status.__doc__ != ""
