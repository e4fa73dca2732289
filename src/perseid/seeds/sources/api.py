"""JSON APIs: addresses in their answers, page by page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from perseid.content.decode import decode
from perseid.dom import url as urls
from perseid.errors import SourceFailed
from perseid.links.host import politeness_host
from perseid.model.seed import ApiSource
from perseid.rules import jsonpath
from perseid.rules.page import read_json
from perseid.rules.regexes import Overrun
from perseid.seeds.addresses import Gathering, usable
from perseid.seeds.expansion import Asks, Stepped
from perseid.seeds.sources.answers import Place, Reading, Shelf, usable_answer
from perseid.seeds.template import filled


class State(msgspec.Struct, array_like=True):
    """`page` counts from 1; `last` is the digest of the page before."""

    place: Place
    page: int = 1
    last: str = ""


async def step(said: ApiSource, cursor: bytes | None, asks: Asks, shelf: Shelf) -> Stepped:
    """At most one request. It ends at a page without items, one that is the same as the page before, `max_pages`."""
    state = State(Place(_first(said))) if cursor is None else msgspec.json.decode(cursor, type=State)
    place = state.place
    reading = await shelf.reading(place, lambda: _read(said, place, asks))
    if reading.digest == state.last:
        return Stepped()
    items, more = shelf.part(place, reading)
    found = Gathering(reading.url)
    for number, item in enumerate(items, place.at - len(items) + 1):
        found.take(_address(said, item), f"item {number} of {place.url}")
    going_on = more
    if not more and items and state.page < said.max_pages:
        url = _following(said, state, reading)
        going_on = url is not None and url != place.url
        state = State(Place(url or ""), state.page + 1, reading.digest)
    return Stepped(
        urls=tuple(found.urls),
        cursor=msgspec.json.encode(state) if going_on else None,
        next_host=politeness_host(state.place.url) if going_on and not shelf.holds(state.place) else "",
        skipped=found.skipped,
        notes=found.notes,
    )


def _first(said: ApiSource) -> str:
    url = usable(said.url) or said.url
    counts = said.parameter is not None and said.next is None
    return with_parameter(url, said.parameter, str(said.start)) if counts and said.parameter else url


async def _read(said: ApiSource, place: Place, asks: Asks) -> Reading:
    answer = usable_answer(await asks.fetch(place.url), "API")
    text = decode(answer.body, content_type=answer.header("content-type")).text
    try:
        value = read_json(text)
    except ValueError as error:
        begun = text[:40].strip()
        raise SourceFailed(f"the API {answer.url} answers with no JSON: {error}; it begins with {begun!r}") from None
    items = _found(said.items, value, answer.url)
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]  # the path of a list means its members
    going_on = _found(said.next, value, answer.url) if said.next is not None else []
    following = next((each for each in going_on if isinstance(each, str | int) and each not in ("", False)), None)

    return Reading(answer, lambda: iter(items), following)


def _found(path: str, value: Any, url: str) -> list[Any]:
    try:
        return jsonpath.evaluate(path, value)
    except (Overrun, ValueError) as error:
        raise SourceFailed(f"{error} (in the answer of {url})") from None


def _address(said: ApiSource, item: Any) -> str | None:
    if said.template is not None:
        values = {**item, "value": item.get("value")} if isinstance(item, dict) else {"value": item}
        return filled(said.template, values)
    return item if isinstance(item, str) else None


def _following(said: ApiSource, state: State, reading: Reading) -> str | None:
    """The next page's address."""
    if said.next is None:
        if said.parameter is None:
            return None
        return with_parameter(state.place.url, said.parameter, str(said.start + state.page * said.step))
    if reading.about is None:
        return None
    if said.parameter is not None:
        return with_parameter(state.place.url, said.parameter, str(reading.about))
    return usable(urls.join(str(reading.about), reading.url) or "")


def with_parameter(url: str, name: str, value: str) -> str:
    """The address with that parameter set, all else as it is written."""
    bare, _, query = url.partition("#")[0].partition("?")
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0] not in (name, quote_plus(name))]
    kept.append(f"{quote_plus(name)}={quote(value, safe='')}")
    return f"{bare}?{'&'.join(kept)}"
