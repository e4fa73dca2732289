"""URLs as every database takes them."""

from __future__ import annotations

from perseid.ports.work import NewUrl
from perseid.store.schema import clean


def cleaned(url: NewUrl) -> NewUrl:
    if url.url.isascii() and url.host.isascii():
        return url
    return url._replace(url=clean(url.url), host=clean(url.host))
