"""Exit codes, one meaning each (docs/cli.md has the same table)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from perseid.errors import ConfigError, InvalidURL, NotFound

if TYPE_CHECKING:
    from perseid.errors import PerseidError


class Exit(IntEnum):
    OK = 0
    """Done. Single pages may have failed: the summary and failed.jsonl say which."""
    ERROR = 1
    """It could not be done: page, store, disk, network."""
    USAGE = 2
    """A flag, setting or URL is wrong, or the options differ from those of the crawl in OUT."""
    HOLLOW = 3
    """The crawl completed without a single page."""
    NOT_FOUND = 4
    """No such crawl, or no crawl has seen the URL."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C; the same command goes on."""
    PIPE = 141
    """Whoever read stdout went away."""
    TERMINATED = 143
    """Stopped by SIGTERM; the same command goes on."""


def of(error: PerseidError) -> Exit:
    match error:
        case ConfigError() | InvalidURL():
            return Exit.USAGE
        case NotFound():
            return Exit.NOT_FOUND
        case _:
            return Exit.ERROR
