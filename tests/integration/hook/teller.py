"""A process that delivers the events of a store until it is killed: `python teller.py FILE [URL]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from perseid.crawls.events import Courier
from perseid.fetch.guard import Allowance, judge_for
from perseid.fetch.resolver import Resolver
from perseid.hook.sender import Sender
from perseid.observe.telemetry import LogTelemetry
from perseid.runtime.clock import SystemClock
from perseid.store.blobs import FileBlobs
from perseid.testing.ground import Ground, open_store
from perseid.worker.duties.webhooks import WebhookOptions, Webhooks
from perseid.worker.stop import Stop


async def main(path: Path, url: str) -> None:
    store = await open_store(Ground(url), path)
    courier = Courier(
        store, store.outbox, FileBlobs(path.parent / "blobs"), render=lambda _c, _n, document: {"u": document.url}
    )
    sender = Sender(judge=judge_for(Allowance.parse("true"), setting="x"), lookup=Resolver().lookup)
    duty = Webhooks(store.outbox, courier, sender, WebhookOptions(), clock=SystemClock(), telemetry=LogTelemetry())
    await duty.run(Stop())


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
