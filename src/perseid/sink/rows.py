"""Items on their way to a target: what each row carries, whatever the target."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from perseid.ports.items import StoredItem
from perseid.ports.sink import SinkSpec
from perseid.sink.naming import path_of

UNFIT = "unfit"
OWN = ("site_id", "unique_key", "task_id", "seed_id", "rule_version", "fetched_at", "updated_at")
"""What each row says about itself. A field that is called so gets an underscore behind its name."""
_TAKEN = frozenset({*OWN, UNFIT, "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "_id", "_version"})
"""Those, and names that a target has for itself (https://www.postgresql.org/docs/current/ddl-system-columns.html)."""
_HALF = re.compile("[\ud800-\udfff]")
_LONGEST_KEY = 1_024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """One item. Instants are µs; `fields` are JSON values, none of them null."""

    site_id: str
    unique_key: str
    task_id: int
    seed_id: str
    rule_version: int
    fetched_at: int
    updated_at: int
    fields: dict[str, Any]
    aside: dict[str, Any] = {}  # noqa: RUF012 - nobody alters it
    """Fields that are to have no columns of their own."""


def rows(items: Iterable[StoredItem], only: Iterable[str] = ()) -> list[Row]:
    """`only` these fields; all where there is none."""
    wanted = frozenset(only)
    return [
        Row(
            item.site,
            short_key(item.key),
            item.task,
            item.seed,
            item.rule_version,
            item.fetched_at,
            item.updated_at,
            {
                own_name(name): value
                for name, value in read_fields(item.fields).items()
                if value is not None and (not wanted or name in wanted)
            },
        )
        for item in items
    ]


async def read(spec: SinkSpec, items: Iterable[StoredItem]) -> list[Row]:
    """The same in a thread: a batch may have a megabyte of JSON, and pages are fetched meanwhile."""
    return await asyncio.to_thread(rows, items, spec.fields)


def short_key(key: str) -> str:
    """Indexes bear keys of a page's line or two: a longer one is its beginning and its SHA-256."""
    whole = key.encode("utf-8", "replace")
    if len(whole) <= _LONGEST_KEY:
        return key
    return f"{whole[:256].decode('utf-8', 'ignore')}:sha256:{hashlib.sha256(whole).hexdigest()}"


def own_name(name: str) -> str:
    return f"{name}_" if name.lower() in _TAKEN else name


def read_fields(text: bytes) -> dict[str, Any]:
    """What is no strict JSON is read as far as it can be: NaN and infinities as null, half characters as U+FFFD."""
    try:
        fields = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            loose = json.loads(text.decode("utf-8", "replace"), parse_constant=lambda _name: None)
        except (ValueError, RecursionError):
            return {}
        whole = _HALF.sub("\ufffd", json.dumps(loose, ensure_ascii=False))
        fields = msgspec.json.decode(whole)
    return fields if isinstance(fields, dict) else {}


def instant(us: int) -> str:
    """ISO 8601 in UTC, all of the same width, so that their order is that of their texts."""
    return (_EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def document(row: Row) -> dict[str, Any]:
    """The row for targets that take JSON as it is."""
    return {**stamps(row), **row.fields}


def stamps(row: Row) -> dict[str, Any]:
    """What the row says about itself, instants as texts."""
    return {
        "site_id": row.site_id,
        "unique_key": row.unique_key,
        "task_id": row.task_id,
        "seed_id": row.seed_id,
        "rule_version": row.rule_version,
        "fetched_at": instant(row.fetched_at),
        "updated_at": instant(row.updated_at),
    }


def by_site(found: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each site, in order."""
    sites: dict[str, list[Row]] = {}
    for row in found:
        sites.setdefault(row.site_id, []).append(row)
    return iter(sites.items())


def by_file(spec: SinkSpec, items: Iterable[StoredItem]) -> dict[str, list[Row]]:
    """The rows for each file, named without its ending: a file is written once for a batch."""
    files: dict[str, list[Row]] = {}
    for site, found in by_site(rows(items, spec.fields)):
        files.setdefault(path_of(spec.table, site), []).extend(found)
    return files


def without_nul(value: Any) -> Any:
    """The same with U+FFFD for each NUL, in names of nested objects too."""
    match value:
        case str():
            return value.replace("\0", "\ufffd")
        case list():
            return [without_nul(part) for part in value]
        case Mapping():
            return {without_nul(name): without_nul(part) for name, part in value.items()}
        case _:
            return value
