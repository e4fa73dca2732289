"""What a server does by itself: tell receivers what happened, and let go of what nobody keeps any longer."""

from __future__ import annotations

from perseid.crawls.events import Courier, Render
from perseid.fetch.guard import Allowance, judge_for
from perseid.fetch.resolver import Resolver
from perseid.runtime.engine import Engine
from perseid.worker.duties.pruner import Keeping, Pruner, Shelves
from perseid.worker.duties.webhooks import WebhookOptions, Webhooks
from perseid.worker.stop import Stop

_ALLOWS = "PERSEID_WEBHOOK__ALLOW_PRIVATE"


async def tell(engine: Engine, render: Render, stop: Stop) -> None:
    """Deliver events until stopped; one process of a store is enough."""
    from perseid.hook.sender import Sender  # noqa: PLC0415 - its client library is slow to load, and only servers tell

    webhook = engine.settings.webhook
    resolver = Resolver()
    sender = Sender(
        judge=judge_for(Allowance.parse(webhook.allow_private), setting=_ALLOWS),
        lookup=resolver.lookup,
        secret=webhook.secret,
        timeout_s=webhook.timeout_s,
    )
    store = engine.store
    duty = Webhooks(
        store.outbox,
        Courier(store, store.outbox, engine.blobs, render=render, operators=webhook.url),
        sender,
        WebhookOptions(timeout_s=webhook.timeout_s, give_up_after_s=webhook.give_up_after_s, disabled=webhook.disabled),
        clock=engine.clock,
        telemetry=engine.telemetry,
    )
    try:
        await duty.run(stop)
    finally:
        await sender.close()
        await resolver.close()


async def prune(engine: Engine, stop: Stop) -> None:
    """Prune and erase until stopped."""
    store, retention = engine.store, engine.settings.retention
    shelves = Shelves(
        store=store, inspect=store, pages=store.pages, known=store.known, outbox=store.outbox, blobs=engine.blobs
    )
    keeping = Keeping(cache_s=retention.cache_ttl_s, known_s=retention.known_ttl_s, log_s=retention.log_ttl_s)
    pruner = Pruner(shelves, keeping, clock=engine.clock, telemetry=engine.telemetry)
    await pruner.run(stop, every_s=engine.settings.worker.prune_s)
