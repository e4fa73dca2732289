"""The commands about sites as people call them: what they print, and their exit codes."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perseid.testing.ground import Ground, standing
from perseid.testing.site import Site, in_thread

pytestmark = pytest.mark.slow
RULE = "site_id: shop\nfields:\n  title: {css: %s, required: true}\n  price: {css: .price, type: price, currency: EUR}\nsinks: [rows]\n"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    for number in range(4):
        site.page(f"/{number}", f"<h1>Shoe {number}</h1><p class=price>{number}.50 €</p>")
    site.page("/odd", "<h2>Odd</h2>")
    with in_thread(site):
        yield site


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with standing() as ground:
        yield ground


def _as_at_a_terminal() -> None:
    """Programs that a shell runs in the background may have been told to ignore Ctrl-C, and hand that on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Cli:
    """Runs the program in a folder of its own."""

    def __init__(self, folder: Path, ground: Ground) -> None:
        self.folder = folder
        (folder / "out").mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(folder),
            "PERSEID_FETCH__ALLOW_PRIVATE": "true",
            "PERSEID_FOLDERS__OUT": str(folder / "out"),
            **ground.environment,
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "perseid", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_as_at_a_terminal,  # noqa: PLW1509 - the tests here have no threads to mind
        )

    def __call__(self, *words: str) -> tuple[int, str, str]:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def json(self, *words: str) -> list[Any]:
        code, out, err = self(*words, "--json")
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory, ground: Ground) -> Cli:
    return Cli(tmp_path_factory.mktemp("cli"), ground)


@pytest.mark.folder
def test_a_question_leaves_no_store_behind(cli: Cli) -> None:
    code, out, err = cli("items", "list", "--data", "nowhere")
    assert (code, out) == (4, "")
    assert "nowhere holds no store yet; --data names the folder of one" in err
    assert not (cli.folder / "nowhere").exists()


def test_a_folder_is_published_watched_and_written_out_again(cli: Cli) -> None:
    cli.write("rules/shop.yaml", RULE % "h3")
    cli.write("rules/broken.yaml", "site_id: [\n")
    code, _out, err = cli("rules", "sync", "rules", "--author", "ada", "-m", "first")
    assert code == 2
    assert "broken.yaml:2:1: error" in err
    assert err.splitlines()[-2:] == ["shop: version 1 published", "1 published, 0 as before, 1 refused"]
    watching = cli.start("rules", "sync", "rules", "--watch", "--json")
    try:
        assert watching.stderr is not None
        while "watching rules" not in watching.stderr.readline():
            pass
        cli.write("rules/shop.yaml", RULE % "h1")
        told = {"outcome": ""}
        while told["outcome"] != "published":
            assert watching.stdout is not None
            told = json.loads(watching.stdout.readline())
        assert (told["name"], told["version"]) == ("shop", 2)
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert [(each["version"], each["author"]) for each in cli.json("rules", "history", "shop")][1] == (1, "ada")
    (cli.folder / "rules/broken.yaml").unlink()

    cli.write("rows.yaml", "connection: out\n")
    assert cli("config", "publish", "sink", "rows.yaml")[0] == 0
    assert cli("config", "publish", "sink", "rows.yaml", "--name", "other")[0] == 0
    assert cli("config", "retire", "sink", "other")[0] == 0
    assert [each["name"] for each in cli.json("config", "list", "sink")] == ["rows"]
    assert cli("config", "show", "sink", "rows")[1] == "connection: out\n"
    assert cli("config", "show", "sink")[0] == 2
    code, _out, err = cli("config", "export", "all")
    assert (code, err) == (0, "2 files in all\n")
    assert cli("config", "sync", "all")[2] == "0 published, 2 as before, 0 refused\n"
    assert cli("rules", "diff", "shop@1", "shop")[1] == '~ fields.title.from[0].css: "h3" → "h1"\n'
    assert cli("rules", "diff", "shop@x", "shop")[0] == 2


