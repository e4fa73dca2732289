"""Feeds: the entries of one, and of the older ones that it leads to."""

from __future__ import annotations

import msgspec

from perseid.links.host import politeness_host
from perseid.model.seed import FeedSource
from perseid.seeds.addresses import Gathering, usable
from perseid.seeds.expansion import Asks, Stepped
from perseid.seeds.sources.answers import Place, Reading, Shelf, usable_answer
from perseid.seeds.sources.feed_text import read_feed


class State(msgspec.Struct, array_like=True):
    place: Place
    page: int = 1


async def step(said: FeedSource, cursor: bytes | None, asks: Asks, shelf: Shelf) -> Stepped:
    """At most one request."""
    begun = State(Place(usable(said.url) or said.url))
    state = begun if cursor is None else msgspec.json.decode(cursor, type=State)
    place = state.place
    reading = await shelf.reading(place, lambda: _read(place, asks))
    links, more = shelf.part(place, reading)
    found = Gathering()
    for number, link in enumerate(links, place.at - len(links) + 1):
        found.take(link, f"entry {number} of {place.url}")
    going_on = more
    if not more and links and state.page < said.max_pages:
        older = usable(reading.about or "")
        going_on = older is not None and older != place.url
        state = State(Place(older or ""), state.page + 1)
    return Stepped(
        urls=tuple(found.urls),
        cursor=msgspec.json.encode(state) if going_on else None,
        next_host=politeness_host(state.place.url) if going_on and not shelf.holds(state.place) else "",
        skipped=found.skipped,
        notes=found.notes,
    )


async def _read(place: Place, asks: Asks) -> Reading:
    answer = usable_answer(await asks.fetch(place.url), "feed")
    feed = read_feed(answer)
    return Reading(answer, lambda: iter(feed.links), feed.next)
