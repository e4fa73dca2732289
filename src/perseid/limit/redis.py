"""A shelf in Redis for any number of processes: each question is one script, in one round trip.

Redis may be flushed, evict, restart or fail over at any moment; see `scripts/`. Needs redis-py (the extra `redis`) and
Redis 6.2 or newer.
"""

from __future__ import annotations

import contextlib
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, NoScriptError, RedisError

from perseid.errors import ConfigError
from perseid.limit.shelf import USUAL, Left, ShelfAway, Slot, Terms
from perseid.ports.limit import Block, Gate

_SCRIPTS = Path(__file__).with_name("scripts")
_ANSWER_S = 1.0


@cache
def script(name: str) -> str:
    """The whole text of a script, with what stands before it."""
    parts = ["life", name] if name == "take" else ["life", "gate", name]
    return "\n".join((_SCRIPTS / f"{part}.lua").read_text(encoding="utf-8") for part in parts)


@cache
def _sha(name: str) -> str:
    return sha1(script(name).encode(), usedforsecurity=False).hexdigest()


class RedisShelf:
    """Raises `ConfigError` for an address that is none, when it is made."""

    def __init__(self, url: str, *, prefix: str = "", terms: Terms = USUAL) -> None:
        """`url` as redis-py has it, its path the database's number."""
        self.place = _place(url)
        self._prefix = prefix
        self._terms = terms
        self._anew = False
        """We asked elsewhere meanwhile: no bucket here knows of that."""
        self._client: Redis = Redis.from_url(
            url,
            protocol=2,
            socket_timeout=_ANSWER_S,
            socket_connect_timeout=_ANSWER_S,
            retry=Retry(NoBackoff(), 0),
        )

    async def now_us(self) -> int:
        try:
            seconds, micros = await self._client.time()
        except (RedisError, OSError, TimeoutError) as error:
            raise self._away(error) from error
        return int(seconds) * 1_000_000 + int(micros)

    async def pop(self, gate: Gate) -> Slot | None:
        terms = self._terms
        answer = await self._run("pop", self._key(gate), terms.hold_us, terms.least_us, terms.grace_us)
        return _slot(answer[0].decode(), answer[1:]) if answer else None

    async def extend(self, gate: Gate, slot: Slot) -> Slot | None:
        answer = await self._run("extend", self._key(gate), slot.id, slot.ends, self._terms.hold_us)
        return _slot(slot.id, answer) if answer else None

    async def release(self, gate: Gate, slot: Slot) -> None:
        await self._run("release", self._key(gate), slot.id, slot.ends)

    async def put(self, gate: Gate, block: Block, ends_us: int) -> bool:
        return bool(await self._run("put", self._key(gate), block.id, block.size, ends_us))

    async def tend(self, gate: Gate, block: int, *, ends_us: int = 0, spare: int = 0) -> Left | None:
        answer = await self._run("tend", self._key(gate), block, ends_us, spare, self._terms.grace_us)
        return Left(int(answer[0]), int(answer[1])) if answer else None

    async def take(self, key: str, step_us: int, burst: int) -> int:
        anew = self._anew
        wait_us = int(await self._run("take", f"{self._prefix}limit:buckets", key, step_us, burst, int(anew)))
        if anew:
            self._anew = False
        return wait_us

    async def close(self) -> None:
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            await self._client.aclose()

    def _key(self, gate: Gate) -> str:
        return f"{self._prefix}limit:{gate.kind.value}:{gate.name}"

    async def _run(self, name: str, key: str, *arguments: str | int) -> Any:
        """By its hash; a server that forgot it, or never heard of it, is told the whole."""
        try:
            try:
                return await self._client.evalsha(_sha(name), 1, key, *arguments)
            except NoScriptError:
                return await self._client.eval(script(name), 1, key, *arguments)
        except (RedisError, OSError, TimeoutError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> ShelfAway:
        self._anew = True
        return ShelfAway(f"{self.place}: {str(error) or type(error).__name__}")


def is_refusal(error: ShelfAway) -> bool:
    """The server is there, and doesn't want us."""
    return isinstance(error.__cause__, AuthenticationError | NoPermissionError)


def _slot(name: str, answer: list[Any]) -> Slot:
    ends, left_us, block_left_us = answer
    return Slot(name, ends.decode(), int(left_us) / 1_000_000, int(block_left_us) / 1_000_000)


def _place(url: str) -> str:
    parts = urlsplit(url)
    try:
        port = parts.port or 6379
    except ValueError as error:
        raise ConfigError(f"limit.url is no address: {error}") from error
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname:
        raise ConfigError("limit.url must be redis://user:password@host:port/number (rediss:// with TLS)")
    return f"Redis at {parts.hostname}:{port}{parts.path}"
