"""The site that is crawled while processes die, and how often they do."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from perseid.testing.child import served
from perseid.testing.walk import walk


@pytest.fixture(scope="session")
def kills() -> int:
    """Of each kind. PERSEID_CHAOS_KILLS asks for more, as `make chaos` does."""
    return int(os.environ.get("PERSEID_CHAOS_KILLS", "10"))


@pytest.fixture
def dice() -> random.Random:
    """Random moments; PERSEID_CHAOS_SEED repeats those of a run that failed."""
    seed = int(os.environ.get("PERSEID_CHAOS_SEED", "") or random.SystemRandom().randrange(2**32))
    print(f"PERSEID_CHAOS_SEED={seed}")  # noqa: T201 - shown when the test fails, and by -s
    return random.Random(seed)


@pytest.fixture(scope="session")
def manual(documentation: Callable[[str, str], Path]) -> Path:
    """The documentation of PostgreSQL, 1,169 pages."""
    return documentation("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html")


@pytest.fixture(scope="session")
def manual_pages(manual: Path) -> frozenset[str]:
    """Paths of all its pages, found without Perseid."""
    with served("perseid.testing.folder", str(manual)) as server:
        return frozenset(url.removeprefix(server.url[:-1]) for url in walk(server.url).html)
