"""A disk that is full: the crawl says so, loses nothing, and the same command ends it once there is space."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from perseid.testing.child import Command, Server, command, served
from perseid.testing.result import check

pytestmark = pytest.mark.slow

TIMEOUT_S = 180
PAGES = 1_500
FULL = ("full", "No space left", "File too large")


@pytest.fixture
def site() -> Iterator[Server]:
    """Some 15 MB of pages."""
    with served("perseid.testing.site", "--pages", str(PAGES), "--links", "20", "--page-bytes", "10000") as server:
        yield server


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ("mount", "-t", "tmpfs", "-o", "size=8m", "disk", str(folder))
    if shutil.which("mount") is None or os.geteuid() or subprocess.run(mounting, check=False).returncode:
        pytest.skip("only a user who may mount can make a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def until_trouble(running: Command) -> None:
    """Wait until the command says that there is no space, or ends."""
    deadline = time.monotonic() + TIMEOUT_S
    while running.running() and not any(word in running.stderr for word in FULL):
        assert time.monotonic() < deadline, f"it said nothing: {running.stderr}"
        time.sleep(0.02)


def assert_whole(out: Path, site: Server) -> None:
    result = check(out)
    assert result.problems == []
    assert len(result.urls) == PAGES
    assert result.failures == {}
    assert site.ask("-/stats")["distinct"] == PAGES


@pytest.mark.parametrize("processes", ["1", "2"])
def test_full_disk(processes: str, site: Server, disk: Path, tmp_path: Path) -> None:
    out = disk / "out"
    arguments = ("crawl", site.url, "--out", str(out), "--json", "--processes", processes)
    with command(*arguments, folder=tmp_path) as running:
        until_trouble(running)
        assert any(word in running.stderr for word in FULL), running.stderr
        ended = None if running.running() else running.wait(1)
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        if ended is None:
            # It waits for space, or stops in its own time.
            ended = running.wait(TIMEOUT_S)
        assert ended.status in {0, 1}, ended.stderr
        assert "internal_error" not in ended.stderr
        assert "Traceback" not in ended.stderr
    with command(*arguments, folder=tmp_path / "again") as running:
        if ended.status:
            assert running.wait(TIMEOUT_S).status == 0
    assert_whole(out, site)


def test_kill_while_the_disk_is_full(site: Server, disk: Path, tmp_path: Path) -> None:
    out = disk / "out"
    arguments = ("crawl", site.url, "--out", str(out), "--json")
    with command(*arguments, folder=tmp_path) as running:
        until_trouble(running)
        running.kill()
    subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
    with command(*arguments, folder=tmp_path) as running:
        ended = running.wait(TIMEOUT_S)
    assert ended.status == 0, ended.stderr
    assert_whole(out, site)


def test_files_that_may_not_grow(site: Server, tmp_path: Path) -> None:
    """Without the right to mount: the largest file a process may write is 3 MB."""
    out = tmp_path / "out"
    arguments = ("crawl", site.url, "--out", str(out), "--json")
    limit = 3_000_000
    before = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
    with command(*arguments, folder=tmp_path / "small", before=before) as running:
        until_trouble(running)
        time.sleep(1.0)  # let it live with it for a while
        said = running.stderr
    assert any(word in said for word in (*FULL, "can't be read or written")), said
    assert "Traceback" not in said
    with command(*arguments, folder=tmp_path / "again") as running:
        ended = running.wait(TIMEOUT_S)
    assert ended.status == 0, ended.stderr
    assert_whole(out, site)
