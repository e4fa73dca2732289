"""What a crawl command does about the result that OUT already holds. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perseid.cli.options import differences
from perseid.errors import ConfigError
from perseid.model.options import CrawlOptions, ScrapeOptions

if TYPE_CHECKING:
    from perseid.model.crawl import CrawlStatus
    from perseid.sink.place import Record


class BatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two batches the same one."""

    scrape: ScrapeOptions
    urls: int
    digest: str
    """Of the list of URLs."""


class Wanted(NamedTuple):
    """What the command line asks for."""

    kind: str
    url: str
    options: CrawlOptions | BatchOptions


class Start(NamedTuple):
    """Begin anew. `staged`: beside the result that stands in OUT."""

    staged: bool


class Resume(NamedTuple):
    """Go on with the crawl of the record."""

    record: Record


def decide(record: Record | None, status: CrawlStatus | None, wanted: Wanted, *, fresh: bool) -> Start | Resume:
    """`status` is that of the recorded crawl, None where the store no longer knows it.

    Raises `ConfigError` when OUT holds another crawl, or one with other options, and `fresh` is not given.
    """
    if record is None:
        return Start(staged=False)
    if not fresh:
        _same(record, wanted)
        if not record.done and status is not None:
            return Resume(record)
    return Start(staged=True)


def _same(record: Record, wanted: Wanted) -> None:
    state = "a finished" if record.done else "an unfinished"
    advice = "add --fresh to begin anew, or choose another folder with --out"
    if (record.kind, record.url) != (wanted.kind, wanted.url):
        raise ConfigError(f"the folder holds {state} {record.kind} of {record.url}; {advice}")
    try:
        before = msgspec.json.decode(record.options, type=type(wanted.options))
    except msgspec.MsgspecError:
        raise ConfigError(f"the folder holds {state} {record.kind} of other options; {advice}") from None
    changed = differences(before, wanted.options)
    if changed:
        raise ConfigError(f"the folder holds {state} {record.kind} with other options ({'; '.join(changed)}); {advice}")
