"""Items as documents of a MongoDB collection: `mongodb://user:password@host/database`.

`_id` is `site_id:unique_key`. Dates of BSON end at milliseconds, so `fetched_us` holds the instant that decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bson.decimal128 import Decimal128
from bson.errors import BSONError
from pymongo import AsyncMongoClient, ReplaceOne, UpdateOne
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    DocumentTooLarge,
    InvalidURI,
    OperationFailure,
    PyMongoError,
)
from pymongo.uri_parser import parse_uri

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink import naming
from perseid.sink.fitting import as_json, is_price
from perseid.sink.isolating import Refused, write_isolated
from perseid.sink.rows import UNFIT, Row, by_site, read, without_nul

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PATIENCE_MS = 10_000
_DUPLICATE = 11_000
_LASTING = {
    13: "does not let the user do that: grant it readWrite on the database",
    18: "refuses the user or its password: mend the connection in the settings",
    8000: "refuses the user or its password: mend the connection in the settings",
}
_OF_CONTENT = frozenset({2, 9, 52, 57, 121, 10334, 17280, 17419})
"""BadValue, FailedToParse, names with dollars or dots, DocumentValidationFailure, and documents too large."""


class MongoSink:
    """`Sink` by the driver's own pool; writes are acknowledged by a majority, in its journals."""

    def __init__(self, spec: SinkSpec, url: str) -> None:
        self._spec = spec
        try:
            parsed = parse_uri(url) if not url.startswith("mongodb+srv:") else None
            self._client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
                url, w="majority", journal=True, serverSelectionTimeoutMS=_PATIENCE_MS, connectTimeoutMS=_PATIENCE_MS
            )
            self._database = self._client.get_default_database("perseid")
        except (InvalidURI, ConfigurationError, ValueError) as error:
            raise SinkFailure(
                f"a MongoDB is named by mongodb://user:password@host/database ({type(error).__name__})", lasting=True
            ) from None
        hosts = ", ".join(str(host) for host, _port in parsed["nodelist"]) if parsed else "the cluster"
        self._where = f"{hosts}/{self._database.name}"

    async def write(self, batch: Batch) -> Reached:
        notes: list[str] = []
        for site, found in by_site(await read(self._spec, batch.items)):
            name = naming.table_of(self._spec.table, site)
            notes += await write_isolated(found, partial(self._write, name), attempts=batch.attempts)
        return Reached(notes=tuple(notes))

    async def check(self) -> list[str]:
        try:
            names = await self._database.list_collection_names()
        except PyMongoError as error:
            return [str(self._failure(error))]
        name = naming.table_of(self._spec.table, "")
        fixed = self._spec.table and "{site}" not in self._spec.table
        if fixed and not self._spec.create and name not in names:
            return [f"there is no collection {name} in {self._where}, and `create` is off"]
        return []

    async def close(self) -> None:
        await self._client.close()

    async def _write(self, name: str, some: Sequence[Row]) -> tuple[str, ...]:
        if not self._spec.create and name not in await self._names():
            raise SinkFailure(f"{self._where} has no collection {name}: make it, or set `create`", lasting=True)
        merge = self._spec.mode == "merge"
        try:
            await self._database[name].bulk_write([upsert(row, merge=merge) for row in some], ordered=False)
        except BulkWriteError as error:
            self._judge(error)
        except (DocumentTooLarge, BSONError, OverflowError, RecursionError) as error:
            raise Refused(type(error).__name__) from error
        except PyMongoError as error:
            raise self._failure(error) from error
        return ()

    async def _names(self) -> list[str]:
        try:
            return await self._database.list_collection_names()
        except PyMongoError as error:
            raise self._failure(error) from error

    def _judge(self, error: BulkWriteError) -> None:
        """A document that is there already and did not match was fetched later: it stays, and that is no fault."""
        faults = [fault for fault in error.details["writeErrors"] if fault["code"] != _DUPLICATE]
        if any(fault["code"] in _OF_CONTENT for fault in faults):
            raise Refused(f"code {faults[0]['code']}") from error
        if faults or error.details.get("writeConcernErrors"):
            raise self._failure(error) from error

    def _failure(self, error: PyMongoError) -> SinkFailure:
        if isinstance(error, ConnectionFailure):
            return SinkFailure(f"{self._where} can't be reached ({type(error).__name__}); it is tried again")
        code = error.code if isinstance(error, OperationFailure) else None
        if code in _LASTING:
            return SinkFailure(f"{self._where} {_LASTING[code]}", lasting=True)
        return SinkFailure(f"{self._where} fails ({type(error).__name__}, code {code}); it is tried again")


def upsert(row: Row, *, merge: bool) -> UpdateOne | ReplaceOne[dict[str, Any]]:
    """Of the row's document, unless a later fetch is there: then the insert meets its `_id`."""
    made = document(row)
    key = f"{row.site_id}:{row.unique_key}"
    older = {"fetched_us": {"$lt": row.fetched_at}}
    same = {"fetched_us": row.fetched_at, "rule_version": {"$lte": row.rule_version}}
    where = {"_id": key, "$or": [older, same]}
    return UpdateOne(where, {"$set": made}, upsert=True) if merge else ReplaceOne(where, made, upsert=True)


def document(row: Row) -> dict[str, Any]:
    fields = {_name(name): _value(value) for name, value in row.fields.items()}
    beside = {UNFIT: as_json(row.aside)} if row.aside else {}
    return {
        **fields,
        **beside,
        "site_id": row.site_id,
        "unique_key": row.unique_key,
        "task_id": row.task_id,
        "seed_id": row.seed_id,
        "rule_version": row.rule_version,
        "fetched_at": _EPOCH + timedelta(microseconds=row.fetched_at),
        "fetched_us": row.fetched_at,
        "updated_at": _EPOCH + timedelta(microseconds=row.updated_at),
    }


def _name(name: str) -> str:
    """Of a field in updates: dots would be paths, dollars operators."""
    clean = name.replace(".", "_").replace("\0", "\ufffd") or "_"
    return f"_{clean[1:]}" if clean.startswith("$") else clean


def _value(value: Any) -> Any:
    """Integers end at 64 bits: larger ones are texts. Amounts of up to 34 digits are decimals."""
    match value:
        case bool():
            return value
        case int() if not -(2**63) <= value < 2**63:
            return str(value)
        case list():
            return [_value(part) for part in value]
        case dict() if is_price(value) and len(value["amount"]) <= 34:
            return {**value, "amount": Decimal128(value["amount"])}
        case dict():
            return {without_nul(name): _value(part) for name, part in value.items()}
        case _:
            return value
