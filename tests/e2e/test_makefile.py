"""The Makefile on machines that lack something says what, and touches nothing; on others it crawls and serves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from perseid.testing.child import served

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


@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="made by this Makefile only")
def test_what_the_readme_says_first_works(tmp_path: Path) -> None:
    environment = {**os.environ, "PERSEID_FETCH__ALLOW_PRIVATE": "true", "PERSEID_STORE__URL": ""}
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<h1>Front</h1><p>Where <a href=/next.html>it begins</a>.")
    (tmp_path / "site" / "next.html").write_text("<h1>Next</h1><p>Where it ends.")
    with served("perseid.testing.folder", str(tmp_path / "site")) as site:
        told = {**environment, "URL": f"{site.url}index.html", "OUT": str(tmp_path / "out")}
        crawl = subprocess.run(
            ["make", "crawl"], cwd=ROOT, env=told, capture_output=True, text=True, check=False, timeout=120
        )
        assert crawl.returncode == 0, crawl.stderr
        pages = [json.loads(line) for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
        assert {page["url"].removeprefix(site.url) for page in pages} == {"index.html", "next.html"}

        command = ["make", "serve", f"ARGS=--port 0 --data {tmp_path / 'data'}"]
        with (tmp_path / "said").open("w+") as said:
            serve = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=said, start_new_session=True)
            try:
                address = _told(tmp_path / "said", serve)
                body = json.dumps({"url": f"{site.url}next.html"}).encode()
                request = Request(f"{address}/v2/scrape", body, {"Content-Type": "application/json"})
                with urlopen(request, timeout=60) as answer:
                    assert "# Next" in json.load(answer)["data"]["markdown"]
            finally:
                os.killpg(serve.pid, signal.SIGTERM)
                serve.wait(60)


def _told(file: Path, serve: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until and serve.poll() is None:
        if found := re.search(r"serving on (http://\S+)", file.read_text()):
            return found[1]
        time.sleep(0.02)
    raise AssertionError(f"it does not serve: {file.read_text()}")
