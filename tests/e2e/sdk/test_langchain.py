"""LangChain: what its loader makes of a site."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .installed import python_packages
from .outcome import Outcome, missing

CHECK = Path(__file__).with_name("loaders") / "check_langchain.py"
REQUIREMENTS = (
    "--no-deps",
    "langchain-community==0.4.2",
    "langchain-core==1.8.4",
    "langsmith==0.15.1",
    "uuid-utils",
    "tenacity",
    "jsonpatch",
    "jsonpointer",
    "pyyaml",
    "packaging",
)


@pytest.mark.slow
def test_a_site_is_loaded_in_each_mode(inner_pytest: Callable[..., list[Outcome]]) -> None:
    folders = [python_packages("langchain", *REQUIREMENTS), python_packages("firecrawl-py", "firecrawl-py==4.55.0")]
    outcomes = inner_pytest(os.pathsep.join(map(str, folders)), "--noconftest", CHECK)
    assert len(outcomes) == 3, missing(outcomes)
    assert not missing(outcomes), missing(outcomes)
