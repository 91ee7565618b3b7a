"""Repositories over HTTP with a password, by git's own server program, on loopback."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar


class _Git(BaseHTTPRequestHandler):
    directory: ClassVar[Path]
    login: ClassVar[str]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own word
        """Nobody reads it."""

    def _answer(self) -> None:
        wanted = f"Basic {base64.b64encode(self.login.encode()).decode()}"
        if self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
            return
        head, _, body = self._asked_of_git().partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _asked_of_git(self) -> bytes:
        path, _, query = self.path.partition("?")
        size = int(self.headers.get("Content-Length") or 0)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(size),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
        }
        body = self.rfile.read(size)
        command = ["git", "-c", "safe.directory=*", "http-backend"]
        return subprocess.run(command, input=body, env=env, capture_output=True, check=True).stdout


@contextmanager
def served(directory: Path, *, login: str) -> Iterator[str]:
    """The address of all repositories in it, as `127.0.0.1:PORT`; `login` is `user:password`."""
    git = type("Git", (_Git,), {"directory": directory, "login": login})
    server = ThreadingHTTPServer(("127.0.0.1", 0), git)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
