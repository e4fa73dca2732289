"""A folder of files as a web site, in a process of its own, for crawls of real documentation.

    python -m perseid.testing.folder /usr/share/doc/postgresql-doc-15/html

The first line of stdout is the address. `/-/requests` tells as JSON how often each path was asked for, `/-/total` how
often any was; neither counts itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD = "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n"
_CACHED_BYTES = 400 * 1024 * 1024


class Folder:
    """Makes answers from request targets, as nginx would with `charset utf-8` and `index index.html`."""

    def __init__(self, root: Path, robots: str = "") -> None:
        self.requests: Counter[str] = Counter()
        self._root = root.resolve()
        self._robots = robots
        self._cache: dict[str, bytes] = {}
        self._cached = 0

    def answer(self, target: str) -> bytes:
        path = target.partition("?")[0]
        if path == "/-/requests":
            return _whole("200 OK", "application/json", json.dumps(self.requests).encode())
        if path == "/-/total":
            return _whole("200 OK", "application/json", str(self.requests.total()).encode())
        self.requests[target] += 1
        found = self._cache.get(path)
        if found is None:
            found = self._make(path)
            if self._cached + len(found) <= _CACHED_BYTES:
                self._cache[path] = found
                self._cached += len(found)
        return found

    def _make(self, path: str) -> bytes:
        if path == "/robots.txt":
            return _whole("200 OK", "text/plain", self._robots.encode())
        name = unquote_to_bytes(path).decode("utf-8", "surrogateescape").lstrip("/")
        if "\0" in name or ".." in name.split("/"):
            return _missing()
        file = self._root / name
        if file.is_dir():
            if not path.endswith("/"):
                return _whole("301 Moved Permanently", "text/html", b"", f"Location: {path}/\r\n")
            file /= "index.html"
        try:
            body = file.read_bytes()
        except OSError:
            return _missing()
        kind = guess_type(file.name)[0] or "application/octet-stream"
        return _whole("200 OK", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind, body)


class _Connection(asyncio.Protocol):
    """GET only, keep-alive always."""

    def __init__(self, folder: Folder, delay_s: float) -> None:
        self._folder = folder
        self._delay_s = delay_s
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            words = head.split(b"\r\n", 1)[0].split(b" ")
            answer = self._folder.answer(words[1].decode("latin-1") if len(words) > 1 else "/")
            if self._delay_s:
                asyncio.get_running_loop().call_later(self._delay_s, self._send, answer)
            else:
                self._send(answer)

    def _send(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(prog="python -m perseid.testing.folder", description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--robots", default="", help="text of robots.txt")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="before each answer")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_serve(parser.parse_args(arguments)))


async def _serve(options: argparse.Namespace) -> None:
    folder = Folder(options.root, options.robots)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(folder, options.delay_ms / 1_000), options.host, options.port, backlog=4096
    )
    sys.stdout.write(f"http://{options.host}:{server.sockets[0].getsockname()[1]}/\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


def _missing() -> bytes:
    return _whole("404 Not Found", "text/html", b"<title>Not found</title>")


def _whole(status: str, kind: str, body: bytes, more: str = "") -> bytes:
    return _HEAD.format(status=status, kind=kind, length=len(body), more=more).encode("latin-1") + body


if __name__ == "__main__":
    main()
