"""The Makefile on machines that lack something says what, and touches nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11", "python")

if shutil.which("make") is None:
    pytest.skip("no make", allow_module_level=True)


def make(folder: Path, python: str, *words: str) -> tuple[int, str]:
    """Run make in a copy, where every Python is the given shell script."""
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copy(ROOT / "pyproject.toml", folder)
    programs = folder / "bin"
    programs.mkdir()
    for name in NAMES:
        (programs / name).write_text(f"#!/bin/sh\n{python}\n")
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["make", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert not (folder / ".venv").exists()
    return run.returncode, run.stdout + run.stderr


def test_old_python_is_told(tmp_path: Path) -> None:
    code, said = make(tmp_path, "exit 1", "setup")
    assert code == 2
    assert "needs Python 3.11 or newer" in said


def test_missing_venv_module_is_told(tmp_path: Path) -> None:
    code, said = make(tmp_path, 'case "$2" in *ensurepip*) exit 1;; esac', "setup")
    assert code == 2
    assert "apt install python3-venv" in said


def test_crawl_without_a_url_is_told_before_anything_is_installed(tmp_path: Path) -> None:
    code, said = make(tmp_path, "exit 0", "crawl")
    assert code == 2
    assert "say which site" in said


def test_bare_make_lists_the_targets(tmp_path: Path) -> None:
    code, said = make(tmp_path, "exit 0")
    assert code == 0
    for target in ("setup", "crawl", "test", "check", "chaos", "scale", "bench"):
        assert f"make {target}" in said
