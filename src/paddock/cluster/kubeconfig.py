"""From a kubeconfig to a line to its cluster. Others write that file, perhaps just now.

Whatever is wrong with it, and with the programs it names for logging in, is one line, and ends
nobody: a daemon has other runs than those of a cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2
import lightkube
import yaml
from lightkube import KubeConfig
from lightkube.config import client_adapter

LOGIN_S: Final = 60.0  # what a program for it may take
LONGEST: Final = 300
LOGIN_API: Final = "client.authentication.k8s.io"


class BadKubeconfig(Exception):
    """What is wrong with it."""


class Line(NamedTuple):
    server: str
    namespace: str
    client: lightkube.AsyncClient
    raw: httpx2.AsyncClient  # output is bytes: lightkube's own reader of logs makes text of it


def line_to(
    kubeconfig: Path | None, context: str | None, *, namespace: str | None, params: Any
) -> Line:
    """`params` are lightkube's for a client; None is what kubectl would take."""
    try:
        config = _read(kubeconfig, context)
        server = _checked(config.cluster.server)
        namespace = namespace or config.namespace or "default"
        client = lightkube.AsyncClient(config=config, namespace=namespace, **params)
        raw_params = client_adapter.ConnectionParams(timeout=params["timeout"])
        raw = client_adapter.AsyncClient(config, raw_params)
    except BadKubeconfig:
        raise
    except Exception as error:  # noqa: BLE001 - of a file that may hold anything
        raise BadKubeconfig(about(error)) from None
    for each in (raw, client._client._client):  # noqa: SLF001 - it has no other door for this
        if each.auth is not None:
            each.auth = Login(each.auth)
    return Line(server, namespace, client, raw)


def _read(kubeconfig: Path | None, context: str | None) -> Any:
    found = KubeConfig.from_env() if kubeconfig is None else KubeConfig.from_file(kubeconfig)
    one = found.get(context_name=context) if context else found.get()
    if one is None:
        raise BadKubeconfig("the kubeconfig names no current context")
    login = one.user.exec if one.user is not None else None
    if login is not None and login.apiVersion == f"{LOGIN_API}/v1":
        # It says a token as the one before it does, which is all that lightkube knows.
        login.apiVersion = f"{LOGIN_API}/v1beta1"
    return one


def _checked(server: str) -> str:
    """Else it is only found out in the middle of a request, in one of many ways."""
    url = httpx2.URL(server)
    if url.scheme not in ("http", "https") or not url.host or not 0 < (url.port or 443) < 65536:
        raise BadKubeconfig(f"its server is {server!r}; allowed: an address, as https://host:6443")
    return server


class Login(httpx2.Auth):
    """One that fails is a cluster that cannot be reached: it is tried again, like one."""

    def __init__(self, auth: httpx2.Auth) -> None:
        self._auth = auth

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = self._auth.async_auth_flow(request)
        try:
            step = anext(flow)
            while True:
                async with asyncio.timeout(LOGIN_S):
                    request = await step
                step = flow.asend((yield request))
        except StopAsyncIteration:
            return
        except Exception as error:  # noqa: BLE001 - of a program, and of what it says
            raise httpx2.ConnectError(f"no login: {about(error)}") from None
        finally:
            await flow.aclose()


def about(error: BaseException) -> str:
    """One line, without what stands in the file: that may be a token."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1} is no YAML: {error.problem}"
    if isinstance(error, AttributeError | TypeError | LookupError | RecursionError):
        return f"it is not as kubectl would take it ({error})"
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__
