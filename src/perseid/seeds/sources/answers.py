"""Answers of sites that are read part by part, between the steps of one process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
from xxhash import xxh3_128_hexdigest

from perseid.errors import SourceFailed
from perseid.ports.fetch import Response
from perseid.seeds.expansion import MAX_URLS

MAX_BYTES = 64 * 1024 * 1024
"""Of all answers that are kept."""
_MAX_CHANGES = 2
"""An answer that is another one each time is read from its beginning so often, then from where it was left."""


class Place(msgspec.Struct, array_like=True):
    """How far an answer was read, and what it was then."""

    url: str
    at: int = 0
    digest: str = ""
    changes: int = 0


class Reading:
    """One answer, its entries told by what makes them anew; read in parts, mostly one after the other."""

    def __init__(self, answer: Response, entries: Callable[[], Iterator[Any]], about: Any = None) -> None:
        self.url = answer.url
        self.digest = xxh3_128_hexdigest(answer.body)
        self.size = len(answer.body)
        self.about = about
        """What else is to be known of the answer, for who reads it."""
        self._entries = entries
        self._left = entries()
        self._ahead: list[Any] = []
        self._at = 0

    def part(self, at: int, n: int) -> tuple[list[Any], bool]:
        """Up to n entries from that position on, and whether there are more."""
        if at != self._at:
            self._left, self._ahead = self._entries(), []
            next(islice(self._left, at, at), None)
        found = [*self._ahead, *islice(self._left, n - len(self._ahead))]
        self._ahead = list(islice(self._left, 1))
        self._at = at + len(found)
        return found, bool(self._ahead)


class Shelf:
    """Readings by what was read: whoever comes back with the digest of an answer goes on without asking for it."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._readings: OrderedDict[str, Reading] = OrderedDict()

    def holds(self, place: Place) -> bool:
        return place.digest in self._readings

    async def reading(self, place: Place, ask: Callable[[], Awaitable[Reading]]) -> Reading:
        """What is read at that place; asked for where it isn't kept, and from its beginning where it has changed."""
        kept = self._readings.pop(place.digest, None)
        if kept is not None:
            return kept
        reading = await ask()
        if place.at and reading.digest != place.digest and place.changes < _MAX_CHANGES:
            place.at = 0
            place.changes += 1
        return reading

    def part(self, place: Place, reading: Reading) -> tuple[list[Any], bool]:
        """The next entries of a step, and whether there are more; the place moves behind them."""
        entries, more = reading.part(place.at, MAX_URLS)
        place.at += len(entries)
        place.digest = reading.digest
        if more:
            self._put(reading)
        return entries, more

    def _put(self, reading: Reading) -> None:
        self._readings[reading.digest] = reading
        while sum(each.size for each in self._readings.values()) > self._max_bytes:
            self._readings.popitem(last=False)


def usable_answer(answer: Response, what: str) -> Response:
    """Raises SourceFailed for one that is none."""
    if answer.status >= 400:
        retryable = answer.status in (408, 425, 429) or answer.status >= 500
        raise SourceFailed(f"the {what} {answer.url} answered {answer.status}", retryable=retryable)
    return answer
