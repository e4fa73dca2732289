"""Notices of an end inside one process."""

from __future__ import annotations

import asyncio

from perseid.testing.conformance.delivery.backend import NEVER_S, Bench, crawl, is_told


async def test_who_listens_is_told_of_the_end(bench: Bench) -> None:
    delivery = await bench.process()
    async with delivery.listen(crawl(7)) as ended:
        await delivery.tell([crawl(7)])
        assert await is_told(ended)


async def test_all_who_listen_are_told(bench: Bench) -> None:
    delivery = await bench.process()
    async with delivery.listen(crawl(7)) as one, delivery.listen(crawl(7)) as other, delivery.listen(crawl(8)) as third:
        await delivery.tell([crawl(8), crawl(7)])
        assert await is_told(one)
        assert await is_told(other)
        assert await is_told(third)


async def test_nobody_is_told_of_others(bench: Bench) -> None:
    delivery = await bench.process()
    async with delivery.listen(crawl(1)) as ended:
        await delivery.tell([crawl(2), crawl(11)])
        await asyncio.sleep(NEVER_S / 4)
        assert not ended.is_set()


async def test_one_stops_to_listen_and_the_others_go_on(bench: Bench) -> None:
    delivery = await bench.process()
    async with delivery.listen(crawl(7)) as stays:
        async with delivery.listen(crawl(7)):
            pass
        await delivery.tell([crawl(7)])
        assert await is_told(stays)


async def test_telling_nobody_is_no_error(bench: Bench) -> None:
    delivery = await bench.process()
    await delivery.tell([])
    await delivery.tell([crawl(3)])
    async with delivery.listen(crawl(4)):
        pass
    await delivery.tell([crawl(4)])
    assert bench.heard.events == []
