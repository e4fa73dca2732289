"""Ten sites unlike each other become rows in a database, by rules and seeds in files alone, as people do it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.sites.served import ORIGINS, PASSWORD, TOKEN, Web

from perseid.testing.ground import standing
from perseid.testing.site import in_thread

ASKED = {
    # Beside robots.txt, each once: what leads to pages, and pages.
    "news": 1 + 2, "shop": 3 + 4, "forum": 2, "wiki": 3, "desks": 2, "jobs": 5 + 5, "api": 2 + 3, "feed": 2,
    "login": 1 + 2 + 3, "chinese": 4,
}  # fmt: skip


class Cli:
    """`perseid` in the folder of an analyst; the settings and secrets are the operator's."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            **environment,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(folder),
            "PERSEID_FETCH__ALLOW_PRIVATE": "127.0.0.1",
            "PERSEID_SECRETS__CATALOGUE_TOKEN": TOKEN,
            "PERSEID_SECRETS__MEMBERS_PASSWORD": PASSWORD,
            "PERSEID_CONNECTIONS__MEMBERS": f"sqlite://{folder}/members.db",
            "PERSEID_CONNECTIONS__WAREHOUSE": f"sqlite://{folder}/warehouse.db",
            "PERSEID_FOLDERS__LISTS": f"{folder}/lists",
        }

    def __call__(self, *words: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-m", "perseid", *words],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture
def web(shared: Path) -> Iterator[Web]:
    web = Web(shared)
    with in_thread(web.site):
        web.lay()
        yield web


@pytest.fixture
def cli(web: Web, tmp_path: Path) -> Iterator[Cli]:
    web.write(tmp_path)
    with standing() as ground:
        yield Cli(tmp_path, ground.environment)


def items_of(web: Web, exported: str) -> dict[str, dict[str, dict[str, Any]]]:
    """By site and key."""
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in ORIGINS}
    for line in exported.splitlines():
        item = json.loads(web.public(line))
        assert item["rule_version"] == 1
        assert item["unique_key"] not in found[item["site_id"]]
        found[item["site_id"]][item["unique_key"]] = item
    return found


def test_ten_sites_give_their_truth_by_rules_and_seeds_alone(web: Web, cli: Cli, tmp_path: Path) -> None:
    cli("config", "publish", "sink", "warehouse.yaml")
    cli("rules", "publish", *sorted(map(str, (tmp_path / "rules").iterdir())))
    cli("seeds", "run", "seeds.yaml")
    found = items_of(web, cli("items", "export"))
    for name in ORIGINS:
        truth = web.truth(name)
        assert found[name].keys() == truth.keys(), name
        for key, fields in truth.items():
            assert {field: found[name][key].get(field) for field in fields} == fields, (name, key)
    assert cli("exceptions", "list", "--json") == ""
    counts = {name: web.site.counts(name) for name in ORIGINS}
    assert {name: sum(counts[name].values()) - counts[name].pop("/robots.txt") for name in ORIGINS} == ASKED
    assert {path: n for name in ORIGINS for path, n in counts[name].items() if n > 1} == {"/login": 2}
    with closing(sqlite3.connect(tmp_path / "warehouse.db")) as warehouse:
        for name in ORIGINS:
            keys = {web.public(key) for (key,) in warehouse.execute(f"SELECT unique_key FROM {name}")}
            assert keys == web.truth(name).keys()
        assert warehouse.execute("SELECT title, company, posted FROM jobs WHERE city = 'Ulm'").fetchall() == [
            ("Dreher (m/w/d)", "Werk & Söhne GmbH", "2024-03-04")
        ]
