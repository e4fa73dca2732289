"""Brokers for tests: a Redis of one's own, and a corner of one's own in the machine's RabbitMQ.

`PERSEID_TEST_AMQP_URL` names a user who may make exchanges and queues; by default the local server's own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

AMQP = os.environ.get("PERSEID_TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/")
_VHOST = "perseid-test-"
_UP_S = 10.0


class RedisServer:
    """A process of its own on a free port. Nothing of it is kept, unless `keep` is set."""

    def __init__(self, *settings: str, keep: bool = False) -> None:
        """`settings` as on its command line: `"--maxmemory", "2mb"`."""
        self._settings = settings
        self._keep = keep
        self._folder = tempfile.mkdtemp(prefix="perseid-redis-")
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        atexit.register(self.dispose)  # for tests that failed before they came to that

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it does not run"
        return self._process.pid

    async def start(self) -> None:
        program = shutil.which("redis-server")
        assert program is not None, "install redis-server: these tests run one of their own"
        kept = ["--appendonly", "yes" if self._keep else "no", "--save", ""]
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self._folder, *kept]
        self._process = await asyncio.to_thread(
            subprocess.Popen, [*command, *self._settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        async with asyncio.timeout(_UP_S):
            while not await _answers(self.port):  # noqa: ASYNC110 - it has no event for us
                await asyncio.sleep(0.01)

    def kill(self) -> None:
        """At once, as a machine does that loses its power."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def dispose(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@cache
def own_vhost() -> str:
    """The address of a vhost of this process, gone with it; of the one in `AMQP` where none can be made."""
    control = shutil.which("rabbitmqctl")
    if control is None or os.geteuid() != 0 or "PERSEID_TEST_AMQP_URL" in os.environ:
        return AMQP
    for left in _control(control, "list_vhosts", "--no-table-headers").split():
        if left.startswith(_VHOST) and not Path(f"/proc/{left.removeprefix(_VHOST)}").exists():
            _control(control, "delete_vhost", left)
    name = f"{_VHOST}{os.getpid()}"
    _control(control, "add_vhost", name)
    _control(control, "set_permissions", "-p", name, urlsplit(AMQP).username or "guest", ".*", ".*", ".*")
    atexit.register(_control, control, "delete_vhost", name)
    return urlunsplit(urlsplit(AMQP)._replace(path=f"/{quote(name, safe='')}"))


def through(url: str, port: int) -> str:
    """The same server by way of another port of this machine."""
    parts = urlsplit(url)
    user, at, _place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))


def _control(program: str, *words: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own words
        [program, "--quiet", *words], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _answers(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.write(b"PING\r\n")
    answer = await reader.readline()
    writer.close()
    return answer.startswith((b"+PONG", b"-NOAUTH"))
