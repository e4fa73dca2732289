"""The delivery of one process, made from its settings: which one, who takes from it, who dispatches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from perseid.delivery.direct import Direct
from perseid.errors import ConfigError, MissingExtra
from perseid.ports.delivery import Delivery, Signal
from perseid.worker.duties.dispatcher import Dispatcher
from perseid.worker.news import Taker, Tickets

if TYPE_CHECKING:
    from perseid.config.settings import DeliverySettings
    from perseid.delivery.wire import Wire
    from perseid.model.ids import WorkerId
    from perseid.ports.clock import Clock
    from perseid.ports.telemetry import Telemetry
    from perseid.ports.truth import Truth
    from perseid.worker.stop import Stop


class Post(NamedTuple):
    """What one worker, or one desk, has of the delivery while it is at work."""

    delivery: Delivery
    dispatcher: Dispatcher | None
    tickets: Tickets | None
    """None where nobody else is to hear anything, nor be heard."""

    def duties(self, taker: Taker | None, stop: Stop) -> list[Coroutine[None, None, None]]:
        found = [] if self.tickets is None else [self.tickets.run(taker, stop)]
        return found if self.dispatcher is None else [*found, self.dispatcher.run(stop)]

    def begun(self) -> None:
        """Work was begun in this process: whoever is idle, wherever, is to know."""
        if self.dispatcher is not None:
            self.dispatcher.begun()

    async def look(self) -> None:
        """The same for who has no duties that would look."""
        if self.dispatcher is not None:
            await self.dispatcher.look()


@asynccontextmanager
async def delivering(
    settings: DeliverySettings,
    store: Truth,
    *,
    whose: Callable[[], WorkerId],
    takes: bool,
    alone: bool,
    clock: Clock,
    telemetry: Telemetry,
) -> AsyncIterator[Post]:
    """Connected for as long as this lasts. `alone` in its store, a worker has nobody to tell or to hear.

    Raises `ConfigError` for an address that is none or a password that is refused, and `MissingExtra`.
    """
    if alone:
        yield Post(Direct(), None, None)
        return
    delivery = make_delivery(settings, store, telemetry)
    await delivery.open()
    try:
        dispatcher = None
        if settings.url:
            dispatcher = Dispatcher(store, delivery, whose=whose, clock=clock, telemetry=telemetry)
        dispatch = None if dispatcher is None else dispatcher.stirred
        yield Post(delivery, dispatcher, Tickets(delivery, takes=takes, dispatch=dispatch))
    finally:
        await delivery.close()


def make_delivery(settings: DeliverySettings, store: object, telemetry: Telemetry) -> Delivery:
    """Not opened yet. Raises `ConfigError`, `MissingExtra`."""
    if not settings.url:
        # A database that rings a bell by itself with each commit, or none.
        return Direct(store if isinstance(store, Signal) else None)
    from perseid.delivery.carried import Carried  # noqa: PLC0415 - only where there is a broker

    return Carried(_wire(settings), telemetry)


def _wire(settings: DeliverySettings) -> Wire:
    scheme = settings.url.partition("://")[0]
    if scheme in {"amqp", "amqps"}:
        try:
            from perseid.delivery.rabbitmq import RabbitWire  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise _missing("rabbitmq", error) from error
        return RabbitWire(settings.url, prefix=settings.prefix)
    if scheme in {"redis", "rediss"}:
        try:
            from perseid.delivery.redis_streams import RedisWire  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise _missing("redis", error) from error
        return RedisWire(settings.url, prefix=settings.prefix)
    raise ConfigError(
        f"delivery.url begins with {scheme!r}: it is amqp:// or amqps:// for RabbitMQ, redis:// or rediss:// for"
        " Redis, or empty"
    )


def _missing(extra: str, error: ModuleNotFoundError) -> MissingExtra:
    return MissingExtra(f"delivery.url needs {error.name}, which is not installed: pip install 'perseid[{extra}]'")
