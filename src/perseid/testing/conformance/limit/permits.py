"""Permits: never more than the limit, whoever asks, and none is lost for good."""

from __future__ import annotations

import asyncio

from perseid.model.ids import CrawlId
from perseid.ports.limit import Gate, GateKind, Permit
from perseid.ports.store import NewCrawl
from perseid.ports.work import NewUrl
from perseid.testing.conformance.limit.backend import HOLD_S, LEASE_S, PAUSE_S, SOON_S, Bench


async def crawl_of(bench: Bench, gate: Gate, pages: int) -> CrawlId:
    urls = tuple(NewUrl(f"https://h{n}.example/", n, f"h{n}.example") for n in range(pages))
    new = NewCrawl(uid="c", url=urls[0].url, options=b"{}", key_seed=1, team=int(gate.name), first=urls)
    return await bench.store.start(new)


async def test_a_limit_holds_for_all_that_ask_at_once(bench: Bench) -> None:
    gate = await bench.team(7)
    one, two = await bench.process(), await bench.process()
    got = await asyncio.gather(one.get_all(gate, 10), two.get_all(gate, 10))
    assert sum(got) == 7
    assert await bench.active(gate) == 7
    assert await bench.store.audit() == []


async def test_a_slot_that_is_released_goes_to_the_next(bench: Bench) -> None:
    gate = await bench.team(1)
    process = await bench.process()
    assert await process.get(gate) is not None
    assert await process.get(gate) is None
    waiting = asyncio.create_task(process.limits.acquire(gate, wait_s=SOON_S))
    await asyncio.sleep(0)
    await process.free()
    assert await waiting is not None


async def test_gates_are_apart(bench: Bench) -> None:
    one, two = await bench.team(1), await bench.team(2)
    process = await bench.process()
    assert await process.get(one) is not None
    assert await process.get(two) is not None
    assert await process.get(one) is None


async def test_queued_work_and_permits_see_each_other(bench: Bench) -> None:
    gate = await bench.team(5)
    process = await bench.process()
    await crawl_of(bench, gate, 10)
    leases = (await bench.store.step(process.worker, (), 3)).leases
    assert len(leases) == 3
    assert await process.get_all(gate, 5) == 2
    assert (await bench.store.step(process.worker, (), 5)).leases == []
    await process.free()
    await bench.reap_until(gate, 3)
    assert len((await bench.store.step(process.worker, (), 5)).leases) == 2


async def test_what_nobody_uses_is_given_back(bench: Bench) -> None:
    gate = await bench.team(40)
    process = await bench.process()
    assert await process.get_all(gate, 2) == 2
    await bench.reap_until(gate, 2)
    await process.free()
    await bench.reap_until(gate, 0)
    assert await process.get_all(gate, 40) == 40


async def test_a_permit_that_is_extended_outlasts_every_lease(bench: Bench) -> None:
    gate = await bench.team(2)
    process, other = await bench.process(), await bench.process()
    assert await process.get_all(gate, 1) == 1
    loop = asyncio.get_running_loop()
    end = loop.time() + 2 * LEASE_S
    while loop.time() < end:
        await process.extend()
        await process.tend()
        await bench.store.reap([])
        assert process.live == 1
        await asyncio.sleep(HOLD_S / 5)
    assert await other.get_all(gate, 2) <= 1


async def test_a_permit_is_extended_though_its_leaser_is_gone(bench: Bench) -> None:
    gate = await bench.team(2)
    process = await bench.process()
    assert await process.get_all(gate, 2) == 2
    loop = asyncio.get_running_loop()
    end = loop.time() + 2 * LEASE_S
    while loop.time() < end:
        # Nobody tends the blocks.
        await process.extend()
        await bench.store.reap([process.worker])
        assert process.live == 2
        await asyncio.sleep(HOLD_S / 5)


async def test_a_slot_comes_back_when_its_holder_says_nothing_more(bench: Bench) -> None:
    gate = await bench.team(1)
    dead, other = await bench.process(), await bench.process()
    assert await dead.get(gate) is not None
    async with asyncio.timeout(SOON_S):
        while await other.get(gate) is None:
            await bench.store.reap([])
            await asyncio.sleep(0.02)
    assert dead.live == 0, "its time was over before"


async def test_a_permit_whose_time_is_up_frees_nobody_else(bench: Bench) -> None:
    gate = await bench.team(1)
    process = await bench.process()
    late = await process.get(gate)
    assert late is not None
    process.held.clear()
    async with asyncio.timeout(SOON_S):
        while await process.get(gate) is None:
            await bench.store.reap([])
            await asyncio.sleep(0.02)
    await process.limits.release(late)
    assert await process.get(gate) is None
    assert (await process.limits.extend(late)).until == late.until


async def test_a_permit_is_released_once(bench: Bench) -> None:
    gate = await bench.team(2)
    process = await bench.process()
    first = await process.limits.acquire(gate)
    assert first is not None
    await process.limits.release(first)
    assert await process.get_all(gate, 2) == 2
    await process.limits.release(first)
    assert await process.get(gate) is None


async def test_who_closes_gives_back_what_nobody_holds(bench: Bench) -> None:
    gate = await bench.team(10)
    process, other = await bench.process(), await bench.process()
    assert await process.get_all(gate, 3) == 3
    await process.free()
    await process.limits.close()
    assert await bench.active(gate) == 0
    assert await other.get_all(gate, 10) == 10


async def test_a_host_with_a_rate_is_asked_no_more_often(bench: Bench) -> None:
    gate = Gate(GateKind.HOST, "site.example")
    processes = [await bench.process(), await bench.process()]
    loop = asyncio.get_running_loop()
    began = loop.time()
    got = 0
    while (now := loop.time()) < began + 1.0:
        for process in processes:
            got += await process.get(gate) is not None
            await process.free()
        await asyncio.sleep(PAUSE_S)
    # 3 at once, and one each 0.2 s.
    assert 4 <= got <= 3 + (now - began) / 0.2 + 1


async def test_who_gives_up_waiting_takes_nothing_along(bench: Bench) -> None:
    gate = await bench.team(1)
    process = await bench.process()
    assert await process.get(gate) is not None
    waiting: list[asyncio.Task[Permit | None]] = [
        asyncio.create_task(process.limits.acquire(gate, wait_s=SOON_S)) for _ in range(5)
    ]
    await asyncio.sleep(0.05)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    await process.free()
    # Sooner than by the end of a lease.
    assert await process.get(gate, LEASE_S / 2) is not None
