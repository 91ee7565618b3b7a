"""Speaking with an engine: HTTP over a socket, and one line where there is none."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from paddock.drivers.container.docker import DockerEngine
from paddock.drivers.container.podman import PodmanEngine, has_oom_file
from paddock.drivers.container.probe import choose, engine_named, probe
from paddock.drivers.container.unix_http import Answer, NoAnswer, ask, request_bytes


def served(answer: bytes, tmp_path: Path, *, hang: bool = False) -> tuple[Answer, bytes]:
    """What a client makes of these bytes, and what it sent."""
    got = bytearray()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.extend(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writers.append(writer)
        if not hang:
            writer.close()

    async def whole() -> Answer:
        socket = str(tmp_path / "s")
        server = await asyncio.start_unix_server(serve, socket)
        try:
            return await ask(socket, request_bytes("GET", "/x"), within_s=0.5)
        finally:
            for writer in writers:
                writer.close()
            server.close()

    return asyncio.run(whole()), bytes(got)


def test_an_answer_with_a_length_is_taken_whole(tmp_path: Path) -> None:
    answer, sent = served(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n[1, 2]\n", tmp_path)
    assert (answer.status, answer.json()) == (200, [1, 2])
    assert sent.startswith(b"GET /x HTTP/1.1\r\nHost: ")


def test_an_answer_in_chunks_is_put_together(tmp_path: Path) -> None:
    head = b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer, _ = served(head + b"2\r\n{}\r\n0\r\n\r\n", tmp_path, hang=True)
    assert (answer.status, answer.json(), answer.is_good) == (404, {}, False)


def test_what_breaks_off_hangs_or_is_no_http_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="closed before"):
        served(b"", tmp_path)
    with pytest.raises(NoAnswer, match="not HTTP"):
        served(b"SSH-2.0-x\r\n\r\n", tmp_path)
    with pytest.raises(NoAnswer, match=r"within 0\.5 s"):
        served(b"HTTP/1.1 200 OK\r\n", tmp_path, hang=True)


def test_nobody_there_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="No such file"):
        asyncio.run(ask(str(tmp_path / "none"), b"", within_s=1.0))


def said(look: Callable[[], Awaitable[object]]) -> str:
    async def whole() -> str:
        return str(await look())

    return asyncio.run(whole())


def test_docker_that_does_not_run_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    engine = DockerEngine(str(tmp_path / "none"))
    found = asyncio.run(probe("docker", engine, "img"))
    assert not found.works
    assert "docker does not answer" in found.sentence
    assert "--driver local" in found.sentence


def test_podman_that_is_not_installed_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    async def look() -> str:
        engine = PodmanEngine(tmp_path, environment={"PATH": str(tmp_path)})
        return (await probe("podman", engine, "img")).sentence

    assert said(look) == "podman: not found; install podman or use --driver local"


def test_a_podman_that_does_not_work_is_quoted(tmp_path: Path) -> None:
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\necho 'Error: no cgroups here' >&2\nexit 125\n", encoding="ascii")
    program.chmod(0o755)

    async def look() -> str:
        engine = PodmanEngine(tmp_path / "s", environment={"PATH": f"{tmp_path}:/bin"})
        return (await probe("podman", engine, "img")).sentence

    assert said(look) == "podman does not work: Error: no cgroups here"


def test_a_path_too_long_for_a_socket_is_said_before_podman_is_asked(tmp_path: Path) -> None:
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o755)

    async def look() -> str:
        engine = PodmanEngine(tmp_path / ("d" * 100), environment={"PATH": str(tmp_path)})
        return (await probe("podman", engine, "img")).sentence

    assert "too long a path for a socket" in said(look)


def test_auto_says_of_each_engine_why_it_was_not_taken(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none"}

    async def look() -> list[tuple[str, bool]]:
        taken, probes = await choose(tmp_path, environment, "img")
        assert taken is None
        return [(one.engine, one.works) for one in probes]

    assert asyncio.run(look()) == [("podman", False), ("docker", False), ("apple", False)]


def test_an_engine_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="choose podman, docker, apple"):
        engine_named("rkt", tmp_path, os.environ)


def test_conmons_oom_file_is_found_beside_its_pid_file(tmp_path: Path) -> None:
    told = {"ConmonPidFile": str(tmp_path / "conmon.pid")}
    assert not has_oom_file(told)
    (tmp_path / "oom").touch()
    assert has_oom_file(told)
    assert not has_oom_file({})


@pytest.mark.parametrize(("driver", "takes"), [("cgroupfs", True), ("systemd", False), ("", False)])
def test_only_an_engine_that_goes_by_paths_takes_a_parent(
    driver: str, *, takes: bool, tmp_path: Path
) -> None:
    body = json.dumps({"CgroupDriver": driver, "KernelVersion": os.uname().release}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + body)
        writer.close()

    async def whole() -> DockerEngine:
        socket = str(tmp_path / "s")
        async with await asyncio.start_unix_server(serve, socket):
            engine = DockerEngine(socket)
            assert not engine.takes_cgroup_paths  # not before it was asked
            await engine.check("some:1")
            return engine

    assert asyncio.run(whole()).takes_cgroup_paths is takes
