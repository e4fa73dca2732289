"""Databases that the operator has named, by the scheme of their address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from perseid.errors import SourceFailed
from perseid.ports.source import Query, Rows

PATIENCE_S = 30.0
"""For one part of a query."""


class NamedTables:
    """`Tables` over the addresses of the settings. A connection lives as long as one part of a query."""

    def __init__(self, addresses: Mapping[str, str], *, patience_s: float = PATIENCE_S) -> None:
        self._addresses = dict(addresses)
        self._patience_s = patience_s

    async def rows(self, query: Query) -> Rows:
        address = self._addresses.get(query.connection)
        if address is None:
            there = f"there are: {', '.join(sorted(self._addresses))}" if self._addresses else "there is none"
            raise SourceFailed(f"no connection is named {query.connection!r} in the settings; {there}")
        return await _reader(query.connection, address)(query, address, self._patience_s)

    async def close(self) -> None:
        """Nothing is kept open."""


def _reader(name: str, address: str) -> Callable[[Query, str, float], Awaitable[Rows]]:
    scheme = address.partition("://")[0]
    if scheme == "sqlite":
        from perseid.source.sqlite import read_rows  # noqa: PLC0415  only where it is used

        return read_rows
    if scheme in ("postgresql", "postgres"):
        try:
            from perseid.source.postgres import read_rows as read_from_server  # noqa: PLC0415  its driver is an extra
        except ImportError:
            raise SourceFailed(f"the connection {name!r} needs asyncpg: pip install 'perseid[postgres]'") from None
        return read_from_server
    raise SourceFailed(f"the connection {name!r} is no database that can be queried (sqlite, postgresql): {scheme!r}")
