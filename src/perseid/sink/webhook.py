"""Items told to a receiver by HTTP: `https://shop.example/items#secret`.

What follows `#` in the connection's address never leaves this machine: it signs each delivery.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Iterator, Sequence

import msgspec

from perseid.ports.hook import Delivery, Hook, Reception
from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink.isolating import Refused, write_isolated
from perseid.sink.rows import Row, document, read

PATIENCE_S = 30.0
SIGNATURE = "X-Perseid-Signature"
IDEMPOTENCY = "Idempotency-Key"
_MOST_BYTES = 1_000_000
_OF_ITEMS = frozenset({400, 413, 422})
"""Statuses by which a receiver may mean one of the items (RFC 9110)."""


class WebhookSink:
    """`Sink` of POSTs of `{"sink", "batch", "items"}`, up to a megabyte each.

    The key is that of the content: the same items have the same key, whenever they are sent again.
    """

    def __init__(self, spec: SinkSpec, url: str, hook: Hook) -> None:
        self._spec = spec
        self._url, _, secret = url.partition("#")
        self._secret = secret.encode()
        self._hook = hook

    async def check(self) -> list[str]:
        """Sends a delivery without items."""
        try:
            await self._post("", 0, [])
        except (Refused, SinkFailure) as error:
            return [str(error)]
        return []

    async def write(self, batch: Batch) -> Reached:
        async def write(some: Sequence[Row]) -> Sequence[str]:
            for part in _parts(some):
                await self._post(batch.name, batch.number, part)
            return ()

        found = await read(self._spec, batch.items)
        return Reached(notes=tuple(await write_isolated(found, write, bare=False, attempts=batch.attempts)))

    async def close(self) -> None:
        pass

    async def _post(self, name: str, number: int, some: Sequence[Row]) -> None:
        reception = await self._hook.post(await asyncio.to_thread(self._delivery, name, number, some))
        if not reception.accepted:
            raise _failure(reception)

    def _delivery(self, name: str, number: int, some: Sequence[Row]) -> Delivery:
        items = [document(row) for row in some]
        body = msgspec.json.encode({"sink": name, "batch": number, "items": items})
        headers = {IDEMPOTENCY: hashlib.sha256(msgspec.json.encode([name, items])).hexdigest()}
        if self._secret:
            headers[SIGNATURE] = f"sha256={hmac.new(self._secret, body, hashlib.sha256).hexdigest()}"
        return Delivery(self._url, headers, body)


def _failure(reception: Reception) -> Exception:
    if reception.status in _OF_ITEMS:
        return Refused(reception.error)
    words = f"{reception.error}; see its log, or the connection in the settings"
    return SinkFailure(words, lasting=not reception.away, again_s=reception.retry_after_s)


def _parts(some: Sequence[Row]) -> Iterator[list[Row]]:
    """In pieces that a receiver reads without fear; a single item may be larger."""
    part: list[Row] = []
    size = 0
    for row in some:
        length = len(msgspec.json.encode(row.fields))
        if part and size + length > _MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(row)
        size += length
    if part:
        yield part
