"""A thread that works for an event loop, one piece of work after the other: there and back with little ado."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeVar

from perseid.errors import StoreError
from perseid.inplace import InPlace

T = TypeVar("T")


class _Order(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[Any]


class Hand:
    """A `ThreadPoolExecutor` of one thread does the same at three times the price, which every page would pay."""

    def __init__(self, name: str) -> None:
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._at_work = Lock()
        self._here = InPlace()
        self.stopped = False
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], T], *, brief: bool = False) -> T:
        """What it returns or raises. Given up before it has begun, it is not done. Raises `StoreError` once stopped.

        What is `brief` is done in the caller's thread if the other is idle, and the like held nobody up of late.
        """
        if self.stopped:
            raise StoreError("the store was closed; open it again")
        if brief and self._orders.empty() and self._here.may and self._at_work.acquire(blocking=False):
            try:
                return self._here.do(work)
            finally:
                self._at_work.release()
                await asyncio.sleep(0)  # as if it had taken a turn of the loop: others may have one
        loop = asyncio.get_running_loop()
        told: asyncio.Future[T] = loop.create_future()
        self._orders.put(_Order(work, loop, told))
        return await told

    async def stop(self) -> None:
        """After all that was ordered before."""
        self.stopped = True
        self._orders.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            with self._at_work:
                if not order.told.cancelled():
                    _carry_out(order)
            del order  # and with it what it wrote


def _carry_out(order: _Order) -> None:
    told: tuple[asyncio.Future[Any], Any, BaseException | None]
    try:
        told = (order.told, order.work(), None)
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever gave the order
        told = (order.told, None, error)
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
        order.loop.call_soon_threadsafe(_tell, *told)
    del told  # an error holds this frame


def _tell(told: asyncio.Future[Any], outcome: Any, error: BaseException | None) -> None:
    if told.cancelled():
        return
    if error is None:
        told.set_result(outcome)
    else:
        told.set_exception(error)
