"""A delivery over a broker: keeps the connection, hands tickets to whoever asks, and survives without the broker."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from perseid.delivery.listeners import Listeners
from perseid.delivery.wire import BrokerAway, Wire
from perseid.errors import ConfigError
from perseid.model.ids import CrawlId
from perseid.ports.delivery import MOST_TICKETS, Health, Ticket
from perseid.ports.telemetry import Telemetry

_FIRST_S = 1.0
"""For the first connection; after that it goes on in the background."""
_ANSWER_S = 3.0
"""What takes longer is as good as away: the workers poll meanwhile."""
_CHECK_S = 5.0
_STEADY_S = 2.0
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 3.0
_UNTAKEN_S = 0.25
"""Tickets that arrived for a taker who has enough go to others after so long."""
P = ParamSpec("P")
T = TypeVar("T")


class Carried:
    """`Delivery` over a `Wire`."""

    def __init__(self, wire: Wire, telemetry: Telemetry) -> None:
        self._wire = wire
        self._telemetry = telemetry
        self._listeners = Listeners(self._begin_to_listen, self._forget)
        self.listen = self._listeners.listen
        self._up = False
        self._told_away = False
        self._reason = "not connected yet"
        self._keeper: asyncio.Task[None] | None = None
        self._poked = asyncio.Event()
        self._arrived = asyncio.Event()
        self._buffer: deque[Ticket] = deque()
        self._held: set[object] = set()
        self._wanted = 0
        self._receiving = False
        self._taken_at = 0.0
        self._left: set[asyncio.Future[Any]] = set()
        """Calls that nobody waits for any more."""

    @property
    def health(self) -> Health:
        return Health(
            self._wire.kind, self._up, self._wire.place if self._up else f"{self._wire.place}: {self._reason}"
        )

    @property
    def carries(self) -> bool:
        return self._up

    async def open(self) -> None:
        if self._keeper is not None:
            return
        first = asyncio.create_task(self._connect())
        self._keeper = asyncio.create_task(self._keep(first))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_S):
                await asyncio.shield(first)

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])  # which cancels the first attempt too, if that is still on its way
            self._keeper = None
        if self._up:
            await self._ask(self._rest)
            await self.give_back([Ticket(tag) for tag in self._held])
        self._up = False
        self._buffer.clear()
        self._held.clear()
        self._reason = "closed"
        await self._close_wire()
        if self._left:
            await asyncio.wait(self._left, timeout=_FIRST_S)

    async def _close_wire(self) -> None:
        with contextlib.suppress(TimeoutError):
            await self._within(_ANSWER_S, self._wire.close)

    async def publish(self, count: int) -> int:
        if count <= 0:
            return 0
        return await self._ask(self._publish, count) or 0

    async def waiting(self) -> int:
        return await self._ask(self._wire.waiting) or 0

    async def take(self, most: int) -> Sequence[Ticket]:
        self._taken_at = asyncio.get_running_loop().time()
        try:
            while not self._buffer:
                self._arrived.clear()
                self._wanted = most
                self._poked.set()
                await self._arrived.wait()
        finally:
            self._wanted = 0
            self._taken_at = asyncio.get_running_loop().time()
            self._poked.set()
        tickets = [self._buffer.popleft() for _ in range(min(most, len(self._buffer)))]
        self._held.update(ticket.tag for ticket in tickets)
        return tickets

    async def acknowledge(self, tickets: Sequence[Ticket]) -> None:
        if tags := self._let_go(tickets):
            await self._ask(self._wire.acknowledge, tags)

    async def give_back(self, tickets: Sequence[Ticket]) -> None:
        if tags := self._let_go(tickets):
            await self._ask(self._wire.give_back, tags)

    async def tell(self, ended: Sequence[CrawlId]) -> None:
        self._listeners.told(ended)
        if ended:
            await self._ask(self._wire.tell, ended)

    # What comes in

    def arrived(self, ticket: Ticket) -> None:
        self._buffer.append(ticket)
        self._arrived.set()
        if not self._wanted:
            self._poked.set()

    def told(self, crawl: CrawlId) -> None:
        self._listeners.told((crawl,))

    def lost(self, reason: str) -> None:
        if self._up:
            self._up = False
            self._receiving = False
            self._say_away(reason)
            self._poked.set()

    # Keeping the connection

    async def _keep(self, first: asyncio.Task[None]) -> None:
        """The one task that connects and says what may arrive."""
        try:
            await first
        except ConfigError as error:
            self._say_away(str(error))
        loop = asyncio.get_running_loop()
        checked_at = loop.time()
        while True:
            if not self._up:
                await self._reconnect()
                # Who comes and goes is away: it is believed to be back once it has stayed.
                checked_at = loop.time() - _CHECK_S + _STEADY_S
            now = loop.time()
            if self._wanted:
                self._receiving = True
                await self._ask(self._wire.want, self._wanted)
            elif (self._receiving or self._buffer) and now >= self._taken_at + _UNTAKEN_S:
                await self._ask(self._rest)
            if now >= checked_at + _CHECK_S:
                checked_at = now
                await self._ask(self._wire.check)
                self._say_back()
            until = checked_at + _CHECK_S
            if not self._wanted and (self._receiving or self._buffer):
                until = min(until, self._taken_at + _UNTAKEN_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._poked.wait()
            self._poked.clear()

    async def _rest(self) -> None:
        """Nobody takes: what lies here is for others."""
        self._receiving = False
        await self._wire.rest()
        tags = [ticket.tag for ticket in self._buffer]
        self._buffer.clear()
        if tags:
            await self._wire.give_back(tags)

    async def _reconnect(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                await self._connect()
            except ConfigError as error:
                self._reason = str(error)
            if self._up:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _connect(self) -> None:
        """Connected, or with a reason why not. Raises `ConfigError`."""
        await self._close_wire()
        try:
            await self._within(2 * _ANSWER_S, self._connect_wire)
        except (BrokerAway, TimeoutError) as error:
            self._say_away(str(error) or f"no answer within {2 * _ANSWER_S:g} s")
            return
        self._up = True
        # Whatever was told while nobody heard it: look.
        self._listeners.told(self._listeners.crawls)
        self._arrived.set()

    async def _connect_wire(self) -> None:
        await self._wire.connect(self)
        for crawl in self._listeners.crawls:
            await self._wire.listen(crawl)

    def _say_away(self, reason: str) -> None:
        self._reason = reason
        if not self._told_away:
            self._told_away = True
            message = f"{self._wire.place} is away ({reason}); workers poll the store until it is back"
            self._telemetry.trouble("delivery.away", message)

    def _say_back(self) -> None:
        if self._told_away and self._up:
            self._told_away = False
            self._telemetry.trouble("delivery.back", f"{self._wire.place} is back: tickets come and go again")

    async def _ask(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """The answer, or None while the broker is away."""
        if not self._up:
            return None
        try:
            return await self._within(_ANSWER_S, call, *args, **kwargs)
        except BrokerAway as error:
            self.lost(str(error))
        except TimeoutError:
            self.lost(f"no answer within {_ANSWER_S:g} s")
        return None

    async def _within(self, seconds: float, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer; `TimeoutError` without one by then. In a task of its own, which is left alone then: clients of
        brokers turn a cancellation into errors of theirs, and nobody here may be held up, or live on, by that.
        """
        task = asyncio.ensure_future(call(*args, **kwargs))
        try:
            await asyncio.wait([task], timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
                self._left.add(task)
                task.add_done_callback(self._forget_left)
        if not task.done():
            raise TimeoutError
        if task.cancelled():
            raise BrokerAway("the connection was closed")
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, BrokerAway | ConfigError):
            raise error
        raise BrokerAway(f"{type(error).__name__}: {error}") from error

    def _forget_left(self, task: asyncio.Future[Any]) -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()

    async def _publish(self, count: int) -> int:
        count = min(count, MOST_TICKETS)
        await self._wire.publish(count)
        return count

    def _let_go(self, tickets: Sequence[Ticket]) -> list[object]:
        tags = list(dict.fromkeys(ticket.tag for ticket in tickets if ticket.tag in self._held))
        self._held.difference_update(tags)
        return tags

    async def _begin_to_listen(self, crawl: CrawlId) -> None:
        await self._ask(self._wire.listen, crawl)

    async def _forget(self, crawl: CrawlId) -> None:
        await self._ask(self._wire.forget, crawl)
