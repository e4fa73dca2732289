"""Whom a caller wants told of its job."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from perseid.api.firecrawl.body.base import Body, refuse
from perseid.api.firecrawl.body.url import WebUrl

SIGNATURE_HEADER = "x-firecrawl-signature"
EventName = Literal["completed", "failed", "page", "started", "cancelled"]
DEFAULT_EVENTS: tuple[EventName, ...] = ("completed", "failed", "page", "started")
"""Those of the contract; `cancelled` is ours, and told only to who asks for it."""


class WebhookObject(Body):
    url: WebUrl
    headers: dict[str, str] = Field(default_factory=dict)
    metadata: dict[str, str] = Field(default_factory=dict)
    events: list[EventName] = Field(default=list(DEFAULT_EVENTS))

    @field_validator("headers")
    @classmethod
    def _no_signature(cls, headers: dict[str, str]) -> dict[str, str]:
        if any(name.strip().lower() == SIGNATURE_HEADER for name in headers):
            raise refuse(f"The header {SIGNATURE_HEADER} is ours to set and can't be among the webhook's headers")
        return headers


Webhook = WebUrl | WebhookObject


def as_object(webhook: Webhook) -> WebhookObject:
    return WebhookObject.model_construct(url=webhook) if isinstance(webhook, str) else webhook
