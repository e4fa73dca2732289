"""The cache of pages: an answer comes back as it was put, the last one put counts, and all are forgotten in time."""

from __future__ import annotations

import asyncio

import msgspec

from perseid.ports.pages import KnownPage
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk

PAGE = KnownPage(
    url="http://e.test/", etag='"1"', last_modified=None, headers=(("etag", '"1"'), ("x", "ü")), body=b"\0b"
)


async def test_a_cached_page_comes_back_as_it_was_put(desk: Desk) -> None:
    await desk.store.pages.put(b"\0k", PAGE)
    assert await desk.store.pages.get(b"\0k") == PAGE
    assert await desk.store.pages.get(b"k") is None


async def test_a_cached_redirect_has_its_age_and_its_cookies(desk: Desk) -> None:
    redirect = msgspec.structs.replace(PAGE, etag=None, status=302, fetched_at=77, chain=b"\0c")
    await desk.store.pages.put(b"k", redirect)
    assert await desk.store.pages.get(b"k") == redirect


async def test_the_last_page_put_under_a_key_counts(desk: Desk) -> None:
    await desk.store.pages.put(b"k", PAGE)
    newer = KnownPage(url=PAGE.url, etag=None, last_modified="d", headers=(), body=b"")
    await desk.store.pages.put(b"k", newer)
    assert await desk.store.pages.get(b"k") == newer


async def test_a_cached_page_can_be_dropped(desk: Desk) -> None:
    await desk.store.pages.put(b"k", PAGE)
    await desk.store.pages.put(b"l", PAGE)
    await desk.store.pages.drop(b"k")
    await desk.store.pages.drop(b"nothing")
    assert await desk.store.pages.get(b"k") is None
    assert await desk.store.pages.get(b"l") == PAGE


async def test_cached_pages_are_forgotten_by_the_time_they_were_put(desk: Desk) -> None:
    await desk.store.pages.put(b"old", PAGE)
    await desk.store.pages.put(b"renewed", PAGE)
    await desk.start("a")
    desk.clock.advance(SECOND)
    await desk.store.pages.put(b"renewed", PAGE)
    await desk.store.pages.put(b"new", PAGE)
    await desk.start("b")
    assert await desk.store.pages.expire(desk.clock.now) == 1
    assert await desk.store.pages.get(b"old") is None
    assert await desk.store.pages.get(b"renewed") == await desk.store.pages.get(b"new") == PAGE


async def test_text_that_a_database_refuses_does_not_keep_a_page_out_of_the_cache(desk: Desk) -> None:
    odd = msgspec.structs.replace(PAGE, url="http://e.test/\0\ud800", etag='"\0"', last_modified="\udcff")
    await desk.store.pages.put(b"k", odd)
    await desk.start("a")
    found = await desk.store.pages.get(b"k")
    assert found is not None
    assert found.body == PAGE.body


async def test_many_pages_are_cached_at_once_by_several_processes(bench: Bench, desk: Desk) -> None:
    twin = await bench.twin(desk)
    keys = [b"%d" % n for n in range(120)]
    await asyncio.gather(
        *(desk.store.pages.put(key, PAGE) for key in keys), *(twin.store.pages.put(key, PAGE) for key in reversed(keys))
    )
    assert [await desk.store.pages.get(key) for key in keys] == [PAGE] * len(keys)
    assert [await twin.store.pages.get(key) for key in keys] == [PAGE] * len(keys)


async def test_pages_put_before_a_store_is_closed_are_there(desk: Desk) -> None:
    twin = await desk.twin()
    await twin.store.pages.put(b"k", PAGE)
    await twin.store.close()
    assert await desk.store.pages.get(b"k") == PAGE
