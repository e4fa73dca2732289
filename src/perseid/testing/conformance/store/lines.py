"""The lines of sinks: one batch of each is out at a time, and what is durable leaves the line, nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.items import Batch
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk
from perseid.testing.conformance.store.harvests import bring, harvest, site

LEASE = 60 * SECOND


async def line(desk: Desk, *items: str | tuple[str, str], sinks: tuple[str, ...] = ("out",), **fields: Any) -> None:
    await bring(desk, await harvest(desk, *items, sinks=sinks, **fields))


async def take(desk: Desk, **fields: Any) -> Batch | None:
    return await desk.store.items.take_batch(**{"limit": 100, "lease_us": LEASE, **fields})


async def taken(desk: Desk, **fields: Any) -> Batch:
    batch = await take(desk, **fields)
    assert batch is not None
    return batch


async def waiting(desk: Desk, team: int = 1) -> dict[str, int]:
    return {state.name: state.waiting for state in await desk.store.items.sink_states(team)}


def keys(batch: Batch) -> list[str]:
    return [item.key for item in batch.items]


async def test_items_stand_in_the_line_of_each_sink_once(desk: Desk) -> None:
    await line(desk, "a", "b", sinks=("one", "two"))
    desk.clock.advance(SECOND)
    await line(desk, "b", "c", sinks=("two", "three"))
    assert await waiting(desk) == {"one": 2, "two": 3, "three": 2}
    await line(desk, "b", sinks=("one",), fetched_at=desk.clock.now - 1)
    assert await waiting(desk) == {"one": 2, "two": 3, "three": 2}, "an older fetch is nothing to tell of"


async def test_a_batch_has_the_items_as_they_are_now_in_the_order_of_their_changes(desk: Desk) -> None:
    await line(desk, ("a", "1"), ("b", "1"))
    desk.clock.advance(SECOND)
    await line(desk, ("a", "2"))
    batch = await taken(desk)
    assert [(item.key, item.fields) for item in batch.items] == [("b", b"1"), ("a", b"2")]
    assert (batch.team, batch.name, batch.position, batch.number, batch.attempts) == (1, "out", b"", 0, 0)
    assert batch.items[1] == await desk.store.items.item(1, "shop", "a")


async def test_a_sink_that_is_taken_is_nobody_elses(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await line(desk, "a", "b", "c")
    batch = await taken(desk, limit=1)
    assert len(batch.items) == 1
    assert await take(desk) is await take(twin) is None
    assert await desk.store.items.next_batch_us() == LEASE
    assert await desk.store.items.settle_batch(batch, position=b"")
    assert await desk.store.items.next_batch_us() == 0
    rest = await taken(twin)
    assert {*keys(batch), *keys(rest)} == {"a", "b", "c"}


async def test_what_is_settled_leaves_the_line_and_the_next_batch_begins_behind_it(desk: Desk) -> None:
    await line(desk, "a", "b", "c")
    first = await taken(desk, limit=2)
    assert await desk.store.items.settle_batch(first, position=b"\0\xff")
    assert not await desk.store.items.settle_batch(first, position=b"again")
    second = await taken(desk)
    assert (second.position, second.number, len(second.items)) == (b"\0\xff", 1, 1)
    assert await desk.store.items.settle_batch(second, position=b"2")
    assert await take(desk) is None
    assert await desk.store.items.next_batch_us() is None
    (state,) = await desk.store.items.sink_states(1)
    assert (state.settled, state.waiting, state.error) == (2, 0, "")


async def test_what_changed_meanwhile_stays_in_line(desk: Desk) -> None:
    await line(desk, ("a", "1"), ("b", "1"))
    batch = await taken(desk)
    desk.clock.advance(SECOND)
    await line(desk, ("a", "2"), ("c", "1"))
    assert await desk.store.items.settle_batch(batch, position=b"")
    assert sorted(keys(await taken(desk))) == ["a", "c"]


async def test_a_lease_that_ran_out_is_anybodys_and_its_holder_settles_nothing(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await line(desk, "a")
    lost = await taken(desk)
    desk.clock.advance(LEASE)
    again = await taken(twin)
    assert keys(again) == ["a"]
    assert not await desk.store.items.settle_batch(lost, position=b"lost")
    assert not await desk.store.items.put_back_batch(lost, in_us=SECOND, error="lost")
    assert await waiting(desk) == {"out": 1}
    assert await twin.store.items.settle_batch(again, position=b"kept")
    await line(desk, "b")
    assert (await taken(desk)).position == b"kept"


async def test_what_a_dead_worker_had_taken_is_anybodys_at_once(desk: Desk) -> None:
    await line(desk, "a")
    dead = await desk.store.register("here", 1001, 1)
    lost = await desk.store.items.take_batch(limit=10, lease_us=LEASE, worker=dead)
    assert lost is not None
    await desk.store.reap([desk.worker])
    assert await desk.store.items.take_batch(limit=10, lease_us=LEASE) is None, "its holder lives"
    await desk.store.reap([dead])
    assert keys(await taken(desk)) == ["a"]
    assert not await desk.store.items.settle_batch(lost, position=b"lost")


async def test_a_lease_that_ran_out_and_that_nobody_took_is_still_its_holders(desk: Desk) -> None:
    await line(desk, "a")
    batch = await taken(desk)
    desk.clock.advance(2 * LEASE)
    assert await desk.store.items.settle_batch(batch, position=b"")
    assert await waiting(desk) == {"out": 0}


async def test_a_sink_that_failed_is_held_and_holds_up_no_other(desk: Desk) -> None:
    items = desk.store.items
    await line(desk, "a", sinks=("down",))
    batch = await taken(desk)
    assert await items.put_back_batch(batch, in_us=10 * SECOND, error="away \0\ud800")
    assert await take(desk) is None
    assert await items.next_batch_us() == 10 * SECOND
    await line(desk, "a", "b", sinks=("up",), fetched_at=desk.clock.now + 1)
    other = await taken(desk)
    assert other.name == "up"
    assert await items.settle_batch(other, position=b"")
    desk.clock.advance(10 * SECOND)
    again = await taken(desk)
    assert (again.name, again.attempts, keys(again)) == ("down", 1, ["a"])
    down, _up = await items.sink_states(1)
    assert (down.attempts, down.error[:5], down.held_until) == (1, "away ", desk.clock.now)
    assert await items.settle_batch(again, position=b"")
    down, _up = await items.sink_states(1)
    assert (down.attempts, down.error, down.held_until) == (0, "", 0)


async def test_a_sink_that_was_mended_is_held_no_longer(desk: Desk) -> None:
    items = desk.store.items
    assert not await items.try_sink(1, "unknown")
    await line(desk, "a")
    assert not await items.try_sink(1, "out"), "nobody held it"
    await items.put_back_batch(await taken(desk), in_us=10 * SECOND, error="away")
    assert not await items.try_sink(2, "out"), "another team's"
    assert await take(desk) is None
    assert await items.try_sink(1, "out")
    batch = await taken(desk)
    assert batch.attempts == 0
    await items.put_back_batch(batch, in_us=10 * SECOND, error="still away")
    assert await take(desk) is None
    for body in (b"{1}", b"{2}"):
        other = NewVersion(team=1, kind=ConfigKind.RULE, name="out", body=body)
        await desk.store.configs.publish(other)
    assert await take(desk) is None, "no sink was published"
    await desk.store.configs.publish(NewVersion(team=1, kind=ConfigKind.SINK, name="out", body=b"{}"))
    assert keys(await taken(desk)) == ["a"]


async def test_sinks_take_turns(desk: Desk) -> None:
    names = ("one", "two", "three")
    await line(desk, *(f"{n}" for n in range(6)), sinks=names)
    turns = []
    for _ in range(6):
        desk.clock.advance(1)
        batch = await taken(desk, limit=1)
        turns.append(batch.name)
        assert await desk.store.items.settle_batch(batch, position=b"")
    assert turns[:3] == turns[3:]
    assert sorted(turns[:3]) == sorted(names)


async def test_a_certain_sink_may_be_asked_for(desk: Desk) -> None:
    await line(desk, "a", sinks=("one", "two"))
    await line(desk, "a", sinks=("two",), team=2)
    batch = await taken(desk, of=(2, "two"))
    assert (batch.team, batch.name) == (2, "two")
    assert await take(desk, of=(2, "two")) is await take(desk, of=(1, "none")) is None
    assert (await taken(desk, of=(1, "two"))).team == 1


async def test_all_items_may_be_put_in_line_for_a_new_sink(desk: Desk) -> None:
    await line(desk, *(f"{n}" for n in range(5)), sinks=())
    await line(desk, "x", sinks=(), site=await site(desk, "news"))
    await line(desk, "y", sinks=(), team=2)
    items = desk.store.items
    assert await items.line_up(1, "new", site="news") == 1
    assert await items.line_up(1, "new", chunk=2) == 6
    assert await waiting(desk) == {"new": 6}
    batch = await taken(desk, limit=100)
    assert len(batch.items) == 6
    assert await items.settle_batch(batch, position=b"")
    assert await items.line_up(1, "new", site="nowhere") == 0


async def test_who_is_in_line_stands_there_once_and_leaves_it_though_it_was_put_there_again(desk: Desk) -> None:
    await line(desk, "a")
    desk.clock.advance(SECOND)
    await line(desk, ("a", "2"))
    batch = await taken(desk)
    assert await desk.store.items.line_up(1, "out") == 1
    assert await desk.store.items.settle_batch(batch, position=b"")
    assert await waiting(desk) == {"out": 0}


async def test_a_sink_that_is_not_wanted_any_more_lets_its_items_go(desk: Desk) -> None:
    items = desk.store.items
    await line(desk, "a", "b", sinks=("gone", "stays"))
    batch = await taken(desk, of=(1, "gone"))
    assert await items.leave_line(1, "gone") == 2
    assert await items.leave_line(1, "gone") == await items.leave_line(1, "unknown") == 0
    assert not await items.settle_batch(batch, position=b"")
    assert await waiting(desk) == {"gone": 0, "stays": 2}


async def test_two_takers_of_many_sinks_write_each_item_once(desk: Desk, bench: Bench) -> None:
    """Nothing is taken by both, though they never wait for each other."""
    desks = [desk, await bench.twin(desk)]
    sinks = tuple(f"s{n}" for n in range(4))
    await line(desk, *(f"{n}" for n in range(20)), sinks=sinks)
    written: list[tuple[str, int]] = []

    async def work(each: Desk) -> None:
        while await each.store.items.next_batch_us() is not None:
            batch = await take(each, limit=3)
            if batch is not None:
                written.extend((batch.name, item.id) for item in batch.items)
                assert await each.store.items.settle_batch(batch, position=b"")

    await asyncio.gather(*map(work, desks))
    assert len(set(written)) == len(written) == len(sinks) * 20


async def test_settling_while_the_same_items_change_loses_none(desk: Desk, bench: Bench) -> None:
    twin, names = await bench.twin(desk), [f"k{n}" for n in range(20)]
    newest: dict[str, bytes] = {}
    writing = True

    async def change() -> None:
        for turn in range(10):
            order = names if turn % 2 else names[::-1]
            await line(desk, *((name, f"{turn}") for name in order), rule_version=turn + 1)

    async def sink() -> None:
        last = False
        while not last:
            last = not writing
            while batch := await take(twin, limit=7):
                newest.update((item.key, item.fields) for item in batch.items)
                assert await twin.store.items.settle_batch(batch, position=b"")

    sinking = asyncio.create_task(sink())
    try:
        await change()
    finally:
        writing = False
        await sinking
    assert newest == dict.fromkeys(names, b"9")
