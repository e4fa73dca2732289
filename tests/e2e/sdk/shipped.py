"""The tests that the clients' packages ship, in a copy that asks our sites where they ask sites of the internet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_HOSTS = r"docs\.firecrawl\.dev|(?:www\.)?firecrawl\.dev|github\.com"
_ADDRESS = re.compile(rf"(https://)?(?<![\w.@])({_HOSTS})(?![\w.])")


def localized(folder: Path, suffix: str, environment: Mapping[str, str]) -> None:
    """Name our hosts in all files of `folder`; a host without a scheme stays without one."""
    documentation, home = environment["LATE_SITE"], environment["HOME_SITE"]

    def ours(found: re.Match[str]) -> str:
        origin = documentation if found[2].startswith("docs.") else home
        return origin if found[1] else origin.removeprefix("http://")

    for file in folder.rglob(f"*{suffix}"):
        file.write_text(_ADDRESS.sub(ours, file.read_text()))
