"""Blocks of slots that are handed out beside the store, and token buckets."""

from __future__ import annotations

import asyncio

from perseid.model.ids import WorkerId
from perseid.ports.limit import Block, Gate, GateKind
from perseid.ports.store import HostDefaults
from perseid.ports.teams import Team
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, host_of, page

_LEASE = 20 * SECOND
HOST = Gate(GateKind.HOST, "site.example")


async def lease(desk: Desk, gate: Gate, want: int = 100) -> Block | None:
    return await desk.store.lease_block(desk.worker, gate, want, lease_us=_LEASE)


async def keep(desk: Desk, block: Block, size: int) -> bool:
    return await desk.store.keep_block(block.id, size, lease_us=_LEASE)


async def team_of(desk: Desk, most: int) -> Gate:
    made = await desk.store.put_team(Team(id=0, name=f"limited to {most}", max_active=most))
    return Gate(GateKind.TEAM, str(made.id))


async def active(desk: Desk, gate: Gate) -> int:
    return (await desk.store.load(int(gate.name))).active


async def test_a_block_is_at_most_half_of_what_is_free(desk: Desk) -> None:
    gate = await team_of(desk, 10)
    sizes = [block.size if (block := await lease(desk, gate)) else 0 for _ in range(5)]
    assert sizes == [5, 3, 1, 1, 0]
    assert await active(desk, gate) == 10


async def test_a_block_is_no_larger_than_wanted(desk: Desk) -> None:
    block = await lease(desk, await team_of(desk, 10), 2)
    assert block is not None
    assert (block.size, block.once) == (2, False)
    assert await lease(desk, await team_of(desk, 11), 0) is None


async def test_queued_work_and_blocks_see_each_other(desk: Desk) -> None:
    gate = await team_of(desk, 4)
    await desk.start("a", "b", "c", "d", team=int(gate.name))
    first = await lease(desk, gate)
    assert first is not None
    assert first.size == 2
    assert len(await desk.claim(10)) == 2
    assert await lease(desk, gate) is None
    assert await keep(desk, first, 1)
    assert len(await desk.claim(10)) == 1
    assert await keep(desk, first, 0)
    assert len(await desk.claim(10)) == 1


async def test_a_host_has_no_more_room_than_its_slots(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=3, interval_us=0, global_interval_us=0))
    await desk.start("a", "b", "c")
    block = await lease(desk, HOST)
    assert block is not None
    assert (block.size, block.once) == (1, True), "a public host has a rate"
    assert len(await desk.claim(10)) == 2
    assert await lease(desk, HOST) is None
    assert await keep(desk, block, 0)
    assert len(await desk.claim(10)) == 1


async def test_nobody_goes_before_those_who_wait_at_a_host(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=2, interval_us=0, global_interval_us=0))
    await desk.start("a", "b", "c")
    first, _second = await desk.claim(10)
    assert await desk.claim(10) == []
    await desk.finish(first)
    assert await lease(desk, HOST) is None


async def test_a_slot_of_a_rate_is_one_request(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=8, interval_us=SECOND, burst=3, global_interval_us=0))
    for _ in range(3):
        block = await lease(desk, HOST)
        assert block is not None
        assert (block.size, block.once) == (1, True)
    assert await lease(desk, HOST) is None
    await desk.start("a")
    assert await desk.claim(10) == [], "the requests of the blocks were taken from the host's rate"
    desk.clock.advance(SECOND)
    assert len(await desk.claim(10)) == 1


async def test_a_block_ends_at_its_expiry_and_not_before(desk: Desk) -> None:
    gate = await team_of(desk, 2)
    block = await lease(desk, gate)
    assert block is not None
    desk.clock.advance(_LEASE - 1)
    await desk.store.reap([])
    assert await active(desk, gate) == 1
    desk.clock.advance(1)
    assert not await keep(desk, block, 1)
    await desk.store.reap([])
    assert await active(desk, gate) == 0


async def test_a_block_is_kept_by_word_of_anybody(bench: Bench, desk: Desk) -> None:
    gate = await team_of(desk, 2)
    block = await lease(desk, gate)
    assert block is not None
    twin = await bench.twin(desk)
    desk.clock.advance(_LEASE - 1)
    assert await keep(twin, block, 1)
    desk.clock.advance(_LEASE - 1)
    await twin.store.reap([])
    assert await active(desk, gate) == 1


