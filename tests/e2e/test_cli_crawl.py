"""The real program against a real site on loopback: results, kills, Ctrl-C, replacement."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from perseid.testing.site import Site, in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIDE = 30
GRAPH = {"/": [f"/p{number}" for number in range(WIDE)]}
GRAPH |= {
    f"/p{number}": [f"/p{number}/a", f"/p{number}/b", "/private/x", "https://other.example/"] for number in range(WIDE)
}
GRAPH |= {f"/p{number}/{leaf}": ["/"] for number in range(WIDE) for leaf in "ab"}
PAGES = set(GRAPH)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.links(GRAPH)
    site.robots("User-agent: *\nDisallow: /private/\n")
    with in_thread(site):
        yield site


class Cli:
    """Runs the program in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "xdg"),
        }

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "perseid", *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def stop(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()

    def __call__(self, *words: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    cli = Cli(tmp_path)
    yield cli
    cli.stop()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def paths(site: Site, out: Path) -> list[str]:
    return [row["url"].removeprefix(site.origin) for row in rows(out / "pages.jsonl")]


def fronts(site: Site, out: Path) -> set[str]:
    """The URLs in the front matter of the markdown files."""
    found = (path.read_text().splitlines()[1] for path in (out / "pages").rglob("*.md"))
    return {line.removeprefix("url: ").removeprefix(site.origin) for line in found}


def check_whole(site: Site, out: Path, pages: set[str] = PAGES) -> None:
    """Every page is there exactly once, as a line and as a file."""
    written = paths(site, out)
    assert sorted(written) == sorted(pages)
    assert fronts(site, out) == pages


def slow(site: Site, delay_s: float = 0.05) -> None:
    """Each page takes its time, so that a signal meets the crawl at work."""
    for path, links in GRAPH.items():
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        site.page(
            path, f"<title>{path}</title><main><p>The text of {path} itself.</p>{anchors}</main>", delay_s=delay_s
        )


def test_crawl_writes_pages_lines_and_refusals(site: Site, cli: Cli) -> None:
    code, out, err = cli("crawl", site.url(), "--out", "o")
    assert (code, out) == (0, "")
    check_whole(site, cli.folder / "o")
    refused = {row["url"]: row for row in rows(cli.folder / "o" / "skipped.jsonl")}
    assert refused[site.url("/private/x")]["reason"] == "ROBOTS_TXT"
    assert refused["https://other.example/"]["reason"] == "EXTERNAL_LINK"
    assert all(row["referrer"].startswith(site.origin) and row["message"] for row in refused.values())
    assert "completed" in err
    assert f"pages    {len(PAGES)} in o" in err


def test_json_is_one_object_on_stdout(site: Site, cli: Cli) -> None:
    site.links({"/": ["/gone", "/there"], "/there": []})
    site.respond("/gone", 404)
    code, out, err = cli("crawl", site.url(), "--out", "o", "--json", "--limit", "3")
    told = json.loads(out)
    assert code == 0, err
    assert (told["status"], told["pages"], told["failed"], told["out"]) == ("completed", 2, 1, "o")
    assert set(told) == {"id", "status", "pages", "failed", "skipped", "duration_s", "out"}
    assert [row["code"] for row in rows(cli.folder / "o" / "failed.jsonl")] == ["http_404"]


def test_default_folder_is_named_for_the_host(site: Site, cli: Cli) -> None:
    cli("crawl", site.url(), "--limit", "1")
    assert (cli.folder / "out" / f"127.0.0.1_{site.port}" / "pages.jsonl").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_gracefully_and_the_same_command_goes_on(site: Site, cli: Cli, number: signal.Signals) -> None:
    slow(site)
    words = ("crawl", site.url(), "--out", "o", "--concurrency", "4")
    process = cli.start(*words)
    site.wait(n=20, timeout_s=60)
    process.send_signal(number)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == (130 if number is signal.SIGINT else 143), err
    assert "perseid resume" in err
    partial = paths(site, cli.folder / "o")
    assert 0 < len(partial) < len(PAGES)
    assert len(partial) == len(set(partial))
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o")
    assert max(count for path, count in site.counts().items() if path in PAGES) == 1


def test_second_signal_stops_at_once_and_loses_nothing(site: Site, cli: Cli) -> None:
    slow(site)
    site.respond("/p3", hang=True)
    process = cli.start("crawl", site.url(), "--out", "o", "--concurrency", "4")
    site.wait("/p3", timeout_s=60)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "once more" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    slow(site, 0)
    code, _out, err = cli("resume", "--out", "o")
    assert code == 0, err
    check_whole(site, cli.folder / "o")


@pytest.mark.parametrize("requests", [3, 25, 70])
def test_kill_9_loses_nothing_and_doubles_nothing(site: Site, cli: Cli, requests: int) -> None:
    slow(site, 0.02)
    words = ("crawl", site.url(), "--out", "o")
    process = cli.start(*words)
    site.wait(n=requests, timeout_s=60)
    process.kill()
    process.communicate(timeout=30)
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o")


def test_torn_lines_are_repaired(site: Site, cli: Cli) -> None:
    slow(site, 0.02)
    words = ("crawl", site.url(), "--out", "o")
    process = cli.start(*words)
    site.wait(n=40, timeout_s=60)
    process.kill()
    process.communicate(timeout=30)
    with (cli.folder / "o" / "pages.jsonl").open("ab") as file:
        file.write(b'{"url":"http://torn')
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o")


def test_finished_crawl_is_replaced_by_a_new_one(site: Site, cli: Cli) -> None:
    words = ("crawl", site.url(), "--out", "o")
    assert cli(*words)[0] == 0
    (cli.folder / "o" / "mine.txt").write_text("keep")
    site.links({"/": ["/new"], "/new": []})
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o", {"/", "/new"})
    assert (cli.folder / "o" / "mine.txt").read_text() == "keep"


def test_old_result_stands_until_the_new_one_is_complete(site: Site, cli: Cli) -> None:
    words = ("crawl", site.url(), "--out", "o")
    assert cli(*words)[0] == 0
    slow(site)
    seen = sum(site.counts().values())
    process = cli.start(*words)
    site.wait(n=seen + 20, timeout_s=60)
    process.kill()
    process.communicate(timeout=30)
    check_whole(site, cli.folder / "o")
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o")
    assert not (cli.folder / "o" / ".perseid" / "next").exists()


def test_changed_options_ask_for_fresh(site: Site, cli: Cli) -> None:
    code, _out, err = cli("crawl", site.url(), "--out", "o", "--limit", "3")
    assert code == 0, err
    code, _out, err = cli("crawl", site.url(), "--out", "o", "--limit", "4")
    assert code == 2
    assert "limit: 3 → 4" in err
    assert "--fresh" in err
    assert cli("crawl", site.url(), "--out", "o", "--limit", "4", "--fresh")[0] == 0
    assert len(paths(site, cli.folder / "o")) == 4


def test_two_at_once_in_one_folder_are_refused(site: Site, cli: Cli) -> None:
    site.respond("/p3", hang=True)
    cli.start("crawl", site.url(), "--out", "o")
    site.wait("/p3", timeout_s=60)
    code, _out, err = cli("crawl", site.url(), "--out", "o")
    assert (code, "another perseid is writing" in err) == (1, True)


def test_two_processes_share_a_crawl(site: Site, cli: Cli) -> None:
    slow(site, 0.02)
    code, _out, err = cli("crawl", site.url(), "--out", "o", "--processes", "2")
    assert code == 0, err
    check_whole(site, cli.folder / "o")


def test_crawl_without_a_page_is_hollow(site: Site, cli: Cli) -> None:
    site.respond("/", 500)
    code, _out, err = cli("crawl", site.url(), "--out", "o")
    assert code == 3, err
    assert "warning" in err


def test_cancelled_from_another_terminal(site: Site, cli: Cli) -> None:
    slow(site, 0.2)
    first = cli.start("crawl", site.url(), "--out", "o", "--concurrency", "2", "--json")
    site.wait(n=6, timeout_s=60)
    uid = json.loads((cli.folder / "o" / ".perseid" / "crawl.json").read_text())["uid"]
    code, _out, err = cli("cancel", uid, "--out", "o")
    assert code == 0, err
    out, _err = first.communicate(timeout=60)
    assert json.loads(out)["status"] == "cancelled"
    assert first.returncode == 1


def test_fresh_gives_the_unfinished_crawl_up(site: Site, cli: Cli) -> None:
    slow(site)
    process = cli.start("crawl", site.url(), "--out", "o")
    site.wait(n=20, timeout_s=60)
    process.kill()
    process.communicate(timeout=30)
    site.links({"/": ["/new"], "/new": []})
    code, _out, err = cli("crawl", site.url(), "--out", "o", "--fresh")
    assert code == 0, err
    check_whole(site, cli.folder / "o", {"/", "/new"})
    assert [json.loads(line)["status"] for line in cli("list", "--json", "--out", "o")[1].splitlines()] == ["completed"]


def test_hollow_crawl_does_not_replace_a_good_result(site: Site, cli: Cli) -> None:
    words = ("crawl", site.url(), "--out", "o")
    assert cli(*words)[0] == 0
    site.respond("/", 500)
    code, _out, err = cli(*words)
    assert code == 3
    assert "earlier result stays" in err
    check_whole(site, cli.folder / "o")
    site.links({"/": ["/new"], "/new": []})
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o", {"/", "/new"})


def test_ctrl_c_reaches_all_processes_and_nothing_is_lost(site: Site, cli: Cli) -> None:
    slow(site)
    words = ("crawl", site.url(), "--out", "o", "--processes", "2", "--concurrency", "2")
    process = cli.start(*words)
    site.wait(n=20, timeout_s=60)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    code, _out, err = cli(*words)
    assert code == 0, err
    check_whole(site, cli.folder / "o")
