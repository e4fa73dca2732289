"""The image's commands, its user and its healthcheck, run without a container."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def _status(container: Any, path: str, key: str = "") -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{container.environment['PERSEID_API__PORT']}{path}")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_server_makes_itself_a_key_and_becomes_healthy(container: Any) -> None:
    assert not container.healthy()[0]
    server = container.start("serve", "--workers", "0")
    container.become_healthy(server)
    kept = container.data / "api-key"
    key = kept.read_text().strip()
    assert re.fullmatch(r"fc-[0-9a-f]{32}", key)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert _status(container, "/api/crawls", key) == 200
    assert _status(container, "/api/crawls") == 401
    if os.geteuid() == 0:
        assert {path.stat().st_uid for path in container.data.rglob("*")} == {65534}, "nothing was written as root"
    server.send_signal(signal.SIGTERM)
    _out, err = server.communicate(timeout=60)
    assert server.returncode == 0
    assert key not in err, "the log tells where the key is, not what it is"


def test_a_key_that_was_made_is_kept_and_a_given_one_wins(container: Any) -> None:
    script = ["sh", "-c", 'echo "$PERSEID_API__KEYS"']
    (container.data / "bin").mkdir()
    stand_in = container.data / "bin" / "perseid"
    stand_in.write_text('#!/bin/sh\necho "$PERSEID_API__KEYS $PERSEID_API__HOST $*"\n')
    stand_in.chmod(0o755)
    path = f"{container.data / 'bin'}:{container.environment['PATH']}"
    first, second = (container.run("serve", "--workers", "0", PATH=path) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert first.stdout.endswith(" 0.0.0.0 serve --workers 0\n")
    given = container.run("serve", PATH=path, PERSEID_API__KEYS="fc-given")
    assert given.stdout == "fc-given 0.0.0.0 serve\n"
    assert container.run(*script).stdout == "\n", "another program is run as it is"


def test_servers_that_begin_together_agree_on_one_key(container: Any) -> None:
    (container.data / "bin").mkdir()
    stand_in = container.data / "bin" / "perseid"
    stand_in.write_text('#!/bin/sh\necho "$PERSEID_API__KEYS"\n')
    stand_in.chmod(0o755)
    path = f"{container.data / 'bin'}:{container.environment['PATH']}"
    running = [container.start("serve", PATH=path) for _ in range(8)]
    keys = {process.communicate(timeout=60)[0] for process in running}
    assert len(keys) == 1
    assert [entry.name for entry in container.data.iterdir() if entry.name != "bin"] == ["api-key"]


def test_worker_answers_the_healthcheck_and_goes_when_told(container: Any) -> None:
    worker = container.start("worker", "--processes", "1")
    container.become_healthy(worker)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert not container.healthy()[0]


def test_settings_may_lie_in_files(container: Any) -> None:
    secret = container.data / "level"
    secret.write_text("debug\n")
    shown = container.run("config", "show", "--changed", PERSEID_LOG__LEVEL_FILE=str(secret))
    assert re.search(r"^log\.level +debug +PERSEID_LOG__LEVEL$", shown.stdout, re.MULTILINE), shown
    missing = container.run("config", "show", PERSEID_STORE__URL_FILE="/nowhere")
    assert missing.returncode == 2
    assert "PERSEID_STORE__URL_FILE names /nowhere, which can't be read" in missing.stderr


def test_every_command_of_the_program_is_one_of_the_image(container: Any) -> None:
    from perseid.cli.main import COMMANDS  # noqa: PLC0415

    text = (DEPLOY / "entrypoint.sh").read_text()
    (programs,) = re.findall(r"^    (sh \|.+)\)$", text, re.MULTILINE)
    assert not set(programs.replace("|", " ").split()) & set(COMMANDS)
    assert container.run("--version").stdout.startswith("perseid ")
    for command in set(COMMANDS) - {"serve", "worker"}:
        assert container.run(command, "--help").stdout.startswith(f"Usage: perseid {command} ")
    assert container.run("sh", "-c", "echo of its own").stdout == "of its own\n"


def test_shell_and_image_are_what_linters_like() -> None:
    subprocess.run(["sh", "-n", DEPLOY / "entrypoint.sh"], check=True)
    image = (DEPLOY / "Dockerfile").read_text()
    assert "\nUSER 10001:10001\n" in image
    for name in re.findall(r"^COPY(?: --\S+)* (deploy/\S+) ", image, re.MULTILINE):
        assert (DEPLOY.parent / name).is_file()
        assert f"!{name}\n" in (DEPLOY / "Dockerfile.dockerignore").read_text(), f"{name} is not sent to the builder"
    linters = [[name, *more] for name, *more in (("hadolint",), ("shellcheck",)) if shutil.which(name)]
    if not linters:
        pytest.skip("neither hadolint nor shellcheck is installed")
    for linter in linters:
        file = "Dockerfile" if linter[0] == "hadolint" else "entrypoint.sh"
        subprocess.run([*linter, DEPLOY / file], check=True)
