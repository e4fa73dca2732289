"""The other commands of the real program: what they print, and their exit codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from perseid.testing.site import Site, in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.links({"/": ["/a", "/private"], "/a": ["/a/b"], "/a/b": ["/"]})
    site.robots("User-agent: *\nDisallow: /private\n")
    with in_thread(site):
        yield site


class Cli:
    """Runs the program in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.words = [sys.executable, "-W", "error", "-m", "perseid"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "xdg"),
        }

    def __call__(self, *words: str, stdin: str = "", **environment: str) -> tuple[int, str, str]:
        run = subprocess.run(
            [*self.words, *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return run.returncode, run.stdout, run.stderr


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_scrape_prints_markdown(site: Site, cli: Cli) -> None:
    site.page("/x", "<title>X</title><main><h1>Head</h1><p>Some <b>text</b> of the page.</p></main>")
    code, out, err = cli("scrape", site.url("/x"))
    assert code == 0, err
    assert "**text**" in out


def test_scrape_prints_another_format(site: Site, cli: Cli) -> None:
    assert cli("scrape", site.url("/a"), "--format", "links")[1].split() == [site.url("/a/b")]


def test_scrape_prints_json(site: Site, cli: Cli) -> None:
    told = json.loads(cli("scrape", site.url("/a"), "--json", "-f", "markdown,html")[1])
    assert (told["url"], told["status"]) == (site.url("/a"), 200)
    assert "<p>" in told["html"]


def test_page_that_is_not_there_is_one_line_and_code_1(site: Site, cli: Cli) -> None:
    code, out, err = cli("scrape", site.url("/none"))
    assert (code, out) == (1, "")
    assert "http_404" in err
    assert err.count("\n") == 1


def test_map_prints_one_url_a_line(site: Site, cli: Cli) -> None:
    code, out, err = cli("map", site.url())
    assert code == 0, err
    assert set(out.split()) == {site.url("/"), site.url("/a")}


def test_map_puts_what_was_searched_first(site: Site, cli: Cli) -> None:
    site.links({"/": ["/x", "/needle", "/y"]})
    assert cli("map", site.url(), "--search", "needle")[1].split()[0] == site.url("/needle")


def test_batch_reads_stdin(site: Site, cli: Cli) -> None:
    urls = f"{site.url('/a')}\n# no\n{site.url('/a/b')}\n"
    code, out, err = cli("batch", "-", "--json", stdin=urls)
    assert code == 0, err
    assert json.loads(out)["pages"] == 2
    lines = (cli.folder / "out" / "batch-stdin" / "pages.jsonl").read_text().splitlines()
    assert {json.loads(line)["url"] for line in lines} == {site.url("/a"), site.url("/a/b")}


def test_explain_tells_verdict_rule_and_referrers(site: Site, cli: Cli) -> None:
    cli("crawl", site.url(), "--out", "o")
    code, out, _err = cli("explain", site.url("/private"), "--out", "o")
    assert code == 0
    for words in ("refused (ROBOTS_TXT)", "Disallow: /private", f"found on  {site.url('/')}"):
        assert words in out
    told = json.loads(cli("explain", site.url("/a/b"), "--out", "o", "--json")[1])
    assert (told["state"], told["attempts"]) == ("completed", 1)
    assert told["referrers"][0] == site.url("/a")


def test_explain_of_a_url_nobody_saw_is_code_4(site: Site, cli: Cli) -> None:
    cli("crawl", site.url(), "--out", "o")
    assert cli("explain", site.url("/never"), "--out", "o")[0] == 4


def test_list_shows_crawls_under_out(site: Site, cli: Cli) -> None:
    cli("crawl", site.url())
    told = json.loads(cli("list", "--json")[1])
    assert (told["status"], told["pages"], told["url"]) == ("completed", 3, site.url("/"))
    assert told["id"] in cli("list")[1]


def test_jobs_show_urls_with_their_state(site: Site, cli: Cli) -> None:
    cli("crawl", site.url())
    lines = [json.loads(line) for line in cli("jobs", "--json", "--state", "completed")[1].splitlines()]
    assert {site.url("/"), site.url("/a"), site.url("/a/b")} <= {line["url"] for line in lines}


def test_prune_deletes_ended_crawls_and_keeps_files(site: Site, cli: Cli) -> None:
    cli("crawl", site.url(), "--out", "o")
    assert "1 crawl deleted" in cli("prune", "--older-than", "0", "--out", "o")[2]
    assert (cli.folder / "o" / "pages.jsonl").stat().st_size
    assert cli("list", "--out", "o", "--json")[1] == ""


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_export_writes_lines(site: Site, cli: Cli, form: str) -> None:
    cli("crawl", site.url(), "--out", "o")
    code, out, err = cli("export", "-", "--format", form, "--out", "o")
    assert code == 0, err
    assert len(out.splitlines()) >= 3
    assert site.url("/a/b") in out


def test_export_writes_a_folder(site: Site, cli: Cli) -> None:
    cli("crawl", site.url(), "--out", "o")
    assert cli("export", "md", "--format", "md", "--out", "o")[0] == 0
    assert len(list((cli.folder / "md" / "pages").rglob("*.md"))) == 3
    assert cli("export", "md", "--format", "md", "--out", "o")[0] == 2


def test_doctor_finds_nothing_wrong(site: Site, cli: Cli) -> None:
    cli("crawl", site.url(), "--out", "o")
    code, out, err = cli("doctor", "--out", "o")
    assert code == 0, out + err
    assert "sqlite" in out


def test_config_show_tells_origins_and_masks_secrets(cli: Cli) -> None:
    (cli.folder / "perseid.toml").write_text("[worker]\nconcurrency = 3\n")
    code, out, _err = cli(
        "--log-level", "info", "config", "show", "--changed", PERSEID_FETCH__PROXY="http://u:hunter2@p"
    )
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["fetch.proxy", "http://***@p", "PERSEID_FETCH__PROXY"],
        ["worker.concurrency", "3", str(cli.folder / "perseid.toml")],
        ["log.level", "info", "flag"],
    ]


def test_config_show_honours_the_names_of_other_systems_and_says_which_are_in_vain(cli: Cli) -> None:
    code, out, err = cli("config", "show", "--changed", PORT="8080", MONGO_URL="mongodb://db", CONCURRENCY="many")
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [["api.port", "8080", "PORT"]]
    assert "MONGO_URL has no effect" in err
    assert "CONCURRENCY" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["crawl", "nonsense"], "is not a URL"),
        (["crawl", "ftp://h/"], "only http:// and https://"),
        (["crawl", "http://h/", "--include", "("], "The pattern '(' is not valid"),
        (["crawl", "http://h/", "--format", "pdf"], "unknown format"),
        (["crawl", "http://h/", "--limit", "0"], "--limit"),
        (["crawl", "http://h/", "--concurrency", "0"], "worker.concurrency"),
        (["crawl", "http://h/", "--delay", "soon"], "--delay: 'soon' is not a duration"),
        (["crawl", "http://h/", "--header", "nocolon"], "--header wants"),
        (["crawl"], "URL"),
        (["batch", "no-such-file"], "cannot be read"),
        (["jobs", "--state", "happy"], "choose from"),
        (["--config", "none.toml", "config", "show"], "none.toml: cannot be read"),
        (["--log-level", "loud", "config", "show"], "allowed: debug"),
    ],
)
def test_wrong_usage_is_code_2_and_said_without_a_traceback(cli: Cli, words: list[str], said: str) -> None:
    code, out, err = cli(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (cli.folder / "out").exists()


@pytest.mark.parametrize(
    "words", [["resume"], ["cancel", "x"], ["explain", "http://h/"], ["export", "-"], ["list", "-o", "no"]]
)
def test_nothing_there_is_code_4(cli: Cli, words: list[str]) -> None:
    code, _out, err = cli(*words)
    assert code == 4, err
    assert "Traceback" not in err


def test_traceback_is_for_debug_only(cli: Cli) -> None:
    assert "Traceback" not in cli("crawl", "nonsense")[2]
    assert "Traceback" in cli("--debug", "crawl", "nonsense")[2]


def test_reader_that_leaves_is_quiet(site: Site, cli: Cli) -> None:
    site.links({"/": [f"/{'x' * 60}{number}" for number in range(3000)]})
    command = " ".join(cli.words) + f" map {site.url()} | head -1"
    run = subprocess.run(
        ["/bin/sh", "-c", command], cwd=cli.folder, env=cli.environment, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (site.url() + "\n", "")


def test_terminal_shows_progress_and_a_pipe_does_not(site: Site, cli: Cli) -> None:
    for path in ("/a", "/a/b"):
        site.page(path, f"<title>{path}</title><p>Text.</p><a href='/a/b'>b</a>", delay_s=0.8)
    assert "queued" not in cli("crawl", site.url(), "--out", "o")[2]
    parent, child = pty.openpty()
    environment = {**cli.environment, "TERM": "xterm", "COLUMNS": "40", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [*cli.words, "crawl", site.url(), "--out", "o"], cwd=cli.folder, env=environment, stderr=child
    )
    os.close(child)
    shown = b""
    while True:
        try:
            data = os.read(parent, 4096)
        except OSError:  # the terminal's other end is closed
            break
        if not data:
            break
        shown += data
    os.close(parent)
    assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert "pages" in text
    assert "queue" in text
    assert "\x1b[3" not in text


def test_pages_cannot_drive_the_terminal(site: Site, cli: Cli) -> None:
    site.page("/evil", "<title>E</title><main><p>Before &#x9b;31m\x1b[31m after, and more of the text.</p></main>")
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*cli.words, "scrape", site.url("/evil")],
        cwd=cli.folder,
        env=cli.environment,
        stdout=child,
        stderr=subprocess.DEVNULL,
    )
    os.close(child)
    assert process.wait(timeout=60) == 0
    assert b"\x1b" not in os.read(parent, 65536)
    os.close(parent)
