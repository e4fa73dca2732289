"""firecrawl-py 4.38.0: its three clients, synchronous, asynchronous and of the first version, by the files of `python/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .installed import python_packages
from .outcome import Outcome, missing

CHECKS = Path(__file__).with_name("python")
NAMES = sorted(file.stem for file in CHECKS.glob("check_*.py"))


@pytest.fixture(scope="module")
def outcomes(inner_pytest: Callable[..., list[Outcome]]) -> list[Outcome]:
    packages = python_packages("firecrawl-py", "firecrawl-py==4.38.0")
    return inner_pytest(packages, "--noconftest", "-o", "python_files=check_*.py", CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_clients_do_what_they_say(outcomes: list[Outcome], name: str) -> None:
    found = [outcome for outcome in outcomes if outcome.file == name]
    assert found, missing(outcomes)
    assert not missing(found), missing(found)
