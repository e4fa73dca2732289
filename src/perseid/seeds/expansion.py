"""From a seed's payload to addresses, in steps that anybody can take anew.

`perseid.seeds.expanding.Expander` takes the steps. One brings at most `MAX_URLS` addresses and the cursor that the next
one begins with. A cursor is a small JSON text that says all there is to know: the process that takes the next step may
be another one. A step that was taken but not written down is taken again from the same cursor and gives the same
addresses, as far as its source still does; who admits them knows those that it has.

Of sources on the web a step makes at most one request, by `Asks.fetch`. How requests are made is the caller's:

- `Stepped.next_host` is the host that the next step will ask, as `links.host.politeness_host` has it, and "" where it
  won't ask any. It is a forecast: what the last step read may be gone with its process, so `fetch` may be called in a
  step that was to ask nothing. A caller whose lease is not of that host gives up the step there by an exception of its
  own (nothing here catches it) and comes back under a lease of the host with the same cursor.
- `fetch` follows redirects and has patience with refusals; it returns answers of any status, and raises `SourceFailed`
  where there is none to be had.
"""

from __future__ import annotations

from datetime import date
from typing import Protocol

import msgspec

from perseid.ports.fetch import Response
from perseid.ports.source import Chunk, Query, Rows

MAX_URLS = 500
"""Of one step."""
MAX_NOTES = 5
"""Sentences of one step; what was left out beyond them is only counted."""


class Stepped(msgspec.Struct, frozen=True, kw_only=True):
    """What one step brought."""

    urls: tuple[str, ...] = ()
    """Absolute http(s) addresses as WHATWG URL writes them, without fragment, in the source's order; some may be twice
    among those of a run.
    """
    cursor: bytes | None = None
    """Where to go on; None when this was the last step."""
    next_host: str = ""
    skipped: int = 0
    """Entries that hold no usable address, bad lines, files that could not be read."""
    notes: tuple[str, ...] = ()
    """For people: what was left out and why."""


class Asks(Protocol):
    """What a step may ask for. `rows` and `read` are those of `ports.source.Tables` and `Folders`."""

    @property
    def today(self) -> date:
        """The day of the run in the seed's time zone, the same in all steps of a run."""
        ...

    async def fetch(self, url: str) -> Response:
        """One GET, with the headers and cookies that tasks of this seed have.

        Raises `SourceFailed` where no answer is to be had.
        """
        ...

    async def rows(self, query: Query) -> Rows: ...

    async def read(self, folder: str, file: str, *, offset: int, size: int) -> Chunk: ...
