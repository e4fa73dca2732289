"""Whom to tell: a webhook of a body as terms of ours."""

from __future__ import annotations

from perseid.api.firecrawl.asked import VersionName
from perseid.api.firecrawl.body import webhook as wire
from perseid.api.firecrawl.body.url import with_scheme
from perseid.model.terms import EventKind, Webhook

_KINDS: dict[wire.EventName, EventKind] = {
    "started": EventKind.STARTED,
    "page": EventKind.PAGE,
    "completed": EventKind.COMPLETED,
    "failed": EventKind.FAILED,
    "cancelled": EventKind.CANCELLED,
}


def webhook_terms(webhook: wire.Webhook | None, version: VersionName) -> Webhook | None:
    """An empty list of events is all of the contract's."""
    if webhook is None:
        return None
    asked = wire.as_object(webhook)
    events = EventKind(0)
    for name in asked.events or wire.DEFAULT_EVENTS:
        events |= _KINDS[name]
    return Webhook(
        url=with_scheme(asked.url),
        headers=asked.headers,
        metadata=asked.metadata,
        events=int(events),
        version=version,
    )
