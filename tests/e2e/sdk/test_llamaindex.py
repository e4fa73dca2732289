"""LlamaIndex: what its reader makes of a site."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .installed import python_packages
from .outcome import Outcome, missing

CHECK = Path(__file__).with_name("loaders") / "check_llamaindex.py"


@pytest.mark.slow
def test_a_site_is_loaded_in_each_mode(inner_pytest: Callable[..., list[Outcome]]) -> None:
    folders = [
        python_packages("llamaindex-core", "llama-index-core==0.14.25"),
        python_packages("llamaindex-reader", "--no-deps", "llama-index-readers-web==0.7.0"),
        python_packages("firecrawl-py", "firecrawl-py==4.55.0"),
    ]
    outcomes = inner_pytest(os.pathsep.join(map(str, folders)), "--noconftest", CHECK)
    assert len(outcomes) == 3, missing(outcomes)
    assert not missing(outcomes), missing(outcomes)
