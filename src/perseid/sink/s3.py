"""Items as objects of an S3-compatible storage: `s3://KEY:SECRET@bucket/prefix?endpoint=https://…&region=…`.

An object for each batch and table (`TABLE/000000000042.jsonl`, or `.parquet`), or with `options: {objects: item}` one
for each item.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
import obstore
from obstore import exceptions
from obstore.store import S3Store

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink import naming
from perseid.sink.fitting import Kind
from perseid.sink.journal import Begun, understood
from perseid.sink.json_lines import lines
from perseid.sink.numbered import read_columns
from perseid.sink.rows import Row, by_file, document

_AT_ONCE = 16
_PLAIN_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_SETTINGS = frozenset({"endpoint", "region", "virtual_hosted"})


class S3Sink:
    """`Sink`; its position is JSON of the columns of each table so far."""

    def __init__(self, spec: SinkSpec, url: str) -> None:
        self._spec = spec
        parts = urlsplit(url)
        self._bucket = parts.hostname or ""
        self._store = _store(url)
        prefix = unquote(parts.path).strip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        if spec.format not in {"", "jsonl", "parquet"}:
            raise SinkFailure(f"{spec.format!r} is no format of objects; there are jsonl and parquet", lasting=True)
        if spec.options not in ({}, {"objects": "batch"}, {"objects": "item"}):
            raise SinkFailure("the only option of objects is `objects`: `batch`, or `item`", lasting=True)
        self._by_item = spec.options.get("objects") == "item"

    async def check(self) -> list[str]:
        """Writes and deletes an object."""
        try:
            naming.path_of(self._spec.table, "site")
            await self._asked(obstore.put_async(self._store, f"{self._prefix}.perseid-check", b""))
            await self._asked(obstore.delete_async(self._store, f"{self._prefix}.perseid-check"))
        except SinkFailure as error:
            return [str(error)]
        return []

    async def write(self, batch: Batch) -> Reached:
        if self._by_item:
            rows = [(table, row) for table, found in by_file(self._spec, batch.items).items() for row in found]
            room = asyncio.Semaphore(_AT_ONCE)
            puts = (self._put_item(room, table, row) for table, row in rows)
            for end in await asyncio.gather(*puts, return_exceptions=True):
                if end is not None:
                    raise end
            return Reached()
        columns = read_columns(batch.position)
        files, notes = await asyncio.to_thread(self._encoder(), self._spec, batch, columns)
        await self._replace(batch, files)
        for path, content in files.items():
            await self._put(path, content)
        return Reached(msgspec.json.encode(columns), notes)

    async def close(self) -> None:
        pass

    def _encoder(self) -> Callable[..., tuple[dict[str, bytes], tuple[str, ...]]]:
        return _as_parquet if self._spec.format == "parquet" else _as_lines

    async def _replace(self, batch: Batch, files: dict[str, bytes]) -> None:
        """What a first try of this batch wrote, and this one doesn't write again, goes."""
        said = f".{batch.name}.perseid"
        if (content := await self._get(said)) is not None:
            begun = understood(content, batch.number, f"{self._bucket}/{self._prefix}{said}")
            if begun.number == batch.number:
                for left in set(begun.files) - files.keys():
                    await self._asked(obstore.delete_async(self._store, self._prefix + left))
        await self._put(said, msgspec.json.encode(Begun(number=batch.number, files=tuple(files))))

    async def _put_item(self, room: asyncio.Semaphore, table: str, row: Row) -> None:
        plain = _PLAIN_KEY.fullmatch(row.unique_key)
        name = row.unique_key if plain else hashlib.sha256(row.unique_key.encode("utf-8", "replace")).hexdigest()
        path = f"{table}/{row.site_id}/{name}.json"
        made = document(row)
        async with room:
            there = await self._get(path)
            if there is None or _age(msgspec.json.decode(there)) <= _age(made):
                await self._put(path, msgspec.json.encode(made))

    async def _put(self, path: str, content: bytes) -> None:
        await self._asked(obstore.put_async(self._store, self._prefix + path, content))

    async def _get(self, path: str) -> bytes | None:
        try:
            found = await obstore.get_async(self._store, self._prefix + path)
            return bytes(await found.bytes_async())
        except (FileNotFoundError, exceptions.NotFoundError):
            return None
        except (exceptions.BaseError, OSError) as error:
            raise self._failure(error) from error

    async def _asked(self, request: Coroutine[Any, Any, Any]) -> None:
        try:
            await request
        except (exceptions.BaseError, OSError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> SinkFailure:
        """What to do about it, for people; the error's own words hold the whole request."""
        if isinstance(error, (PermissionError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
            return SinkFailure(
                f"the storage refuses the key, or its right to write to {self._bucket}: mend the connection in the"
                " settings, or the bucket's policy",
                lasting=True,
            )
        if isinstance(error, (FileNotFoundError, exceptions.NotFoundError)):
            return SinkFailure(f"there is no bucket {self._bucket}: make it, or mend the connection", lasting=True)
        return SinkFailure(f"the storage of {self._bucket} fails ({type(error).__name__}); it is tried again")


def _store(url: str) -> S3Store:
    parts = urlsplit(url)
    asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if not parts.hostname or asked.keys() - _SETTINGS:
        raise SinkFailure(
            "a bucket is named by s3://KEY:SECRET@bucket/prefix, with endpoint=…, region=… and virtual_hosted=true"
            " behind a `?`",
            lasting=True,
        )
    config: dict[str, Any] = {"region": asked.get("region", "us-east-1")}
    if "endpoint" in asked:
        config["endpoint"] = asked["endpoint"]
    if asked.get("virtual_hosted") == "true":
        config["virtual_hosted_style_request"] = True
    if parts.username:
        config["access_key_id"] = unquote(parts.username)
        config["secret_access_key"] = unquote(parts.password or "")
    return S3Store(
        parts.hostname,
        **config,
        client_options={"allow_http": True, "timeout": "30s", "connect_timeout": "5s"},
        retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=10)},
    )


def _as_lines(
    spec: SinkSpec, batch: Batch, _columns: dict[str, dict[str, Kind]]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    found = by_file(spec, batch.items)
    return {f"{table}/{batch.number:012d}.jsonl": lines(some) for table, some in found.items()}, ()


def _as_parquet(
    spec: SinkSpec, batch: Batch, columns: dict[str, dict[str, Kind]]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    from perseid.sink.parquet import encoded, to_parquet  # noqa: PLC0415 - an extra of its own

    files, notes = encoded(spec, batch, columns, to_parquet)
    return {f"{path}.parquet": content for path, content in files.items()}, notes


def _age(found: dict[str, Any]) -> tuple[str, int]:
    return found["fetched_at"], found["rule_version"]
