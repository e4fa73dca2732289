"""RabbitMQ: tickets in a quorum queue, notices of an end through an exchange into a queue of each process.

What is missing or was deleted there is declared again. Needs aio-pika (the extra `rabbitmq`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

import aio_pika
from aio_pika import DeliveryMode, ExchangeType, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import AMQPError, AuthenticationError, ProbableAuthenticationError
from aiormq.exceptions import InvalidFrameError
from pamqp.common import FieldTable
from yarl import URL

from perseid.delivery.wire import MOST_KEPT, BrokerAway, Inbox
from perseid.errors import ConfigError
from perseid.model.ids import CrawlId
from perseid.ports.delivery import Ticket

_HEARTBEAT_S = 4
_CONNECT_S = 5.0


class _Tag:
    """A message and the channel it came by: only there can it be acknowledged. Equal to itself alone."""

    def __init__(self, message: AbstractIncomingMessage, of: AbstractChannel) -> None:
        self.message = message
        self.of = of


class RabbitWire:
    """A `Wire` over one AMQP connection: one channel for what we say, one for what we hear."""

    kind = "rabbitmq"

    def __init__(self, url: str, *, prefix: str = "") -> None:
        """`url` as aio-pika has it, its path the vhost. Raises `ConfigError`."""
        self._url = _address(url)
        self.place = f"RabbitMQ at {self._url.host}:{self._url.port or 5672}{self._url.path}"
        self._tickets = f"{prefix}perseid.exec"
        self._ended = f"{prefix}perseid.ended"
        self._connection: AbstractConnection | None = None
        self._out: AbstractChannel
        self._in: AbstractChannel
        self._queue: AbstractQueue
        self._exchange: AbstractExchange
        self._notices: AbstractQueue
        self._inbox: Inbox
        self._consumer: str | None = None
        self._window = 0
        self._open = 0
        """What the consumer has handed us of it, not acknowledged yet."""
        self._heard = False
        self._consuming = asyncio.Lock()
        # Its warnings would tell again, and in another form, what we tell once.
        logging.getLogger("aiormq").addHandler(logging.NullHandler())
        logging.getLogger("aio_pika").addHandler(logging.NullHandler())

    async def connect(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._consumer = None
        async with _calling():
            try:
                self._connection = await aio_pika.connect(self._url, timeout=_CONNECT_S)
            except (AuthenticationError, ProbableAuthenticationError) as error:
                raise ConfigError(f"{self.place} refuses the user or password of PERSEID_DELIVERY__URL") from error
            except InvalidFrameError as error:  # it closed where it should have opened
                message = f"the vhost {self._url.path!r} is refused: is it there, and its user's?"
                raise BrokerAway(message) from error
            self._connection.close_callbacks.add(self._on_closed)
            self._out = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            self._in = await self._connection.channel(publisher_confirms=False)
            await self._declare()
            self._queue = await self._in.get_queue(self._tickets, ensure=False)
            self._exchange = await self._out.declare_exchange(self._ended, ExchangeType.DIRECT, durable=True)
            await self._declare_notices()
            hearing = await self._in.get_underlay_channel()
            hearing.on_consumer_cancel_callbacks.add(self._on_cancelled)
            # Under an alarm of memory or disk it lets everybody in, and takes nothing: only a message tells.
            await self._exchange.publish(Message(b""), routing_key="0", mandatory=False)

    async def close(self) -> None:
        self._consumer = None
        connection = self._connection
        if connection is not None:
            connection.close_callbacks.discard(self._on_closed)
            with contextlib.suppress(BrokerAway, TimeoutError):
                async with asyncio.timeout(1.0), _calling():
                    await connection.close()
            if self._connection is connection:
                self._connection = None  # only now: who is cut off here is called again

    async def check(self) -> None:
        """A queue that is deleted and made again at once leaves its consumers without a word: who hears nothing while
        tickets lie there consumes anew.
        """
        async with self._consuming, _calling():
            found = (await self._declare()).declaration_result
            await self._out.declare_exchange(self._ended, ExchangeType.DIRECT, durable=True)
            deaf = not found.consumer_count or (found.message_count and not self._heard)
            self._heard = False
            if self._consumer is not None and deaf:
                await self._consume(self._window)

    async def want(self, most: int) -> None:
        """The window of a consumer that is there stays, unless it is too small or much too large."""
        async with self._consuming, _calling():
            if self._consumer is not None and most <= self._window - self._open <= 4 * most:
                return
            await self._consume(most)

    async def rest(self) -> None:
        async with self._consuming, _calling():
            await self._cancel()

    async def publish(self, count: int) -> None:
        async with _calling():
            try:
                await self._put(count)
            except AMQPError as error:
                if self._out.is_closed:
                    raise
                await self._declare()  # it came back as unroutable: the queue was deleted
                try:
                    await self._put(count)
                except AMQPError:
                    raise BrokerAway(_why(error)) from error

    async def waiting(self) -> int:
        async with _calling():
            queue = await self._declare()
            return queue.declaration_result.message_count or 0

    async def acknowledge(self, tags: Sequence[object]) -> None:
        async with _calling():
            for message in self._ours(tags):
                await message.ack()
                self._settled(message)

    async def give_back(self, tags: Sequence[object]) -> None:
        async with _calling():
            for message in self._ours(tags):
                await message.nack(requeue=True)
                self._settled(message)

    async def tell(self, crawls: Sequence[CrawlId]) -> None:
        """Told to nobody where nobody listens."""
        async with _calling():
            for crawl in crawls:
                await self._exchange.publish(Message(b""), routing_key=str(crawl), mandatory=False)

    async def listen(self, crawl: CrawlId) -> None:
        async with _calling():
            await self._notices.bind(self._exchange, routing_key=str(crawl))

    async def forget(self, crawl: CrawlId) -> None:
        async with _calling():
            await self._notices.unbind(self._exchange, routing_key=str(crawl))

    async def _declare(self) -> AbstractQueue:
        """Nothing happens to a queue that is there; its answer says how many tickets lie in it.

        Bounded, since a queue that nobody takes from must not fill a disk.
        """
        arguments: FieldTable = {"x-queue-type": "quorum", "x-max-length": MOST_KEPT, "x-overflow": "drop-head"}
        return await self._out.declare_queue(self._tickets, durable=True, arguments=arguments)

    async def _declare_notices(self) -> None:
        self._notices = await self._in.declare_queue(exclusive=True, auto_delete=True)
        await self._notices.consume(self._on_notice, no_ack=True)

    async def _put(self, count: int) -> None:
        message = Message(b"", delivery_mode=DeliveryMode.PERSISTENT)
        publish = self._out.default_exchange.publish
        if count == 1:
            await publish(message, self._tickets, mandatory=True)
            return
        for outcome in await asyncio.gather(
            *(publish(message, self._tickets, mandatory=True) for _ in range(count)), return_exceptions=True
        ):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _consume(self, most: int) -> None:
        await self._cancel()
        await self._in.set_qos(prefetch_count=most)
        self._window = most
        self._open = 0
        # Named by us, since the first tickets come before its answer does.
        self._consumer = uuid4().hex
        await self._queue.consume(self._on_ticket, consumer_tag=self._consumer)

    async def _cancel(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await self._queue.cancel(consumer)

    def _ours(self, tags: Sequence[object]) -> list[AbstractIncomingMessage]:
        """Those of this connection: the others went back to the queue with theirs."""
        return [tag.message for tag in tags if isinstance(tag, _Tag) and tag.of is self._in]

    def _settled(self, message: AbstractIncomingMessage) -> None:
        """The window of a consumer counts what came by itself."""
        if message.consumer_tag == self._consumer:
            self._open -= 1

    async def _on_ticket(self, message: AbstractIncomingMessage) -> None:
        self._heard = True
        if message.consumer_tag == self._consumer:
            self._open += 1
        self._inbox.arrived(Ticket(_Tag(message, self._in), again=bool(message.redelivered)))

    async def _on_notice(self, message: AbstractIncomingMessage) -> None:
        self._inbox.told(CrawlId(int(message.routing_key or 0)))

    async def _on_cancelled(self, _frame: object) -> None:
        """The queue was deleted under us: connecting anew makes another."""
        self._inbox.lost("a queue was deleted")

    def _on_closed(self, _connection: object, error: BaseException | None) -> None:
        self._inbox.lost(_why(error) if error else "the connection was closed")


def _address(url: str) -> URL:
    try:
        found = URL(url)
    except ValueError as error:
        raise ConfigError(f"delivery.url is no address: {error}") from error
    if found.scheme not in {"amqp", "amqps"} or not found.host:
        raise ConfigError("delivery.url must be amqp://user:password@host:port/vhost")
    return found if "heartbeat" in found.query else found.update_query(heartbeat=_HEARTBEAT_S)


@asynccontextmanager
async def _calling() -> AsyncIterator[None]:
    """Whatever aio-pika raises when a connection goes while it is used: among that are bare exceptions, and even a
    cancellation of somebody whom nobody cancelled.
    """
    try:
        yield
    except (BrokerAway, ConfigError):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise BrokerAway("the connection was closed") from error
    except Exception as error:
        raise BrokerAway(_why(error)) from error


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
