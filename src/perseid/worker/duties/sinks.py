"""Write items to their targets: at least once, each sink in its order, none held up by another.

A sink has one batch out at a time, whichever process took it. What could not be written goes back into its line, and
the sink is left alone for longer each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Protocol

import msgspec

from perseid.errors import PerseidError, StoreError
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.items import Batch, Items
from perseid.ports.sink import Reached, Sink, SinkFailure
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop

_FIRST_PAUSE_S = 1.0
_FIRST_LASTING_S = 20.0
_LONGEST_PAUSE_S = 300.0
_LONGEST_ASKED_S = 3_600.0


class SinkOptions(msgspec.Struct, frozen=True, kw_only=True):
    batch_items: int = 500
    at_once: int = 16
    """Batches that one process writes at the same time, each of another sink."""
    write_s: float = 60.0
    """For one batch; then the target counts as away."""
    poll_s: float = 0.5

    @property
    def lease_us(self) -> int:
        """Longer than a batch may take, its settling included: as long as a killed process holds up its sinks."""
        return int((self.write_s * 1.25 + 1.0) * 1_000_000)


class Room(Protocol):
    """Where the sinks are: by the newest version of what was published under a name."""

    async def sink(self, team: int, name: str) -> Sink:
        """Raises `SinkFailure` for one that can't be made, or that nobody has published."""
        ...


class Sinks:
    """One a process."""

    def __init__(
        self,
        items: Items,
        room: Room,
        options: SinkOptions,
        *,
        whose: Callable[[], WorkerId],
        clock: Clock,
        telemetry: Telemetry,
    ) -> None:
        """Batches are taken for the worker `whose`: when it is reaped, others take them."""
        self._items = items
        self._room = room
        self._options = options
        self._whose = whose
        self._clock = clock
        self._telemetry = telemetry
        self._lanes: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()

    async def run(self, stop: Stop) -> None:
        """Until stopped; batches under way are then waited for, unless told to stop now."""
        asked = asyncio.create_task(self._watch(stop))
        try:
            while not stop.asked:
                self._wake.clear()
                try:
                    pause = await self.round()
                except StoreError as error:
                    self._telemetry.trouble("store.retry", str(error))
                    pause = self._options.poll_s
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._wake.wait()
            await self._wind_down(stop)
        finally:
            asked.cancel()
            for lane in self._lanes:
                lane.cancel()

    async def round(self) -> float:
        """Take what is due and begin to write it; how long it makes sense to wait."""
        while len(self._lanes) < self._options.at_once:
            due_us = await self._items.next_batch_us()
            if due_us is None or due_us > 0:
                return self._options.poll_s if due_us is None else min(self._options.poll_s, due_us / 1_000_000)
            batch = await self._items.take_batch(
                limit=self._options.batch_items, lease_us=self._options.lease_us, worker=self._whose()
            )
            if batch is None:
                break
            lane = asyncio.create_task(self._lane(batch))
            self._lanes.add(lane)
            lane.add_done_callback(self._ended)
        return self._options.poll_s

    async def settled(self) -> None:
        """No batch is under way."""
        while self._lanes:
            await asyncio.wait(self._lanes)

    def _ended(self, lane: asyncio.Task[None]) -> None:
        self._lanes.discard(lane)
        self._wake.set()

    async def _watch(self, stop: Stop) -> None:
        await stop.wait()
        self._wake.set()

    async def _wind_down(self, stop: Stop) -> None:
        now = asyncio.create_task(stop.wait_now())
        done = asyncio.create_task(self.settled())
        try:
            await asyncio.wait((now, done), timeout=self._options.write_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            now.cancel()
            done.cancel()

    async def _lane(self, batch: Batch) -> None:
        """Whatever goes wrong here, what is not settled is due again when its lease is over."""
        try:
            began = self._clock.monotonic_s()
            try:
                reached = await self._write(batch)
            except SinkFailure as error:
                await self._put_back(batch, error)
                return
            if await self._items.settle_batch(batch, position=reached.position):
                seconds = self._clock.monotonic_s() - began
                self._telemetry.sink_acked(sink=batch.name, items=len(batch.items), seconds=seconds)
            for note in reached.notes:
                self._telemetry.trouble("sink.unfit", f"{batch.name}: {note}")
        except StoreError as error:
            self._telemetry.trouble("store.retry", str(error))
        except Exception as error:  # noqa: BLE001 - it must cost no other sink its items
            self._telemetry.trouble("sink.failed", f"{batch.name}: a batch was lost track of: {type(error).__name__}")

    async def _write(self, batch: Batch) -> Reached:
        try:
            sink = await self._room.sink(batch.team, batch.name)
            async with asyncio.timeout(self._options.write_s):
                return await sink.write(batch)
        except (SinkFailure, StoreError):
            raise
        except TimeoutError:
            raise SinkFailure(f"a batch was not taken within {self._options.write_s:g} s; it is tried again") from None
        except PerseidError as error:
            raise SinkFailure(str(error), lasting=True) from error
        except Exception as error:
            # Its text may quote an item, or a password.
            raise SinkFailure(f"it failed in a way that nobody planned: {type(error).__name__}") from error

    async def _put_back(self, batch: Batch, error: SinkFailure) -> None:
        self._telemetry.trouble("sink.failed", f"{batch.name}: {error}")
        pause_s = (_FIRST_LASTING_S if error.lasting else _FIRST_PAUSE_S) * 2.0 ** min(batch.attempts, 10)
        pause_s = min(pause_s, _LONGEST_PAUSE_S) * random.uniform(0.75, 1.0)  # noqa: S311 - spreads retries
        pause_s = max(pause_s, min(error.again_s or 0.0, _LONGEST_ASKED_S))
        await self._items.put_back_batch(batch, in_us=int(pause_s * 1_000_000), error=str(error))
