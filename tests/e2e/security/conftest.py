"""One real server with keys of two teams, which may fetch from 127.0.0.1 and from no other address that is not public;
and a trap on other addresses of this machine, which nobody may ever connect to."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from perseid.config.settings import Settings
from perseid.ports.teams import Key
from perseid.runtime.keys import digest, hint
from perseid.runtime.stores import DATABASE, host_defaults
from perseid.testing import in_thread
from perseid.testing.ground import Ground, open_store, standing
from perseid.testing.service import serving
from perseid.testing.site import Site

KEYS = {name: f"fc-{name}{'0' * 29}" for name in ("one", "two", "revoked")}
SECRETS = {
    "PERSEID_API__KEYS": "fc-configured-s3cret",
    "PERSEID_LLM__API_KEY": "llm-s3cret",
    "PERSEID_WEBHOOK__SECRET": "webhook-s3cret",
}


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Server:
    """The server as somebody with a key, or without, sees it."""

    def __init__(self, url: str, folder: Path, key: str | None) -> None:
        self.url, self.folder, self.key = url, folder, key
        parts = urlsplit(url)
        self.address = (parts.hostname, parts.port)

    def by(self, key: str | None) -> Server:
        return Server(self.url, self.folder, KEYS.get(key or "", key))

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **(headers or {})}
        if self.key is not None and "Authorization" not in sent:
            sent["Authorization"] = f"Bearer {self.key}"
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read().decode())

    def get(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        return reply.json

    def post(self, path: str, body: Any) -> Any:
        reply = self.ask("POST", path, body)
        assert reply.status == 200, reply
        return reply.json

    def connect(self, timeout_s: float = 30) -> socket.socket:
        return socket.create_connection(self.address, timeout=timeout_s)

    def exchange(self, raw: bytes) -> bytes:
        """Bytes for bytes, until the server has closed the connection (all requests are to ask for that)."""
        with self.connect() as connection:
            connection.sendall(raw)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def ended(self, uid: str) -> dict[str, Any]:
        return until(lambda: told if (told := self.get(f"/api/crawls/{uid}"))["status"] != "scraping" else None)

    def until(self, look: Any) -> Any:
        return until(look)

    def stderr(self) -> list[str]:
        return (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").split("\n")


def until(look: Any, within_s: float = 90) -> Any:
    """What `look` finds once it finds something."""
    end = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.05)
    return found


class Trap:
    """Listens on one port of 127.0.0.2, 127.0.0.1 and ::1; whoever connects is remembered."""

    def __init__(self) -> None:
        self.caught: list[str] = []
        self._sockets: list[socket.socket] = []
        self.port = 0
        for host in ("127.0.0.2", "127.0.0.1", "::1"):
            with contextlib.suppress(OSError):  # a machine without IPv6
                self._listen(host)

    def _listen(self, host: str) -> None:
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.bind((host, self.port))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self._sockets.append(listener)
        threading.Thread(target=self._watch, args=(listener, host), daemon=True).start()

    def _watch(self, listener: socket.socket, host: str) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.caught.append(host)
                connection.close()

    def close(self) -> None:
        for listener in self._sockets:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@pytest.fixture(scope="session")
def trap() -> Iterator[Trap]:
    trap = Trap()
    with socket.create_connection(("127.0.0.2", trap.port), timeout=10):
        until(lambda: trap.caught)  # it does work
    trap.caught.clear()
    yield trap
    trap.close()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    with in_thread(site):
        site.links({"/": ["/a", "/b"]})
        yield site


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Seen by team one."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "data").mkdir()
    with standing() as ground:
        asyncio.run(_make_keys(ground, folder / "data"))
        yield from _served(folder, ground)


def _served(folder: Path, ground: Ground) -> Iterator[Server]:
    environment = {
        **ground.environment,
        **SECRETS,
        "PERSEID_FETCH__ALLOW_PRIVATE": "127.0.0.1",
        "PERSEID_WEBHOOK__ALLOW_PRIVATE": "127.0.0.1",
        "PERSEID_LOG__LEVEL": "debug",
        "PERSEID_LLM__MODEL": "any",
        "PERSEID_LLM__BASE_URL": "http://user:llm-passw0rd@127.0.0.1:1/v1",
        "PERSEID_FETCH__MAX_ATTEMPTS": "1",
    }
    with serving(folder, environment=environment) as (url, _process):
        yield Server(url, folder, KEYS["one"])


async def _make_keys(ground: Ground, data: Path) -> None:
    store = await open_store(ground, data / DATABASE, defaults=host_defaults(Settings()))
    standard = await store.team(1)
    made: dict[str, Key] = {}
    for name, secret in KEYS.items():
        team = await store.put_team(standard.__class__(id=0, name=name, max_active=50))
        made[name] = await store.add_key(team.id, name=name, hint=hint(secret), digest=digest(secret))
    await store.revoke(made["revoked"].id)
    await store.close()
