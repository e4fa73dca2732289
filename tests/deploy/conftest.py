"""A container without an engine: the image's entrypoint and probes, run as a user that is not root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NOBODY = 65534


class Container:
    """What the image sets up: its variables, a folder for data, and a user who may write there only."""

    def __init__(self, folder: Path) -> None:
        self.data = folder
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": ":".join(path for path in sys.path if path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PERSEID_DATA": str(folder),
            "PERSEID_API__PORT": str(free_port()),
            "PERSEID_WORKER__PROBE_PORT": str(free_port()),
            "HOME": "/nonexistent",
        }
        self.started: list[subprocess.Popen[str]] = []

    def _command(self, *arguments: str) -> list[str]:
        user = []
        if os.geteuid() == 0:
            # An interpreter in root's home may be read all the same, as one in an image is; nothing more is allowed.
            read = "--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"
            user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", *read]
        return [*user, *arguments]

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command(str(DEPLOY / "entrypoint.sh"), *arguments),
            env={**self.environment, **variables},
            cwd=self.data,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """To its end, which it comes to by itself."""
        process = self.start(*arguments, **variables)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def healthy(self) -> tuple[bool, str]:
        """What the image's healthcheck says."""
        probe = subprocess.run(
            self._command(sys.executable, str(DEPLOY / "healthcheck.py")),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        return probe.returncode == 0, probe.stderr

    def become_healthy(self, process: subprocess.Popen[str]) -> None:
        for _ in range(200):
            if self.healthy()[0]:
                return
            assert process.poll() is None, process.communicate()
        pytest.fail(f"not healthy: {self.healthy()}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def container() -> Iterator[Container]:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("no setpriv to become another user with")
    folder = Path(tempfile.mkdtemp(prefix="perseid-container-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    container = Container(folder)
    yield container
    for process in container.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def yaml_of() -> Callable[[Path], Any]:
    yaml = pytest.importorskip("yaml")

    def read(path: Path) -> Any:
        return yaml.safe_load(path.read_text(encoding="utf-8"))

    return read
