"""The commands about crawls on one store that many share: they work, and leave alone what is not theirs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perseid.testing import Site, in_thread
from perseid.testing.postgres import give_back, take_database, url_of


class Cli:
    """Runs the program in a folder of its own, on the shared store."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "HOME": str(folder),
            "PERSEID_STORE__URL": url,
        }

    def __call__(self, *words: str, status: int = 0, stdin: str = "") -> str:
        """What it printed; the test fails unless it ends with `status`."""
        self.folder.mkdir(exist_ok=True)
        run = subprocess.run(
            [sys.executable, "-m", "perseid", *words],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode == status, run.stdout + run.stderr
        return run.stdout

    def crawls(self) -> dict[str, tuple[str, int]]:
        """Status and pages by URL and folder."""
        rows = [json.loads(line) for line in self("list", "--json").splitlines()]
        return {row["out"] or row["id"]: (row["status"], row["pages"]) for row in rows}


@pytest.fixture
def url() -> Iterator[str]:
    name = asyncio.run(take_database())
    yield url_of(name)
    asyncio.run(give_back(name))


@pytest.fixture
def cli(tmp_path: Path, url: str) -> Cli:
    return Cli(tmp_path / "here", url)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.links({"/": ["/a", "/private"], "/a": ["/a/b"], "/a/b": ["/"]})
    site.robots("User-agent: *\nDisallow: /private\n")
    site.sitemap("/sitemap.xml", ["/", "/a", "/a/b", "/c"])
    site.page("/c", "<title>C</title><p>Only the sitemap knows it.</p>")
    with in_thread(site):
        yield site


def test_crawl_is_started_listed_explained_exported_and_pruned(site: Site, cli: Cli) -> None:
    cli("crawl", site.url("/"), "--out", "out/one")
    assert cli.crawls() == {"out/one": ("completed", 4)}
    assert "ROBOTS_TXT" in cli("explain", site.url("/private"))
    assert len(cli("export", "-", "--out", "out/one").splitlines()) == 4
    (row,) = [json.loads(line) for line in cli("list", "--json").splitlines()]
    assert len(cli("export", "-", "--id", row["id"]).splitlines()) == 4
    assert cli("jobs", row["id"], "--state", "completed").count("\n") >= 5
    assert (cli.folder / "out" / "one" / "pages.jsonl").read_text().count("\n") == 4
    assert not (cli.folder / "out" / "one" / ".perseid" / "perseid.db").exists()
    cli("prune", "--older-than", "0", "--out", "out/one", status=2)
    cli("prune", "--older-than", "0")
    assert cli.crawls() == {}


def test_a_new_result_replaces_the_old_one_of_its_folder_only(site: Site, cli: Cli, tmp_path: Path, url: str) -> None:
    other = Cli(tmp_path / "there", url)
    other("crawl", site.url("/a"), "--out", "out/theirs")
    cli("crawl", site.url("/"), "--out", "out/mine")
    cli("crawl", site.url("/"), "--out", "out/mine", "--limit", "1", status=2)
    cli("crawl", site.url("/"), "--out", "out/mine", "--limit", "1", "--fresh")
    assert sorted(cli.crawls().values()) == [("completed", 1), ("completed", 2)], "theirs, and mine of the second time"
    assert len(other("export", "-", "--out", "out/theirs").splitlines()) == 2


def test_what_runs_for_others_is_not_given_up(site: Site, cli: Cli, tmp_path: Path, url: str) -> None:
    other = Cli(tmp_path / "there", url)
    site.page("/a/b", "<p>late</p>", delay_s=60)
    process = subprocess.Popen(
        [sys.executable, "-m", "perseid", "crawl", site.url("/a"), "--out", "theirs"],
        cwd=tmp_path,
        env=other.environment,
        stderr=subprocess.PIPE,
    )
    try:
        site.wait("/a/b", timeout_s=60)
        cli("crawl", site.url("/c"), "--out", "out/mine")
        assert sorted(status for status, _pages in cli.crawls().values()) == ["completed", "scraping"]
    finally:
        process.kill()
        process.communicate()


def test_interrupted_crawl_is_resumed(site: Site, cli: Cli) -> None:
    site.page("/a/b", "<p>late</p>", delay_s=60)
    cli.folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "perseid", "crawl", site.url("/"), "--out", "out/one"],
        cwd=cli.folder,
        env=cli.environment,
        stderr=subprocess.PIPE,
    )
    site.wait("/a/b", timeout_s=60)
    process.kill()
    process.communicate()
    assert [status for status, _pages in cli.crawls().values()] == ["scraping"]
    site.page("/a/b", "<p>now</p>")
    cli("resume")
    assert cli.crawls() == {"out/one": ("completed", 4)}


def test_scrape_and_map_leave_nothing_behind(site: Site, cli: Cli) -> None:
    assert "Page /a/b" in cli("scrape", site.url("/a"), "--format", "text")
    assert set(cli("map", site.url("/")).split()) == {site.url(path) for path in ("/", "/a", "/a/b", "/c")}
    assert cli.crawls() == {}
    assert site.counts().get("/c", 0) == 0, "a map fetches none of its pages"


def test_batch_and_cancel(site: Site, cli: Cli) -> None:
    cli("batch", "-", "--out", "out/list", stdin=f"{site.url('/a')}\n{site.url('/c')}\n")
    assert cli.crawls() == {"out/list": ("completed", 2)}
    (row,) = [json.loads(line) for line in cli("list", "--json").splitlines()]
    cli("cancel", row["id"])
    cli("cancel", "00000000-0000-0000-0000-000000000000", status=4)


def test_keys_doctor_and_schema(cli: Cli, url: str) -> None:
    key = cli("keys", "create", "--team", "crew").strip()
    assert key.startswith("fc-")
    assert "crew" in cli("keys", "list")
    cli("keys", "revoke", "1")
    told = [json.loads(line) for line in cli("doctor", "--json", status=1 if _careless(cli) else 0).splitlines()]
    checks = {check["name"]: check for check in told}
    assert set(checks) >= {"postgresql", "connections", "old snapshots", "vacuum", "audit", "backlog", "workers"}
    assert checks["audit"]["ok"]
    assert "perseid:perseid" not in json.dumps(told)
    state = json.loads(cli("db", "status", "--json"))
    assert state["version"] == state["newest"] > 0
    assert json.loads(cli("db", "migrate", "--json"))["ran"] == []
    shown = cli("config", "show", "--changed")
    assert "postgresql://***@" in shown


def _careless(cli: Cli) -> bool:
    """Whether this server is one that doctor rightly complains of."""
    return any(not json.loads(line)["ok"] for line in _doctor(cli).splitlines())


def _doctor(cli: Cli) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "perseid", "doctor", "--json"],
        cwd=cli.folder,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout


def test_other_addresses_are_refused_and_the_driver_is_named(cli: Cli) -> None:
    cli.environment["PERSEID_STORE__URL"] = "mysql://user:hunter2@db/perseid"
    run = subprocess.run(
        [sys.executable, "-m", "perseid", "list"],
        cwd=cli.folder.parent,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "begins with 'mysql'" in run.stderr
    assert "hunter2" not in run.stderr
