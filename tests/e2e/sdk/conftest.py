"""The servers that the clients talk to, the site behind them, and runs of the clients' programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from perseid.testing import Site
from perseid.testing.child import Command
from perseid.testing.service import serving
from perseid.testing.site import in_thread

from .files import docx, pdf
from .outcome import Outcome, of_junit
from .site import PAPER, furnish, serve_model, serve_search

_PATIENCE_S = 240
Ran = subprocess.CompletedProcess[str]
Program = Callable[..., Ran]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """150 pages; `home` is a small site, `late` a slow one, `services` a language model and a search engine."""
    with in_thread(Site("home", "late", "services")) as site:
        furnish(site)
        furnish(site.host("home"), per_section=1)
        furnish(site.host("late"), per_section=2, delay_s=0.4)
        serve_model(site.host("services"))
        serve_search(site.host("services"), site.origin)
        yield site


@pytest.fixture(scope="module")
def api(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that needs no key."""
    services = site.host("services")
    environment = {
        "PERSEID_LLM__BASE_URL": services.url("/v1"),
        "PERSEID_LLM__MODEL": "scripted",
        "PERSEID_SEARCH__SEARXNG_URL": services.origin,
    }
    with serving(tmp_path_factory.mktemp("open"), environment=environment) as (address, _):
        yield address.rstrip("/")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server that nobody works for, with two keys: one of them for ten requests a minute."""
    folder = tmp_path_factory.mktemp("locked")
    keys = {"API_KEY": _key(folder), "SLOWED_KEY": _key(folder, "--team", "slow", "--rate", "10")}
    with serving(folder, workers=0) as (address, _):
        yield {"LOCKED_URL": address.rstrip("/"), **keys}


@pytest.fixture(scope="module")
def environment(
    api: str, locked: dict[str, str], site: Site, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Where things are, under our names and those that the clients' own tests look for."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "paper.pdf").write_bytes(pdf(PAPER))
    (folder / "report.docx").write_bytes(docx("The walls of the orchard are old."))
    key = locked["API_KEY"]
    return {
        "SITE": site.origin,
        "HOME_SITE": site.host("home").origin,
        "LATE_SITE": site.host("late").origin,
        "FILES": str(folder),
        **dict.fromkeys(("API_URL", "TEST_URL", "FIRECRAWL_API_URL"), api),
        **dict.fromkeys(("TEST_API_KEY", "FIRECRAWL_API_KEY"), key),
        **locked,
    }


@pytest.fixture(scope="module")
def program(environment: dict[str, str]) -> Program:
    """Runs a client's program; what is set for pytest itself isn't passed on."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PERSEID_"))}

    def run(command: Sequence[str | Path], more: Mapping[str, str], cwd: Path | None = None) -> Ran:
        full = {**kept, **environment, **more}
        told = [*map(str, command)]
        return subprocess.run(told, env=full, cwd=cwd, check=False, capture_output=True, text=True, timeout=_PATIENCE_S)

    return run


@pytest.fixture(scope="module")
def inner_pytest(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Outcome]]:
    """pytest in a process of its own, over tests that import from a folder of packages."""

    def run(packages: Path | str, *arguments: str | Path) -> list[Outcome]:
        report = tmp_path_factory.mktemp("report") / "report.xml"
        plain = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--tb=short", f"--junit-xml={report}"]
        loops = [
            "-p",
            "pytest_asyncio.plugin",
            "-o",
            "asyncio_mode=auto",
            "-o",
            "asyncio_default_fixture_loop_scope=function",
        ]
        # Packages of the clients bring plugins along. Of their modules those are compiled that somebody reads.
        alone = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        told = program([sys.executable, "-m", "pytest", *plain, *loops, *arguments], alone)
        assert report.is_file(), told.stdout + told.stderr
        return of_junit(report)

    return run


def _key(folder: Path, *options: str) -> str:
    """A new key of the server whose store is to be in `folder`."""
    data = str(folder / "data")
    made = Command("keys", "create", "--json", "--data", data, *options, folder=folder / f"key{len(options)}").wait(60)
    assert made.status == 0, made.stderr
    secret: str = json.loads(made.stdout)["key"]
    return secret
