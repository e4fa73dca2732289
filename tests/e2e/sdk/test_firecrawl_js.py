"""@mendable/firecrawl-js 4.42.0 under Node.js 22: its classes of both versions, by the files of `javascript/`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import Program
from .installed import node, node_packages
from .outcome import Outcome, missing, of_junit

CHECKS = Path(__file__).with_name("javascript")
NAMES = sorted(file.name for file in CHECKS.glob("*.test.mjs"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_classes_do_what_they_say(program: Program, tmp_path: Path, name: str) -> None:
    packages = node_packages("firecrawl-js", "@mendable/firecrawl-js@4.42.0")
    folder = tmp_path / "checks"
    shutil.copytree(CHECKS, folder)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    outcomes = _run(program, folder, name)
    assert len(outcomes) > 5, outcomes
    assert not missing(outcomes), missing(outcomes)


def _run(program: Program, folder: Path, name: str) -> list[Outcome]:
    report = folder / "report.xml"
    command = [node()[0], "--test", "--test-reporter=junit", f"--test-reporter-destination={report}", name]
    told = program(command, {}, folder)
    assert report.is_file(), told.stdout + told.stderr
    return of_junit(report)
