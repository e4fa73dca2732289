"""Hosts as they are shown."""

from __future__ import annotations

from perseid.ports.inspect import HostView
from perseid.store.reading.rows import Row
from perseid.store.schema import FOREVER

HOST = "SELECT name, active, max_active, gap, interval, open_at, backoffs, waiting, paused_until FROM host"


def host_view(row: Row) -> HostView:
    view = HostView(*row)
    return view._replace(paused_until=-1) if view.paused_until >= FOREVER else view
