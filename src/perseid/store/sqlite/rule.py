"""What the operator says of a single host: a pause, slots, a rate. It goes before the settings."""

from __future__ import annotations

from perseid.errors import NotFound, StoreError
from perseid.ports.inspect import HostView
from perseid.store.reading.hosts import HOST, host_view
from perseid.store.schema import FOREVER, clean
from perseid.store.sqlite import gates
from perseid.store.sqlite.tx import Tx


def set_host(
    tx: Tx, name: str, *, paused_until: int | None, max_active: int | None, interval_us: int | None
) -> HostView:
    """Change what is not None; -1 is a pause without end, and of the others what the settings say."""
    if max_active is not None and (max_active == 0 or max_active < -1):
        raise StoreError(f"a host takes at least one request at a time, not {max_active}; pause it instead")
    row = tx.one("SELECT id FROM host WHERE name = ?", (clean(name),))
    if row is None:
        raise NotFound(f"no host {name}: nobody has asked it for anything yet")
    host = row[0]
    if paused_until is not None:
        until = FOREVER if paused_until < 0 else paused_until if paused_until > tx.now else 0
        tx.execute("UPDATE host SET paused_until = ? WHERE id = ?", (until, host))
    if max_active is not None:
        tx.execute("UPDATE host SET own_max = ? WHERE id = ?", (None if max_active < 0 else max_active, host))
        gates.set_room(tx, host)
    if interval_us is not None:
        own = None if interval_us < 0 else interval_us
        tx.execute(
            "UPDATE host SET own_interval = ?1, interval = coalesce(?1, ?2) WHERE id = ?3",
            (own, tx.defaults.interval_us, host),
        )
    (seen,) = tx.all(f"{HOST} WHERE id = ?", (host,))
    return host_view(seen)
