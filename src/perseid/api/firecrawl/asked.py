"""What is kept with a job of how it was asked for, so that any later answer about it speaks the same way."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from perseid.model.crawl import Crawl
from perseid.model.terms import Terms

VersionName = Literal["v1", "v2"]


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Stands in `Terms.request`."""

    version: VersionName = "v2"
    options: dict[str, Any] = {}
    """As the caller named them, defaults included; for listings."""
    schemeless: tuple[str, ...] = ()
    """URLs that were sent without `http://`: pages bear the name that the caller gave them."""
    nothing: bool = False
    """No format was asked for: metadata only."""
    credits: int = 1
    """What a page counts for."""
    concurrency_limited: bool = False

    def as_sent(self, source_url: str) -> str:
        bare = source_url.removeprefix("http://")
        return bare if bare in self.schemeless else source_url

    def to_request(self) -> dict[str, Any]:
        request: dict[str, Any] = msgspec.to_builtins(self)
        return request


def terms_of(crawl: Crawl) -> Terms:
    return msgspec.json.decode(crawl.terms, type=Terms) if crawl.terms else Terms()


def asked_of(terms: Terms) -> Asked:
    """Of a job that another skin began, the defaults."""
    try:
        return msgspec.convert(terms.request, Asked)
    except msgspec.ValidationError:
        return Asked()