def test_seeds_are_run_and_looked_at(cli: Cli, site: Site) -> None:
    urls = [site.url(f"/{number}") for number in range(4)]
    cli.write("seed.json", json.dumps({"seed_id": "four", "site_id": "shop", "urls": urls, "schedule": "30 6 * * *"}))
    (told,) = cli.json("seeds", "run", "seed.json")
    assert (told["seed_id"], told["done"], told["items"], told["failed"]) == ("four", 4, 4, 0)
    code, out, err = cli("seeds", "run", "four", "--print")
    assert (code, out) == (0, "")
    assert "four: all of its pages were collected before; --force collects them again" in err
    code, out, err = cli("seeds", "run", "--site", "shop", site.url("/0"), site.url("/odd"), "--force", "--print")
    assert code == 0, err
    assert [json.loads(line)["title"] for line in out.splitlines()] == ["Shoe 0"]
    assert "1 kept back" in err
    code, _out, err = cli("seeds", "run", "--site", "shop", site.url("/none"))
    assert code == 1
    assert f"  {site.url('/none')}: the site answered 404 (http_404; task " in err
    cli.write(
        "other.yaml",
        f"seed_id: other\nsite_id: other\nurls: {site.url('/0')}\nschedule: {{every: 1d, at_once: false}}\n",
    )
    code, _out, err = cli("seeds", "add", "other.yaml")
    assert (code, err.splitlines()[0]) == (0, "warning: nobody has published a rule for the site 'other' yet")
    assert cli("seeds", "run", site.url("/0"))[0] == 2
    assert cli("seeds", "run", "nobody")[0] == 4

    (row,) = [each for each in cli.json("seeds", "list", "--site", "shop") if each["seed_id"] == "four"]
    assert (row["state"], row["runs"]) == ("active", 2)
    assert row["next_at"].endswith("06:30:00Z")
    (shown,) = cli.json("seeds", "show", "four")
    assert [run["tasks"] for run in shown["newest_runs"]] == [0, 4]
    assert shown["seed"]["schedule"] == {"cron": "30 6 * * *"}
    for word, state in (("pause", "paused"), ("stop", "stopped"), ("resume", "active")):
        assert cli("seeds", word, "four")[0] == 0
        assert {each["seed_id"]: each["state"] for each in cli.json("seeds", "list")}["four"] == state


def test_items_are_listed_exported_traced_and_sent_again(cli: Cli) -> None:
    found = cli.json("items", "list", "--site", "shop")
    assert sorted(each["fields"]["title"] for each in found) == [f"Shoe {number}" for number in range(4)]
    assert [each["change"] for each in found] == sorted(each["change"] for each in found)
    _code, out, err = cli("items", "export", "--format", "csv", "--since", "1h")
    rows = list(csv.DictReader(out.splitlines()))
    assert sorted((row["title"], row["price_amount"]) for row in rows)[1] == ("Shoe 1", "1.50")
    assert err == f"4 items; --after {found[-1]['change']} goes on behind the last\n"
    assert cli("items", "export", "--after", str(found[-1]["change"]))[1] == ""
    assert cli("items", "export", "--since", "soon")[0] == 2
    (trace,) = cli.json("seeds", "trace", str(found[0]["task_id"]))
    assert (trace["state"], trace["items"]) == ("completed", [found[0]])
    assert cli("seeds", "trace", "999999")[0] == 4

    (sink,) = cli.json("sinks", "list")
    assert (sink["name"], sink["waiting"], sink["error"]) == ("rows", 0, "")
    written = [
        json.loads(line) for file in (cli.folder / "out").rglob("*.jsonl") for line in file.read_text().splitlines()
    ]
    assert {row["title"] for row in written} == {f"Shoe {number}" for number in range(4)}
    assert cli("sinks", "resend", "rows")[2] == "4 items in line for rows\n"
    assert cli("sinks", "resend", "none")[0] == 4
    assert cli("sinks", "drop", "rows")[2] == "4 items out of the line for rows\n"


def test_exceptions_are_grouped_mended_and_dropped_and_a_paused_site_waits(cli: Cli, site: Site) -> None:
    (group,) = cli.json("exceptions", "groups")
    assert (group["site_id"], group["reason"], group["count"]) == ("shop", "missing:title", 1)
    (kept,) = cli.json("exceptions", "list", "--reason", "missing:title")
    assert kept["problems"][0]["field"] == "title"
    cli.write("mended.yaml", RULE % "'h1, h2'")
    code, out, _err = cli("rules", "test", "mended.yaml", "--stored")
    assert (code, out.splitlines()[0]) == (0, site.url("/odd"))
    cli.write("worse.yaml", RULE % "h4")
    assert cli("rules", "test", "worse.yaml", "--stored")[0] == 1
    assert cli("rules", "publish", "mended.yaml")[0] == 0
    assert cli.json("exceptions", "retry", "--site", "shop") == [{"pages": 1, "items": 1, "exceptions": 0, "unread": 0}]
    assert cli("exceptions", "groups")[1] == ""
    assert cli("exceptions", "drop", "--site", "shop")[2] == "0 exceptions dropped\n"
    assert cli("exceptions", "retry", "--site", "none")[0] == 4
    assert cli.json("exceptions", "alarms", "--all") == []

    assert cli("sites", "pause", "shop", "--reason", "a look")[0] == 0
    code, _out, err = cli("seeds", "run", "four")
    assert code == 0
    assert "the site shop is paused: a look; `perseid sites resume shop` goes on" in err
    assert {each["site_id"]: each["reason"] for each in cli.json("sites", "list")}["shop"] == "a look"
    assert cli("sites", "resume", "shop")[0] == 0
    assert cli("seeds", "delete", "four")[0] == 0
    assert cli("seeds", "show", "four")[0] == 4
