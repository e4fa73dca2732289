"""What every place for large bodies does.

One call gives a test module every test (pytest, pytest-asyncio in auto mode):
`globals().update(blob_suite(my_blobs))`, where `my_blobs()` is an asynchronous context manager of an empty place.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
import pytest_asyncio

from perseid.errors import NotFound
from perseid.ports.blob import Blobs

NewBlobs = Callable[[], AbstractAsyncContextManager[Blobs]]
_LARGE = 9_000_001
"""Bytes: more than a database hands over at once, and no round number."""


async def test_what_was_put_is_there(blobs: Blobs) -> None:
    await blobs.put("1/2/document", b"body")
    assert await blobs.get("1/2/document") == b"body"


async def test_a_body_may_hold_nothing(blobs: Blobs) -> None:
    await blobs.put("1/2/document", b"")
    assert await blobs.get("1/2/document") == b""


async def test_a_large_body_comes_back_as_it_was(blobs: Blobs) -> None:
    body = random.Random(1).randbytes(_LARGE)
    await blobs.put("1/2/document", body)
    assert await blobs.get("1/2/document") == body


async def test_what_was_never_put_is_not_found(blobs: Blobs) -> None:
    await blobs.put("1/2/document", b"x")
    for path in ("1/2/other", "1/3/document", "2/2/document", "1/2/document/x"):
        with pytest.raises(NotFound):
            await blobs.get(path)


async def test_the_last_one_put_counts_whatever_their_sizes(blobs: Blobs) -> None:
    for size in (10, _LARGE, 20, 0, _LARGE // 2):
        body = random.Random(size).randbytes(size)
        await blobs.put("1/2/document", body)
        assert await blobs.get("1/2/document") == body


async def test_a_reader_sees_one_version_whole(blobs: Blobs) -> None:
    versions = [bytes([n]) * (_LARGE - n * 1_000_000) for n in range(3)]
    await blobs.put("1/2/document", versions[0])

    async def write() -> None:
        for body in versions[1:] + versions[:1]:
            await blobs.put("1/2/document", body)

    writing = asyncio.create_task(write())
    while not writing.done():
        assert await blobs.get("1/2/document") in versions
    await writing
    assert await blobs.get("1/2/document") == versions[0]


async def test_several_may_write_the_same_body_at_once(blobs: Blobs) -> None:
    bodies = [bytes([n]) * (n * 2_000_000) for n in range(4)]
    await asyncio.gather(*(blobs.put("1/2/document", body) for body in bodies))
    assert await blobs.get("1/2/document") in bodies


async def test_crawls_with_bodies_are_listed_by_their_number(blobs: Blobs) -> None:
    assert await blobs.prefixes() == []
    for crawl in (100, 9, 10, 9):
        await blobs.put(f"{crawl}/2/document", b"x" * 10)
        await blobs.put(f"{crawl}/3/document", b"x" * 10)
    assert await blobs.prefixes() == [9, 10, 100]
    assert await blobs.prefixes(after=9) == [10, 100]
    assert await blobs.prefixes(after=9, limit=1) == [10]
    assert await blobs.prefixes(after=100) == []
    assert await blobs.prefixes(limit=2) == [9, 10]


async def test_all_of_a_crawl_goes_at_once_and_nothing_else(blobs: Blobs) -> None:
    await blobs.put("1/2/document", b"a" * _LARGE)
    await blobs.put("1/3/document", b"b")
    await blobs.put("1/extract", b"c")
    await blobs.put("11/2/document", b"d")
    assert await blobs.delete_prefix("1") == 3
    for path in ("1/2/document", "1/3/document", "1/extract"):
        with pytest.raises(NotFound):
            await blobs.get(path)
    assert await blobs.get("11/2/document") == b"d"
    assert await blobs.prefixes() == [11]


async def test_nothing_is_there_to_delete(blobs: Blobs) -> None:
    assert await blobs.delete_prefix("1") == 0


async def test_many_bodies_of_one_crawl_go(blobs: Blobs) -> None:
    for n in range(1_200):
        await blobs.put(f"1/{n}/document", b"x")
    assert await blobs.delete_prefix("1") == 1_200
    assert await blobs.prefixes() == []


def blob_suite(new_blobs: NewBlobs) -> dict[str, object]:
    """Fixture and tests by name, for the globals of a test module."""

    @pytest_asyncio.fixture(name="blobs")
    async def blobs_fixture() -> AsyncIterator[Blobs]:
        async with new_blobs() as blobs:
            yield blobs

    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    return {"blobs": blobs_fixture, **tests}
