"""Redis Streams: tickets in a stream with one consumer group, notices of an end by publish and subscribe.

The stream may be trimmed, evicted or flushed: what is missing is made again, and the tickets were only tickets. It
holds what nobody acknowledged, so XLEN is the backlog. Needs redis-py (the extra `redis`) and Redis 6.2 or newer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError
from redis.exceptions import ConnectionError as NotConnected

from perseid.delivery.wire import MOST_KEPT, BrokerAway, Inbox
from perseid.errors import ConfigError
from perseid.model.ids import CrawlId
from perseid.ports.delivery import Ticket

STREAM = "queue:exec"
GROUP = "worker_group"
ENDED = "ended"
_ENTRY = {"work": "1"}
_OLDEST = (6, 2)
_BLOCK_MS = 1_000
_ANSWER_S = 3.0
_FORGET_MS = 3_600_000
"""A consumer that showed no life for so long, and holds nothing, leaves the group."""
_CLEAN_EVERY = 60


class RedisWire:
    """A `Wire` over Redis: commands, a reader that blocks, and a subscription, each with a connection of its own."""

    kind = "redis"

    def __init__(self, url: str, *, prefix: str = "", dead_after_s: float = 10.0) -> None:
        """`url` as redis-py has it, its path the database's number. A ticket that nobody acknowledged for
        `dead_after_s` is given out again. Raises `ConfigError`.
        """
        self._dead_after_s = dead_after_s
        self._url = url
        self.place = _place(url)
        self.stream = f"{prefix}{STREAM}"
        self.group = f"{prefix}{GROUP}"
        self.consumer = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(2)}"
        self._ended = f"{prefix}{ENDED}"
        self._pools: list[_Pool] = []
        self._client: Redis | None = None
        self._blocking: Redis | None = None
        self._hearing: PubSub | None = None
        self._inbox: Inbox
        self._tasks: list[asyncio.Task[None]] = []
        self._room = 0
        self._wanted = asyncio.Event()
        self._reader_id = 0
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._claimed_at = 0.0
        self._checks = 0

    async def connect(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._room = 0
        self._wanted.clear()
        waits = _Pool.of(self._url, _ANSWER_S), _Pool.of(self._url, _ANSWER_S + _BLOCK_MS / 1_000)
        self._pools += waits
        self._client = Redis(connection_pool=waits[0])
        self._blocking = Redis(connection_pool=waits[1], single_connection_client=True)
        try:
            async with self._calling():
                await self._new_enough()
                await self._make_group()
                self._hearing = self._client.pubsub()
                await self._hearing.subscribe(self._ended)
                self._reader_id = int(await self._blocking.client_id())
        except BrokerAway as error:
            if isinstance(error.__cause__, AuthenticationError | NoPermissionError):
                message = f"{self.place} refuses the user or password of PERSEID_DELIVERY__URL: {error}"
                raise ConfigError(message) from error
            raise
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._hear())]

    async def close(self) -> None:
        try:
            await self._part()
        finally:  # who is cut off here leaves nothing open all the same
            blocking, self._blocking, self._hearing, self._client = self._blocking, None, None, None
            pools, self._pools = self._pools, []
            for pool in pools:
                await pool.end()
            if blocking is not None:
                await blocking.aclose()

    async def _part(self) -> None:
        tasks, self._tasks = self._tasks, []
        alive = bool(tasks) and not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if alive:
            with contextlib.suppress(BrokerAway, TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._leave()

    async def _leave(self) -> None:
        """The group forgets us, unless we leave something for others to take over."""
        async with self._calling() as client:
            for consumer in await client.xinfo_consumers(self.stream, self.group):
                if consumer["name"] == self.consumer.encode() and consumer["pending"] == 0:
                    await client.xgroup_delconsumer(self.stream, self.group, self.consumer)

    async def check(self) -> None:
        async with self._calling() as client:
            await self._make_group()
            if self._checks % _CLEAN_EVERY == 0:
                await self._clean(client)
            self._checks += 1

    async def want(self, most: int) -> None:
        self._room = most
        self._wanted.set()

    async def rest(self) -> None:
        """A reader that waits at the server is called back: else it would take what is given back next."""
        self._room = 0
        self._wanted.clear()
        if not self._at_rest.is_set():
            async with self._calling() as client:
                await client.client_unblock(self._reader_id)
                await self._at_rest.wait()

    async def publish(self, count: int) -> None:
        async with self._calling() as client:
            if count == 1:
                await client.xadd(self.stream, _ENTRY, maxlen=MOST_KEPT, approximate=True)  # type: ignore[arg-type] # invariant dict
                return
            async with client.pipeline(transaction=False) as pipeline:
                self._add(pipeline, count)
                await pipeline.execute()

    async def waiting(self) -> int:
        """What lies in the stream and nobody holds. (The group's lag is wrong once the stream was trimmed.)"""
        async with self._calling() as client:
            try:
                async with client.pipeline(transaction=False) as pipeline:
                    pipeline.xlen(self.stream)
                    pipeline.xpending(self.stream, self.group)
                    there, held = await pipeline.execute()
            except ResponseError as error:
                if _missing(error):
                    return 0
                raise
            return max(0, int(there) - int(held["pending"]))

    async def acknowledge(self, tags: Sequence[object]) -> None:
        async with self._calling() as client, client.pipeline(transaction=False) as pipeline:
            self._remove(pipeline, tags)
            await pipeline.execute()

    async def give_back(self, tags: Sequence[object]) -> None:
        """They are published anew: a stream gives an entry to one consumer only."""
        async with self._calling() as client, client.pipeline(transaction=False) as pipeline:
            self._add(pipeline, len(tags))
            self._remove(pipeline, tags)
            await pipeline.execute()

    async def tell(self, crawls: Sequence[CrawlId]) -> None:
        async with self._calling() as client, client.pipeline(transaction=False) as pipeline:
            for crawl in crawls:
                pipeline.publish(f"{self._ended}:{crawl}", "")
            await pipeline.execute()

    async def listen(self, crawl: CrawlId) -> None:
        async with self._calling():
            assert self._hearing is not None
            await self._hearing.subscribe(f"{self._ended}:{crawl}")

    async def forget(self, crawl: CrawlId) -> None:
        async with self._calling():
            assert self._hearing is not None
            await self._hearing.unsubscribe(f"{self._ended}:{crawl}")

    def _add(self, pipeline: Any, count: int) -> None:
        for _ in range(count):
            pipeline.xadd(self.stream, _ENTRY, maxlen=MOST_KEPT, approximate=True)

    def _remove(self, pipeline: Any, tags: Sequence[object]) -> None:
        ids = [tag for tag in tags if isinstance(tag, bytes)]
        pipeline.xack(self.stream, self.group, *ids)
        pipeline.xdel(self.stream, *ids)

    # Reading

    async def _read(self) -> None:
        while True:
            await self._wanted.wait()
            try:
                async with self._calling():
                    await self._take_over()
                    await self._read_some()
            except BrokerAway as error:
                self._inbox.lost(str(error))
                return

    async def _read_some(self) -> None:
        """Wait a while for new tickets. A stream or group that went meanwhile is made again."""
        blocking = self._blocking
        if blocking is None or self._room <= 0:
            return
        self._at_rest.clear()
        try:
            found = await blocking.xreadgroup(
                self.group, self.consumer, {self.stream: ">"}, count=self._room, block=_BLOCK_MS
            )
        except ResponseError as error:
            if not _missing(error):
                raise
            await self._make_group()
            return
        finally:
            self._at_rest.set()
        for _stream, entries in cast("list[tuple[bytes, list[tuple[bytes, object]]]]", found or []):
            self._deliver([entry for entry, _fields in entries], again=False)

    async def _take_over(self) -> None:
        """Tickets of those who died with them."""
        now = asyncio.get_running_loop().time()
        if self._client is None or self._room <= 0 or now < self._claimed_at + self._dead_after_s / 2:
            return
        self._claimed_at = now
        try:
            answer = await self._client.xautoclaim(
                self.stream, self.group, self.consumer, int(self._dead_after_s * 1_000), count=self._room, justid=True
            )
        except ResponseError as error:
            if not _missing(error):
                raise
            return
        self._deliver(cast("list[bytes]", answer), again=True)

    def _deliver(self, entries: Sequence[bytes], *, again: bool) -> None:
        for entry in entries:
            self._inbox.arrived(Ticket(entry, again=again))
        self._room -= len(entries)
        if self._room <= 0:
            self._wanted.clear()

    async def _hear(self) -> None:
        before = f"{self._ended}:".encode()
        hearing = self._hearing
        assert hearing is not None
        while True:
            try:
                async with self._calling():
                    message = await hearing.get_message(ignore_subscribe_messages=True, timeout=_ANSWER_S)
            except BrokerAway as error:
                self._inbox.lost(str(error))
                return
            if message is not None and message["channel"].startswith(before):
                self._inbox.told(CrawlId(int(message["channel"][len(before) :])))

    # What is there

    async def _new_enough(self) -> None:
        assert self._client is not None
        with contextlib.suppress(NoPermissionError):
            version = str((await self._client.info("server")).get("redis_version", ""))
            if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST:
                raise ConfigError(f"{self.place} is Redis {version}; streams need 6.2 or newer")

    async def _make_group(self) -> None:
        """From the stream's beginning: what was published before the group was made counts as well."""
        assert self._client is not None
        try:
            await self._client.xgroup_create(self.stream, self.group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def _clean(self, client: Redis) -> None:
        for consumer in await client.xinfo_consumers(self.stream, self.group):
            if consumer["pending"] == 0 and consumer["idle"] > _FORGET_MS:
                await client.xgroup_delconsumer(self.stream, self.group, consumer["name"])

    @asynccontextmanager
    async def _calling(self) -> AsyncIterator[Redis]:
        if self._client is None:
            raise BrokerAway("not connected")
        try:
            yield self._client
        except (RedisError, OSError, TimeoutError) as error:
            raise BrokerAway(str(error) or type(error).__name__) from error


class _Pool(ConnectionPool):
    """Ends at once and for good. A client's own closing waits for each connection: one that is cut off meanwhile leaves
    the others open, and what is still under way opens new ones.
    """

    def __init__(self, **settings: Any) -> None:
        self._made: list[AbstractConnection] = []
        self._over = False
        super().__init__(**settings)

    @classmethod
    def of(cls, url: str, timeout_s: float) -> _Pool:
        settings = {"protocol": 2, "socket_timeout": timeout_s, "socket_connect_timeout": _ANSWER_S}
        return cls.from_url(url, retry=Retry(NoBackoff(), 0), **settings)

    def make_connection(self) -> AbstractConnection:
        if self._over:
            raise NotConnected("it was closed")
        connection: AbstractConnection = super().make_connection()  # type: ignore[no-untyped-call]
        self._made.append(connection)
        return connection

    async def release(self, connection: AbstractConnection) -> None:
        if self._over:
            await connection.disconnect(nowait=True)
        else:
            await super().release(connection)

    async def end(self) -> None:
        """Nothing is waited for."""
        self._over = True
        self.reset()  # type: ignore[no-untyped-call] # none is given out again
        for connection in self._made:
            with contextlib.suppress(RedisError, OSError):
                await connection.disconnect(nowait=True)


def _place(url: str) -> str:
    parts = urlsplit(url)
    try:
        port = parts.port or 6379
    except ValueError as error:
        raise ConfigError(f"delivery.url is no address: {error}") from error
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname:
        raise ConfigError("delivery.url must be redis://user:password@host:port/number (rediss:// with TLS)")
    return f"Redis at {parts.hostname}:{port}{parts.path}"


def _missing(error: ResponseError) -> bool:
    """The stream or its group was deleted, flushed or evicted."""
    text = str(error)
    return "NOGROUP" in text or "no such key" in text or "no longer exists" in text
