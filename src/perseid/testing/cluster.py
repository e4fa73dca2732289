"""A PostgreSQL, a pooler and a RabbitMQ of one's own, to be killed and started again while others' go on.

They need their Debian packages; run as root they belong to the user that the package made.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_UP_S = 90.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _as_user(user: str, *command: str) -> list[str]:
    return ["runuser", "-u", user, "--", *command] if os.geteuid() == 0 else list(command)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_for(port: int, *, up: bool, what: str) -> None:
    until = time.monotonic() + _UP_S
    while _listens(port) is not up:
        if time.monotonic() > until:
            raise TimeoutError(f"{what} on port {port} is not {'up' if up else 'down'} after {_UP_S:g} s")
        time.sleep(0.05)


class PostgresCluster:
    """As its package configures it but for `settings` (`name=value`), on a free port of loopback."""

    def __init__(self, *settings: str) -> None:
        self.port = free_port()
        self._settings = "".join(f" -c {setting}" for setting in settings)
        self._folder = Path(tempfile.mkdtemp(prefix="perseid-postgres-"))
        self._data = self._folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres")
        self._run("initdb", "--auth", "trust", "--username", "perseid", "--encoding", "UTF8", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql://perseid@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        options += self._settings
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", options, "start")
        _wait_for(self.port, up=True, what="PostgreSQL")

    def crash(self) -> None:
        """Without a last word: it recovers from its log when it is started again."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def dispose(self) -> None:
        if _listens(self.port):
            self.crash()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        where = shutil.which(program) or next(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{program}")), program)
        command = _as_user("postgres", where, "-D", str(self._data), *arguments)
        done = subprocess.run(  # noqa: S603 - our own words
            command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, timeout=_UP_S, cwd=self._folder,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed with {done.returncode}: {done.stderr.strip()[-500:]}")


class PgBouncer:
    """In transaction mode before the server at `url`, to any database of which it lets `connections` run at a time."""

    def __init__(self, url: str, *, connections: int = 2) -> None:
        program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        assert program is not None, "install pgbouncer: these tests run one of their own"
        server = urlsplit(url)
        self.port = free_port()
        self._netloc = f"{server.username}:{server.password}@127.0.0.1:{self.port}"
        self._folder = Path(tempfile.mkdtemp(prefix="perseid-pgbouncer-"))
        (self._folder / "users").write_text(f'"{server.username}" "{server.password}"\n', encoding="utf-8")
        (self._folder / "ini").write_text(
            f"[databases]\n* = host={server.hostname} port={server.port or 5432}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = plain\nauth_file = {self._folder / 'users'}\n"
            f"pool_mode = transaction\ndefault_pool_size = {connections}\n",
            encoding="utf-8",
        )
        if os.geteuid() == 0:
            for path in (self._folder, *self._folder.iterdir()):
                shutil.chown(path, "postgres")
        self._process = subprocess.Popen(  # noqa: S603 - our own words
            _as_user("postgres", program, "-q", str(self._folder / "ini")),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder,
            start_new_session=True,
        )  # fmt: skip
        _wait_for(self.port, up=True, what="PgBouncer")

    def through(self, url: str) -> str:
        """The address of a database, by way of this pooler."""
        return urlunsplit(urlsplit(url)._replace(netloc=self._netloc, query="pooled=1"))

    def dispose(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class RabbitNode:
    """One node that nobody else knows, without plugins."""

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="perseid-rabbitmq-"))
        if os.geteuid() == 0:
            shutil.chown(self._folder, "rabbitmq")
        self._name = f"perseid-{os.getpid()}-{self.port}@localhost"
        (self._folder / "plugins").write_text("[].", encoding="ascii")
        self._environment = os.environ | {
            "RABBITMQ_NODENAME": self._name,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self._folder),
            "RABBITMQ_LOG_BASE": str(self._folder),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "none"),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def start(self) -> None:
        program = shutil.which("rabbitmq-server")
        assert program is not None, "install rabbitmq-server: these tests run one of their own"
        self._process = subprocess.Popen(  # noqa: S603 - our own words
            [program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self._environment, start_new_session=True, cwd=self._folder,
        )  # fmt: skip
        _wait_for(self.port, up=True, what="RabbitMQ")
        self._pid = int(self.control("eval", "os:getpid().").strip().strip('"'))

    def control(self, *words: str) -> str:
        """`rabbitmqctl` for this node; what it prints."""
        done = subprocess.run(  # noqa: S603 - our own words
            [shutil.which("rabbitmqctl") or "rabbitmqctl", "--quiet", "-n", self._name, *words],
            capture_output=True, text=True, check=True, timeout=_UP_S,
        )  # fmt: skip
        return done.stdout

    def kill(self) -> None:
        """The whole node at once."""
        if self._process is None:
            return
        # Its start script has handed on to a process in a session of its own.
        os.kill(self._pid, signal.SIGKILL)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        _wait_for(self.port, up=False, what="RabbitMQ")

    def dispose(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
