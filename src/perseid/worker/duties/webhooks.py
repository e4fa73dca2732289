"""Deliver events: at least once, each crawl's last one last, and no receiver held up by another.

Events are claimed from the outbox crawl by crawl. What can't be tried now goes back untried, with its crawl's events
held in the store until its receiver is worth a try; so neither memory nor claims grow with a dead receiver's backlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import Sequence

import msgspec

from perseid.crawls.events import Courier, Receiver
from perseid.errors import StoreError
from perseid.model.ids import CrawlId
from perseid.ports.clock import Clock
from perseid.ports.hook import Hook, Reception
from perseid.ports.outbox import Attempt, Event, Outbox
from perseid.ports.telemetry import Telemetry
from perseid.worker.gate import AT_ONCE, MOST_HELD, Gate, pause_s
from perseid.worker.stop import Stop

_MOST = 256
"""Events held by one process."""
_FULL_PAUSE_US = 500_000
_LONGEST_PAUSE_S = 3_600.0
_NOBODY = "nobody is to be told any more"
_USERINFO = re.compile(r"//[^/@]*@")


class WebhookOptions(msgspec.Struct, frozen=True, kw_only=True):
    timeout_s: float = 10.0
    """For one delivery: what the `Hook` was told."""
    give_up_after_s: float = 86_400.0
    disabled: bool = False
    """Events are dropped."""
    poll_s: float = 0.5

    @property
    def lease_us(self) -> int:
        """Longer than all that may wait before an event at its receiver."""
        return int((2 * MOST_HELD / AT_ONCE * self.timeout_s + 30) * 1_000_000)


class Webhooks:
    """One a process. What it keeps of receivers is a matter of this process; what is due is the store's."""

    def __init__(
        self,
        outbox: Outbox,
        courier: Courier,
        hook: Hook,
        options: WebhookOptions,
        *,
        clock: Clock,
        telemetry: Telemetry,
    ) -> None:
        self._outbox = outbox
        self._courier = courier
        self._hook = hook
        self._options = options
        self._clock = clock
        self._telemetry = telemetry
        self._gates: dict[str, Gate] = {}
        self._lanes: set[asyncio.Task[None]] = set()
        self._held = 0
        self._wake = asyncio.Event()
        self._stop = Stop()

    async def run(self, stop: Stop) -> None:
        """Until stopped; deliveries under way are then waited for, unless told to stop now."""
        self._stop = stop
        asked = asyncio.create_task(self._watch(stop))
        try:
            while not stop.asked:
                self._wake.clear()
                try:
                    pause = await self.round()
                except StoreError as error:
                    self._telemetry.trouble("store.retry", str(error))
                    pause = self._options.poll_s
                await self._rest(pause)
            await self._wind_down(stop)
        finally:
            asked.cancel()
            for lane in self._lanes:
                lane.cancel()

    async def round(self) -> float:
        """Claim what is due and begin to deliver it; how long it makes sense to wait."""
        room = _MOST - self._held
        if room <= 0:
            return self._options.poll_s
        due_us = await self._outbox.next_event_us()
        if due_us is None or due_us > 0:
            return self._options.poll_s if due_us is None else min(self._options.poll_s, due_us / 1_000_000)
        events = await self._outbox.take_events(room, lease_us=self._options.lease_us)
        by_crawl: dict[CrawlId, list[Event]] = {}
        for event in events:
            by_crawl.setdefault(event.crawl, []).append(event)
        for crawl, mine in by_crawl.items():
            self._held += len(mine)
            lane = asyncio.create_task(self._lane(crawl, mine))
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)
        return 0.0 if events else self._options.poll_s

    async def settled(self) -> None:
        """Wait for what was begun."""
        while self._lanes:
            await asyncio.wait(self._lanes)

    async def _watch(self, stop: Stop) -> None:
        await stop.wait()
        self._wake.set()

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _wind_down(self, stop: Stop) -> None:
        now = asyncio.create_task(stop.wait_now())
        done = asyncio.create_task(self.settled())
        try:
            await asyncio.wait((now, done), timeout=self._options.timeout_s + 1, return_when=asyncio.FIRST_COMPLETED)
        finally:
            now.cancel()
            done.cancel()

    async def _lane(self, crawl: CrawlId, events: list[Event]) -> None:
        """Whatever goes wrong here, what is not settled is due again when its lease is over."""
        try:
            receiver = None if self._options.disabled else await self._courier.receiver(crawl)
            if receiver is None:
                for event in events:
                    await self._settle(event, "", Reception(None, _NOBODY, 0, hopeless=True))
                return
            await self._deliver(events, receiver)
        except StoreError as error:
            self._telemetry.trouble("store.retry", str(error))
        except Exception as error:  # noqa: BLE001 - it must cost no other crawl its deliveries
            # Not its text: that may quote a page.
            kind = type(error).__name__
            self._telemetry.trouble("webhook.failed", f"events of crawl {crawl} could not be delivered: {kind}")
        finally:
            self._held -= len(events)
            self._wake.set()

    async def _deliver(self, events: list[Event], receiver: Receiver) -> None:
        gate = self._gates.setdefault(receiver.name, Gate())
        if gate.full:
            await self._outbox.put_back(events, in_us=_FULL_PAUSE_US)
            return
        gate.held += len(events)
        tries = [self._in_turn(event, receiver, gate) for event in events]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        gate.held -= len(events)
        if gate.idle:
            self._gates.pop(receiver.name, None)
        await self._put_back([end for end in ends if isinstance(end, Event)], receiver, gate)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _put_back(self, untried: Sequence[Event], receiver: Receiver, gate: Gate) -> None:
        """What is too old to wait once more is given up untried."""
        closed_s = gate.closed_s(self._clock.monotonic_s())
        away = Reception(None, f"{receiver.name} did not answer others", 0)
        young = [event for event in untried if closed_s == 0 or not self._too_old(event)]
        for event in untried:
            if event not in young:
                await self._settle(event, receiver.hook.url, away)
        if young:
            await self._outbox.put_back(young, in_us=int(closed_s * 1_000_000))

    async def _in_turn(self, event: Event, receiver: Receiver, gate: Gate) -> Event | None:
        """The event, if it could not be tried."""
        async with gate.slots:
            if self._stop.asked or gate.closed_s(self._clock.monotonic_s()) > 0:
                return event
            gate.enter()
            try:
                reception = await self._send(event, receiver)
            except BaseException:
                gate.leave()
                raise
            self._learn(reception, receiver, gate)
        await self._settle(event, receiver.hook.url, reception)
        return None

    async def _send(self, event: Event, receiver: Receiver) -> Reception:
        try:
            delivery = await self._courier.delivery(event, receiver)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one page that can't be put into words must not hold up the others
            return Reception(None, f"the delivery can't be made: {type(error).__name__}", 0, unsent=True)
        if delivery is None:
            return Reception(None, _NOBODY, 0, hopeless=True)
        return await self._hook.post(delivery)

    def _learn(self, reception: Reception, receiver: Receiver, gate: Gate) -> None:
        if reception.unsent:
            gate.leave()
        elif not reception.away:
            gate.well()
        elif gate.away(
            self._clock.monotonic_s(),
            patience_s=reception.retry_after_s,
            jitter=random.random(),  # noqa: S311 - spreads retries
        ):
            self._telemetry.trouble("webhook.unreachable", f"{receiver.name} is left alone for now: {reception.error}")

    async def _settle(self, event: Event, url: str, reception: Reception) -> None:
        again_s = None
        if not (reception.accepted or reception.hopeless or self._too_old(event)):
            again_s = pause_s(event.attempts + 1, random.random())  # noqa: S311 - spreads retries, guards nothing
            again_s = max(again_s, min(reception.retry_after_s or 0.0, _LONGEST_PAUSE_S))
        elif not reception.accepted and reception.error != _NOBODY:
            self._telemetry.trouble("webhook.given_up", f"event {event.uid}: {reception.error}")
        attempt = Attempt(
            at=self._clock.now_us(),
            uid=event.uid,
            kind=event.kind,
            url=_USERINFO.sub("//", url.partition("?")[0]),
            attempt=event.attempts + 1,
            status=reception.status,
            error=reception.error,
            elapsed_us=reception.elapsed_us,
            final=again_s is None,
        )
        again_us = None if again_s is None else int(again_s * 1_000_000)
        await self._outbox.settle(event, attempt, again_in_us=again_us)

    def _too_old(self, event: Event) -> bool:
        return self._clock.now_us() - event.created_at >= self._options.give_up_after_s * 1_000_000
