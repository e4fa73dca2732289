"""A page that takes down the process which works on it: it is given up, and no other page with it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from perseid.testing import Answer, Request, Site, in_thread
from perseid.testing.child import Command, command
from perseid.testing.result import check

pytestmark = pytest.mark.slow

TIMEOUT_S = 90
MOST_RUNS = 40


def test_a_page_that_kills_its_process_is_given_up_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    victims: list[Command] = []

    def kill(_request: Request) -> Answer:
        os.killpg(victims[-1].pid, signal.SIGKILL)
        return Answer(hang=True)

    with in_thread(Site()) as site:
        names = [f"/page-{number}" for number in range(60)]
        site.links({"/": [*names[:20], "/poison", *names[20:]]})
        site.handle("/poison", kill)
        for _run in range(MOST_RUNS):
            with command("crawl", site.url("/"), "--out", str(out), "--json", folder=tmp_path) as running:
                victims.append(running)
                ended = running.wait(TIMEOUT_S)
            if ended.status != -signal.SIGKILL:
                break
        assert ended.status == 0, ended.stderr
        result = check(out)
        assert result.failures == {site.url("/poison"): "stalled"}
        assert {url.removeprefix(site.origin) for url in result.urls} == {"/", *names}
        assert result.problems == []
