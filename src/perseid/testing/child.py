"""Real processes to run, watch and kill: servers that tell their address, and crawls with all their descendants.

For Linux: what processes do is read from /proc.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


class Server(NamedTuple):
    """A site in another process."""

    url: str
    """Ends with a slash."""
    pid: int

    def requests(self) -> dict[str, int]:
        """How often each path was asked for (of `perseid.testing.folder`)."""
        return dict(self.ask("-/requests"))

    def total(self) -> int:
        return int(self.ask("-/total"))

    def ask(self, path: str) -> Any:
        """The JSON at `path`."""
        with urlopen(self.url + path, timeout=30) as answer:  # noqa: S310 - our own server on loopback
            return json.load(answer)


@contextmanager
def served(module: str, *arguments: str) -> Iterator[Server]:
    """`python -m module arguments`, which prints its address first; killed at the end."""
    process = subprocess.Popen(  # noqa: S603 - our own modules
        [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, env=_environment({})
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().decode().strip()
        if not url:
            raise RuntimeError(f"{module} {' '.join(arguments)} ended with {process.wait()} and told no address")
        yield Server(url, process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Ended(NamedTuple):
    """How a command went; `cpu_s` and `peak_bytes` are of its whole process tree."""

    status: int
    """Exit code; below 0 the signal that ended it."""
    wall_s: float
    cpu_s: float
    peak_bytes: int
    stdout: str
    stderr: str


class Command:
    """The `perseid` program in a process group of its own, its output in files under `folder`."""

    def __init__(
        self,
        *arguments: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        before: Callable[[], object] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._stdout, self._stderr = folder / "stdout", folder / "stderr"
        self._began = time.monotonic()
        self._status: int | None = None
        self._cpu_s = 0.0
        self._peak = 0
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self.process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "perseid.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                env=_environment(environment or {}),
                preexec_fn=before,  # noqa: PLW1509 - for limits; the test that sets one has no threads to mind
            )
        self.pid = self.process.pid

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    def running(self) -> bool:
        if self._status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
                self.process.returncode = self._status
                # Of the process and of all descendants that it waited for.
                self._cpu_s = usage.ru_utime + usage.ru_stime
        return self._status is None

    def workers(self) -> list[int]:
        """Pids of the further processes of the crawl."""
        return [pid for pid in descendants(self.pid) if pid != self.pid]

    def kill(self) -> None:
        """`kill -9` of the whole process group, with nobody left behind."""
        members = descendants(self.pid)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        while self.running() or any(alive(pid) for pid in members):
            time.sleep(0.002)

    def sample(self) -> int:
        """Resident bytes of the process tree now."""
        now = sum(resident(pid) for pid in descendants(self.pid))
        self._peak = max(self._peak, now)
        return now

    def wait(self, timeout_s: float, *, every_s: float = 0.05, watch: Callable[[], object] | None = None) -> Ended:
        """Its end. Kills it and raises TimeoutError, with the end of its stderr, after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self.running():
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(f"the command did not end within {timeout_s:g} s; it said: {self.stderr[-2000:]}")
            self.sample()
            if watch is not None:
                watch()
            time.sleep(every_s)
        assert self._status is not None
        stdout = self._stdout.read_text(encoding="utf-8", errors="replace")
        wall = time.monotonic() - self._began
        return Ended(self._status, wall, self._cpu_s, self._peak, stdout, self.stderr)


@contextmanager
def command(*arguments: str, folder: Path, **how: Any) -> Iterator[Command]:
    """A `Command` that doesn't outlive the block."""
    started = Command(*arguments, folder=folder, **how)
    try:
        yield started
    finally:
        started.kill()


class Watch:
    """Samples something in a thread while a block runs; `samples` are (seconds, value)."""

    def __init__(self, look: Callable[[], float], every_s: float = 0.1) -> None:
        self.samples: list[tuple[float, float]] = []
        self._look = look
        self._every_s = every_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="perseid-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._end.wait(self._every_s):
            self.samples.append((time.monotonic() - began, self._look()))


def descendants(root: int) -> list[int]:
    """`root` and all processes under it that run now.

    By the children of each, not by the parents of all: whoever watches a process asks twenty times a second, and to
    read all that a machine runs takes ten times as long.
    """
    assert Path("/proc/thread-self/children").exists(), "this kernel keeps no lists of children"
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        if alive(pid):
            found.append(pid)
        waiting += _children(pid)
    return found


def alive(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in {"Z", "X"}


def freeze(pid: int) -> None:
    """SIGSTOP, until each of its threads stands; it can then be looked at, and killed, without moving meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    while any(fields[0] not in "TtZX" for fields in map(_fields, Path(f"/proc/{pid}/task").glob("*")) if fields):
        time.sleep(0.001)


def resident(pid: int) -> int:
    """Bytes in memory; 0 where there is no such process."""
    fields = _stat(pid)
    return int(fields[21]) * _PAGE if fields else 0


def cpu_s(pid: int) -> float:
    """CPU seconds of one process so far, user and system."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _children(pid: int) -> list[int]:
    """Of all its threads."""
    found: list[int] = []
    with suppress(OSError):  # the process has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # the thread has
                found += map(int, (thread / "children").read_text().split())
    return found


def _stat(pid: int) -> list[str]:
    return _fields(Path(f"/proc/{pid}"))


def _fields(process: Path) -> list[str]:
    """What the system says of a process or thread, from its state on; empty where there is none."""
    try:
        text = (process / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()


def _environment(further: Mapping[str, str]) -> dict[str, str]:
    """Ours, with the modules found where ours are found, and without settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")}
    source = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [source, kept.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, **further}
