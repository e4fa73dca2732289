"""The watch over what items lack, in one process."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from perseid.errors import MissingExtra
from perseid.fetch.resolver import Resolver

if TYPE_CHECKING:
    from perseid.ports.hook import Hook
    from perseid.runtime.engine import Engine
    from perseid.worker.stop import Stop


async def watch_alarms(engine: Engine, stop: Stop) -> None:
    """A worker's duty: raise alarms, clear them and tell of them, until stopped. Raises `MissingExtra`."""
    from perseid.items.alarms import Watch  # noqa: PLC0415 - crawls need none of it
    from perseid.items.telling import Teller  # noqa: PLC0415 - see above
    from perseid.worker.duties import alarms  # noqa: PLC0415 - see above

    store, settings = engine.store, engine.settings.alerts
    async with AsyncExitStack() as open_:
        hook = _sender(open_, engine) if settings.webhook and not engine.settings.webhook.disabled else None
        watch = Watch(store.items, store.seeds, store.configs, store, clock=engine.clock)
        teller = Teller(store.items, clock=engine.clock, telemetry=engine.telemetry, hook=hook, url=settings.webhook)
        await alarms.run(watch, teller, engine.telemetry, stop, every_s=settings.every_s)


def _sender(open_: AsyncExitStack, engine: Engine) -> Hook:
    """To the operator's own receiver, which is trusted; signed as all that is told to receivers."""
    try:
        from perseid.hook.sender import Sender  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtra(f"telling of alarms needs {error.name}: pip install 'perseid[server]'") from error
    resolver = Resolver()
    open_.push_async_callback(resolver.close)
    told = engine.settings.webhook
    sender = Sender(
        judge=lambda _host, _address, _port: "", lookup=resolver.lookup, secret=told.secret, timeout_s=told.timeout_s
    )
    open_.push_async_callback(sender.close)
    return sender
