"""Scrapes that ask for what was asked for before, of another page: what was made of their options then still holds."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import orjson

from perseid.api.firecrawl.body.base import Reading
from perseid.api.firecrawl.body.scrape import Scrape
from perseid.api.firecrawl.body.url import fault
from perseid.api.firecrawl.reading import parsed, reading_for, validated
from perseid.api.firecrawl.translate.page import PagePlan, plan_page
from perseid.config.settings import Settings

_MOST = 256
_LONGEST_BYTES = 4_096


class Wish(NamedTuple):
    """A body, and how the page is to be read."""

    body: Scrape
    page: PagePlan


class Familiar:
    """Clients send the same options again and again: only what is new of a body is validated and translated."""

    def __init__(self, model: type[Scrape]) -> None:
        self._model = model
        self._known: OrderedDict[bytes, Wish] = OrderedDict()

    def read(self, data: bytes, settings: Settings) -> Wish:
        """Raises `WireError` as `validated` and `plan_page` do."""
        value, reading = parsed(data), reading_for(settings)
        options = _options_of(value, reading)
        known = None if options is None else self._known.get(options)
        if known is not None:
            return known._replace(body=known.body.model_copy(update={"url": value["url"]}))
        body = validated(self._model, value, reading)
        wish = Wish(body, plan_page(body, settings))
        if options is not None and not body.zero_data_retention:
            self._known[options] = wish
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return wish


def _options_of(value: Any, reading: Reading) -> bytes | None:
    """All but the URL; None where that is not in order, or they are too much to be kept."""
    url = value.get("url") if isinstance(value, dict) else None
    if not isinstance(url, str) or fault(url, reading.hosts) is not None:
        return None
    try:
        options = orjson.dumps({**value, "url": None})
    except orjson.JSONEncodeError:  # a number past 64 bits, or half a character
        return None
    return options if len(options) <= _LONGEST_BYTES else None
