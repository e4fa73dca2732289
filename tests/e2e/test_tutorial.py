"""docs/sites.md, done as it is written: its files, its commands, and what they print.

Of the document only the address of the shop is changed. A line of output that it shows must come, `…` standing for
anything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perseid.testing.ground import standing
from perseid.testing.site import Site, in_thread

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parents[2] / "docs" / "sites.md"
SHOES = ["Blue", "Red", "Green", "White", "Black", "Yellow"]
_PARTS = re.compile(r"```(yaml|console)\n(.*?)```|<!-- (the shop has new templates) -->", re.DOTALL)
_SQLITE = """#!{python}
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print("|".join(map(str, row)))
"""


@pytest.fixture
def shop() -> Iterator[Site]:
    site = Site()
    for page, first in (("/shoes", 0), ("/shoes?page=2", 3)):
        cards = "".join(
            f"<a class=card href=/shoes/{number + 1}>{SHOES[number]}</a>" for number in (first, first + 1, first + 2)
        )
        site.page(page, f"<main>{cards}{'' if first else '<a class=next href=/shoes?page=2>more</a>'}</main>")
    for number, colour in enumerate(SHOES, 1):
        site.page(
            f"/shoes/{number}",
            f"<html lang=en><title>{colour} shoes</title><main class=shoe data-sku=S{number}><h1>{colour} shoes</h1>"
            f"<p>Made to be walked in, for years, in any weather, and mended when they need it.</p>"
            f"<p class=price>{11 + number}.50 €</p><i class=colour>{colour.lower()}</i><i class=colour>navy</i></main>",
        )
    with in_thread(site):
        yield site


def redesign(site: Site) -> None:
    for number, colour in enumerate(SHOES, 1):
        site.page(
            f"/shoes/{number}",
            f"<main data-id=S{number}><h2>{colour} shoes</h2><b class=amount>{11 + number}.50 €</b></main>",
        )


class Shell:
    """Runs commands one after the other; what is exported stays."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        binaries = folder / "bin"
        binaries.mkdir()
        programs = {
            "perseid": f'#!/bin/sh\nexec "{sys.executable}" -W error -m perseid "$@"\n',
            "sqlite3": _SQLITE.format(python=sys.executable),
        }
        for name, text in programs.items():
            (binaries / name).write_text(text)
            (binaries / name).chmod(0o755)
        self.folder = folder / "work"
        self.folder.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(folder),
            "PERSEID_FETCH__ALLOW_PRIVATE": "true",
            **environment,
        }

    def __call__(self, command: str) -> list[str]:
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = value.strip('"').replace("$PWD", str(self.folder))
            return []
        run = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
        return [*run.stdout.splitlines(), *run.stderr.splitlines()]


def test_the_tutorial_does_what_it_says(shop: Site, tmp_path: Path) -> None:
    text = DOCS.read_text("utf-8").replace("https://shop.example", shop.url("/").rstrip("/"))
    done = 0
    with standing() as ground:
        shell = Shell(tmp_path, ground.environment)
        for language, block, event in _PARTS.findall(text):
            if event:
                redesign(shop)
            elif language == "yaml":
                name = re.match(r"# (\S+\.yaml)\n", block)
                assert name is not None, block
                file = shell.folder / name[1]
                file.parent.mkdir(exist_ok=True)
                file.write_text(block, "utf-8")
            else:
                done += do(shell, block)
    assert done >= 20
    fetched = [request.path for request in shop.requests if request.path.startswith("/shoes/")]
    assert all(fetched.count(f"/shoes/{number}") <= 5 for number in range(1, 7))


def do(shell: Shell, block: str) -> int:
    """Run the commands of a block, and look for what it says they print; how many."""
    steps = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for step in steps:
        command, *shown = step.rstrip("\n").split("\n")
        printed = shell(command)
        for line in shown:
            pattern = re.escape(line).replace("…", ".*")
            assert any(re.fullmatch(pattern, found) for found in printed), (
                f"{command}\nwanted: {line}\nfound:\n" + "\n".join(printed)
            )
    return len(steps)
