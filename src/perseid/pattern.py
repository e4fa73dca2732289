"""Regular expressions that few pages need: compiled at their first use, so that a command starts sooner."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def later(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The same as `re.compile`, but for when it compiles. Each use costs a little more: not for the busiest loops."""
    return cast("re.Pattern[AnyStr]", _Later(source, flags))


class _Later:
    """Stands for a pattern, and keeps each of its methods that was asked for."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._written = source, flags

    def __getattr__(self, name: str) -> Any:
        source, flags = self._written
        found = getattr(re.compile(source, flags), name)  # of what was compiled already, `re` keeps the pattern
        setattr(self, name, found)
        return found
