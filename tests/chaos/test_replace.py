"""A crawl done anew and killed at any moment: OUT shows the whole old result until it shows the whole new one."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec
import pytest

from perseid.testing import Site, in_thread
from perseid.testing.child import command
from perseid.testing.result import check

pytestmark = pytest.mark.slow

TIMEOUT_S = 90
PAGES = 40


def write(site: Site, edition: str, pages: int) -> None:
    names = [f"/page-{number}" for number in range(pages - 1)]
    for path in ("/", *names):
        anchors = "".join(f'<a href="{name}">{name}</a> ' for name in names)
        site.page(path, f"<title>{path}</title><h1>{edition} edition</h1><p>Text of the {edition} one.</p><p>{anchors}")


def editions(out: Path, pages: dict[str, int]) -> set[str]:
    """Which edition the lines show; each must be there whole."""
    lines = [msgspec.json.decode(line) for line in (out / "pages.jsonl").read_bytes().splitlines()]
    found = {"new" if "new edition" in line["markdown"] else "old" for line in lines}
    if len(found) == 1:
        assert len(lines) == pages[next(iter(found))]
    return found


def test_old_result_stands_until_the_new_one_is_whole(kills: int, dice: random.Random, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pages = {"old": PAGES, "new": PAGES + 10}
    with in_thread(Site()) as site:
        arguments = ("crawl", site.url("/"), "--out", str(out), "--json")
        write(site, "old", pages["old"])
        with command(*arguments, folder=tmp_path) as running:
            took = running.wait(TIMEOUT_S).wall_s
        assert editions(out, pages) == {"old"}
        write(site, "new", pages["new"])
        for _kill in range(2 * kills):
            with command(*arguments, folder=tmp_path) as running:
                time.sleep(took * dice.random())
                running.kill()
            shown = editions(out, pages)
            assert len(shown) == 1
            assert len(list((out / "pages").rglob("*.md"))) in pages.values()
        with command(*arguments, folder=tmp_path) as running:
            ended = running.wait(TIMEOUT_S)
        assert ended.status == 0, ended.stderr
        if editions(out, pages) == {"old"}:
            raise AssertionError("the new result never came")
        assert check(out).problems == []
