"""A kubeconfig is somebody else's file: whatever is wrong with it is one line, and ends nobody."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from paddock.cluster.client import Api, ClusterTrouble, Where
from paddock.cluster.kubeconfig import Login
from tests.kit.cluster.choice import AnyCluster
from tests.kit.house import a_house

SECRET = "sesame"


def written(path: Path, server: str, user: dict[str, Any]) -> Path:
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": server}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "b"}}],
        "current-context": "a",
        "users": [{"name": "b", "user": user}],
    }
    path.write_text(yaml.safe_dump(found), encoding="utf-8")
    return path


def by_program(path: Path, server: str, script: str, *, version: str = "v1") -> Path:
    api = f"client.authentication.k8s.io/{version}"
    login = {"apiVersion": api, "command": "sh", "args": ["-c", script]}
    return written(path, server, {"exec": login})


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe\x00",
        b"- 1\n",
        b"clusters: 5\n",
        b"a: [" + SECRET.encode() + b"\n",
        b"[" * 100_000,
        b"a: &a [*a]\n",
    ],
    ids=["empty", "binary", "a list", "a number", "no YAML", "deep", "in a circle"],
)
def test_a_file_that_is_none_is_one_line_without_what_is_in_it(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "kubeconfig"
    file.write_bytes(text)
    with pytest.raises(ClusterTrouble, match=r"\Ano cluster is configured: .+\Z") as told:
        Api(Where(kubeconfig=file))
    assert SECRET not in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("server", "user"),
    [
        ("::::", {}),
        ("http://[::bad", {}),
        ("ftp://x", {}),
        ("http://127.0.0.1:99999", {}),
        ("https://127.0.0.1:1", {"client-certificate": "/no/such", "client-key": "/no/such"}),
        ("https://127.0.0.1:1", {"auth-provider": {"name": "gcp"}}),
    ],
)
def test_so_is_a_cluster_that_cannot_be(tmp_path: Path, server: str, user: dict[str, Any]) -> None:
    file = written(tmp_path / "kubeconfig", server, user)
    with pytest.raises(ClusterTrouble, match=r"\Ano cluster is configured: .+\Z"):
        Api(Where(kubeconfig=file))


@pytest.mark.parametrize(
    "script", ["exit 3", "echo no json", "echo '{}'", "echo '{\"status\": null}'"]
)
def test_a_program_that_gives_no_login_is_a_cluster_that_cannot_be_reached(
    tmp_path: Path, cluster: AnyCluster, script: str
) -> None:
    async def asked() -> None:
        api = Api(Where(kubeconfig=by_program(tmp_path / "kubeconfig", cluster.url, script)))
        with pytest.raises(ClusterTrouble, match="cannot be reached: no login: "):
            await api.reachable()
        with pytest.raises(ClusterTrouble, match=r"does not answer .* no login: "):
            await api.read("/version", patience_s=0.1)
        await api.close()

    asyncio.run(asked())


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_a_program_may_give_the_login(tmp_path: Path, cluster: AnyCluster, version: str) -> None:
    said = json.dumps({"status": {"token": "me"}})
    script = f"echo x >>{tmp_path}/asked; echo '{said}'"
    file = by_program(tmp_path / "kubeconfig", cluster.url, script, version=version)

    async def asked() -> None:
        api = Api(Where(kubeconfig=file))
        await api.reachable()
        await api.close()

    asyncio.run(asked())
    assert (tmp_path / "asked").read_text() == "x\n"


class Expiring(httpx2.Auth):
    """After a 401 it asks its program again, which has none."""

    async def async_auth_flow(self, request: httpx2.Request) -> Any:
        response = yield request
        if response.status_code == 401:
            raise KeyError("status")


def test_a_login_that_cannot_be_had_again_is_no_bug() -> None:
    answers = iter([200, 401])
    transport = httpx2.MockTransport(lambda _: httpx2.Response(next(answers)))

    async def asked() -> None:
        async with httpx2.AsyncClient(transport=transport, auth=Login(Expiring())) as client:
            assert (await client.get("https://a/")).status_code == 200
            with pytest.raises(httpx2.ConnectError, match="no login: "):
                await client.get("https://a/")

    asyncio.run(asked())


def test_a_daemon_starts_and_runs_what_lives_here(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_bytes(b"")
    config = f"kubernetes: {{kubeconfig: {file}, image: 'agents:1'}}\n"
    with a_house(tmp_path, config=config) as house:
        house.start()
        done = house.paddock("run", "--", "true")
        assert done.returncode == 0, done.stderr
        refused = house.paddock("submit", "--driver", "kubernetes", "--", "true")
        assert "no cluster is configured" in refused.stderr


def test_nor_does_a_directory_in_the_place_of_its_note_keep_a_daemon(tmp_path: Path) -> None:
    file = written(tmp_path / "kubeconfig", "https://127.0.0.1:1", {})
    config = f"kubernetes: {{kubeconfig: {file}, image: 'agents:1'}}\n"
    with a_house(tmp_path, config=config) as house:
        (house.places.state / "kubernetes/full").mkdir(mode=0o700, parents=True)
        house.places.state.chmod(0o700)
        house.start()
        done = house.paddock("run", "--", "true")
        assert done.returncode == 0, done.stderr
