"""The end-to-end tests of the second version that @mendable/firecrawl-js 4.42.0 ships, run by their own jest."""

from __future__ import annotations

import os
import shutil

import pytest

from .conftest import Program
from .installed import node, node_packages
from .outcome import Outcome, missing, of_jest
from .shipped import localized

PACKAGES = ("@mendable/firecrawl-js@4.42.0", "jest@30", "@jest/globals@30", "ts-jest@29", "typescript@5", "dotenv@16")
NEEDS_A_BROWSER = {"scrape::basic format: screenshot", "search::all parameters (comprehensive)"}
"""Screenshots and actions; see docs/sdk-tests.md."""


@pytest.fixture(scope="module")
def outcomes(program: Program, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    packages = node_packages("firecrawl-js-jest", *PACKAGES)
    folder = tmp_path_factory.mktemp("shipped") / "package"
    shutil.copytree(packages / "node_modules" / "@mendable" / "firecrawl-js", folder)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    localized(folder / "src" / "__tests__" / "e2e", ".ts", environment)
    report = folder / "report.json"
    jest = folder / "node_modules" / "jest" / "bin" / "jest.js"
    options = ["--json", f"--outputFile={report}", "--forceExit", "src/__tests__/e2e/v2/[a-z]+\\.test\\.ts"]
    told = program([node()[0], "--experimental-vm-modules", jest, *options], {"CI": os.environ.get("CI", "")}, folder)
    assert report.is_file(), told.stdout + told.stderr
    return of_jest(report)


@pytest.mark.slow
def test_all_pass_but_those_that_need_a_browser(outcomes: list[Outcome]) -> None:
    left = [outcome for outcome in outcomes if outcome.key not in NEEDS_A_BROWSER]
    assert len(outcomes) == 55
    assert not missing(left), missing(left)


@pytest.mark.slow
def test_none_is_left_out_that_would_pass(outcomes: list[Outcome]) -> None:
    assert {outcome.key for outcome in outcomes if outcome.state == "failed"} == NEEDS_A_BROWSER
