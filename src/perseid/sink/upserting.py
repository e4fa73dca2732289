"""The upsert that SQLite and PostgreSQL share: by site and key, never an older fetch over a newer one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perseid.ports.sink import Mode
from perseid.sink.naming import quoted
from perseid.sink.rows import OWN, UNFIT

KEY = ("site_id", "unique_key")
_ALWAYS = frozenset({*OWN, UNFIT})


def on_conflict(mode: Mode, given: Sequence[str], replaced: Iterable[str]) -> str:
    """The clause behind an INSERT INTO … AS t.

    `given` are the columns of the statement; `replaced` those that become null where an item lacks them. Equal fetches
    are decided by the rule's version: a page that was read again has the time of its fetch.
    """
    if mode == "merge":
        columns = [name for name in given if name not in KEY]
        sets = [
            f"{quoted(name)} = excluded.{quoted(name)}"
            if name in _ALWAYS
            else f"{quoted(name)} = coalesce(excluded.{quoted(name)}, t.{quoted(name)})"
            for name in columns
        ]
    else:
        columns = [name for name in dict.fromkeys((*given, *replaced)) if name not in KEY]
        sets = [f"{quoted(name)} = excluded.{quoted(name)}" for name in columns]
    return (
        f"ON CONFLICT (site_id, unique_key) DO UPDATE SET {', '.join(sets)}"
        " WHERE (t.fetched_at, t.rule_version) <= (excluded.fetched_at, excluded.rule_version)"
    )
