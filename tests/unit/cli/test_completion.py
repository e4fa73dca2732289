"""Completion by the shell: the real shells' scripts, and what they call."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from perseid.cli.completion import place

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = ["bash", "zsh", "fish"]


def run(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perseid", *words],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_the_shell_is_shown(tmp_path: Path, shell: str) -> None:
    shown = run(tmp_path, "--show-completion", SHELL=f"/bin/{shell}")
    assert shown.returncode == 0, shown.stderr
    assert "_PERSEID_COMPLETE" in shown.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shell", SHELLS)
def test_installing_twice_is_installing_once(tmp_path: Path, shell: str) -> None:
    path, _line = place(shell, tmp_path)
    assert run(tmp_path, "--install-completion", SHELL=shell).returncode == 0
    once = path.read_text()
    assert "perseid" in once
    assert run(tmp_path, "--install-completion", SHELL=shell).returncode == 0
    assert path.read_text() == once


def test_what_stands_in_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias a=b")
    run(tmp_path, "--install-completion", SHELL="bash")
    assert (tmp_path / ".bashrc").read_text().startswith("alias a=b\n")


def test_other_shell_is_wrong_usage(tmp_path: Path) -> None:
    told = run(tmp_path, "--show-completion", SHELL="/bin/tcsh")
    assert (told.returncode, told.stdout) == (2, "")
    assert "tcsh" in told.stderr


def test_commands_are_completed(tmp_path: Path) -> None:
    asked = {"_PERSEID_COMPLETE": "bash_complete", "COMP_WORDS": "perseid exp", "COMP_CWORD": "1"}
    assert run(tmp_path, **asked).stdout.split() == ["plain,explain", "plain,export"]
