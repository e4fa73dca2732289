"""What only a server does beside its workers' duties: tell receivers of events, and let go of what is old."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from perseid.crawls.events import Courier, Render
from perseid.errors import MissingExtra
from perseid.fetch.guard import Allowance, judge_for
from perseid.fetch.resolver import Resolver
from perseid.ports.hook import Hook
from perseid.runtime.engine import Engine
from perseid.worker.duties.pruner import Keeping, Pruner, Shelves
from perseid.worker.duties.webhooks import WebhookOptions, Webhooks
from perseid.worker.stop import Stop

Duty = Coroutine[None, None, None]


@asynccontextmanager
async def housekeeping(engine: Engine, stop: Stop, *, render: Render) -> AsyncIterator[list[Duty]]:
    """The duties, with what they need while they run. `render` makes of a document what its receivers expect."""
    hook, resolver = _sender(engine)
    settings = engine.settings.webhook
    courier = Courier(engine.store, engine.store.outbox, engine.blobs, render=render, operators=settings.url)
    options = WebhookOptions(
        timeout_s=settings.timeout_s, give_up_after_s=settings.give_up_after_s, disabled=settings.disabled
    )
    webhooks = Webhooks(engine.store.outbox, courier, hook, options, clock=engine.clock, telemetry=engine.telemetry)
    try:
        yield [webhooks.run(stop), _pruner(engine).run(stop, every_s=engine.settings.worker.prune_s)]
    finally:
        await hook.close()
        await resolver.close()


def _sender(engine: Engine) -> tuple[Hook, Resolver]:
    settings = engine.settings.webhook
    try:
        from perseid.hook.sender import Sender  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtra(f"webhooks need {error.name}: pip install 'perseid[server]'") from error
    resolver = Resolver()
    judge = judge_for(Allowance.parse(settings.allow_private), setting="PERSEID_WEBHOOK__ALLOW_PRIVATE")
    return Sender(judge=judge, lookup=resolver.lookup, secret=settings.secret, timeout_s=settings.timeout_s), resolver


def _pruner(engine: Engine) -> Pruner:
    store, retention = engine.store, engine.settings.retention
    shelves = Shelves(
        store=store,
        inspect=store,
        pages=store.pages,
        known=store.known,
        items=store.items,
        outbox=store.outbox,
        blobs=engine.blobs,
    )
    keeping = Keeping(
        cache_s=retention.cache_ttl_s,
        known_s=retention.known_ttl_s,
        page_s=retention.page_ttl_s,
        log_s=retention.log_ttl_s,
    )
    return Pruner(shelves, keeping, clock=engine.clock, telemetry=engine.telemetry)
