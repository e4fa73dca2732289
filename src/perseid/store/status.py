"""What a database says of its own tables."""

from __future__ import annotations

from typing import NamedTuple

from perseid.ports.truth import Relocation


class Found(NamedTuple):
    """`scripts` are the names of all migrations, in order; `version` says how many of them were run."""

    shown: str
    version: int
    scripts: list[str]
    relocation: Relocation | None