async def test_a_block_outlives_the_worker_that_leased_it(desk: Desk) -> None:
    gate = await team_of(desk, 2)
    block = await lease(desk, gate)
    assert block is not None
    await desk.store.reap([desk.worker])
    assert await active(desk, gate) == 1, "others may use its slots"
    assert await keep(desk, block, 0)
    assert await active(desk, gate) == 0


async def test_the_dead_lease_no_block(desk: Desk) -> None:
    gate = await team_of(desk, 2)
    await desk.store.reap([desk.worker])
    assert await lease(desk, gate) is None
    assert await desk.store.lease_block(WorkerId(10**9), HOST, 1, lease_us=_LEASE) is None


async def test_a_block_never_grows_and_its_number_is_never_used_again(desk: Desk) -> None:
    gate = await team_of(desk, 4)
    block = await lease(desk, gate)
    assert block is not None
    assert await keep(desk, block, 100)
    assert await active(desk, gate) == 2
    assert await keep(desk, block, 0)
    assert not await keep(desk, block, 0)
    assert not await keep(desk, block, 1)
    again = await lease(desk, gate)
    assert again is not None
    assert again.id != block.id
    assert await active(desk, gate) == 2


async def test_a_limit_holds_for_many_that_lease_at_once(desk: Desk, bench: Bench) -> None:
    gate = await team_of(desk, 20)
    twin = await bench.twin(desk)
    await desk.start(*(f"p{n}" for n in range(20)), team=int(gate.name))

    async def some(who: Desk) -> list[int]:
        return [block.size for _ in range(4) if (block := await lease(who, gate, 3)) is not None]

    told = await asyncio.gather(some(desk), some(twin), some(desk), some(twin))
    claimed = len(await desk.claim(30))
    assert sum(map(sum, told)) + claimed == 20


async def test_a_bucket_begins_full_and_fills_evenly(desk: Desk) -> None:
    async def take() -> int:
        return await desk.store.take_token("team:1", SECOND, 3)

    assert [await take() for _ in range(4)] == [0, 0, 0, SECOND]
    desk.clock.advance(SECOND // 2)
    assert await take() == SECOND // 2
    desk.clock.advance(SECOND // 2)
    assert [await take(), await take()] == [0, SECOND]
    desk.clock.advance(100 * SECOND)
    assert [await take() for _ in range(4)] == [0, 0, 0, SECOND]
    assert await desk.store.take_token("team:2", SECOND, 1) == 0, "each key has its own"


async def test_a_bucket_may_begin_empty(desk: Desk) -> None:
    async def take(empty_for: int) -> int:
        return await desk.store.take_token("k", SECOND, 3, empty_for_us=empty_for)

    assert await take(0) == SECOND
    desk.clock.advance(SECOND)
    assert [await take(SECOND), await take(SECOND)] == [0, SECOND]
    desk.clock.advance(10 * SECOND)
    assert [await take(11 * SECOND) for _ in range(4)] == [0, 0, 0, SECOND]


async def test_a_bucket_is_shared_by_all_processes(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    waits = await asyncio.gather(*((desk, twin)[n % 2].store.take_token("k", SECOND, 10) for n in range(30)))
    assert sorted(waits).count(0) == 10


async def test_a_clock_that_is_set_back_shuts_nobody_out_for_long(desk: Desk) -> None:
    assert await desk.store.take_token("k", SECOND, 2) == 0
    desk.clock.advance(-3600 * SECOND)
    assert await desk.store.take_token("k", SECOND, 2) <= 2 * SECOND
    desk.clock.advance(2 * SECOND)
    assert await desk.store.take_token("k", SECOND, 2) == 0


async def test_blocks_are_counted_by_the_audit(desk: Desk) -> None:
    await desk.start(page("a"))
    gate = await team_of(desk, 3)
    assert await lease(desk, gate) is not None
    assert await lease(desk, Gate(GateKind.HOST, host_of("https://else.example/"))) is not None
    assert await desk.store.audit() == []
