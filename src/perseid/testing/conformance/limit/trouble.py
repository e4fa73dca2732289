"""A server that forgets, fills up, restarts or is away: no limit is exceeded, and all goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from perseid.testing.conformance.limit.backend import PAUSE_S, SOON_S, Bench, Losable, Process

Fault = Callable[[Losable], Awaitable[None]]


def _backend(bench: Bench) -> Losable:
    return cast("Losable", bench.backend)


async def _wipe(backend: Losable) -> None:
    await backend.wipe()


async def _crash(backend: Losable) -> None:
    await backend.crash()


async def _squeeze(backend: Losable) -> None:
    await backend.squeeze()


async def _cut(backend: Losable) -> None:
    await backend.cut()


async def _forget(backend: Losable) -> None:
    await backend.forget_scripts()


FAULTS = {"wipe": _wipe, "crash": _crash, "squeeze": _squeeze, "cut": _cut, "forget": _forget}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_limit_holds_through_any_fault_and_nothing_is_lost_for_good(bench: Bench, fault: str) -> None:
    gate = await bench.team(6)
    one, two = await bench.process(), await bench.process()
    assert await one.get_all(gate, 2) + await two.get_all(gate, 2) == 4
    await FAULTS[fault](_backend(bench))
    loop = asyncio.get_running_loop()
    end = loop.time() + 2.0
    while loop.time() < end:
        for process in (one, two):
            await process.get(gate)
            assert bench.live <= 6
            await process.tend()
        await bench.store.reap([])
        assert await bench.active(gate) <= 6
        await asyncio.sleep(0.02)
    await _backend(bench).mend()
    for process in (one, two):
        await process.free()
    await bench.reap_until(gate, 0)
    assert await _all_of(two, gate_size=6, bench=bench) == 6
    assert await bench.store.audit() == []


async def _all_of(process: Process, *, gate_size: int, bench: Bench) -> int:
    gate = await bench.team(gate_size + 100)
    return await process.get_all(gate, gate_size)


async def test_permits_held_through_a_wipe_count_until_their_end(bench: Bench) -> None:
    gate = await bench.team(4)
    one, two = await bench.process(), await bench.process()
    assert await one.get_all(gate, 4) == 4
    await _backend(bench).wipe()
    loop = asyncio.get_running_loop()
    end = loop.time() + SOON_S
    while await two.get(gate) is None:
        assert loop.time() < end, "the slots came free in the end"
        await bench.store.reap([])
        await asyncio.sleep(0.02)
    assert one.live + two.live <= 4
    assert one.live == 0


async def test_what_was_handed_out_since_a_backup_is_not_handed_out_again(bench: Bench) -> None:
    for most in range(8, 13):
        one, two = await bench.process(), await bench.process()
        gate = await bench.team(most)
        assert await one.get_all(gate, 4) == 4
        await one.free()
        backup = await _backend(bench).backup()
        assert await one.get_all(gate, most) == most
        await _backend(bench).restore(backup)
        assert await two.get_all(gate, most) == 0 or one.live + two.live <= most
        if one.live == most:
            return
    raise AssertionError("each time some of them had ended before the others were asked for")


async def test_a_silent_server_costs_little(bench: Bench) -> None:
    gate = await bench.team(4)
    process = await bench.process()
    _backend(bench).mute()
    began = asyncio.get_running_loop().time()
    assert await process.get_all(gate, 2) == 2
    assert await process.limits.take("a", interval_s=0.01, burst=3) >= 0
    assert asyncio.get_running_loop().time() - began < SOON_S
    await process.free()
    assert await bench.active(gate) == 0, "they were the store's own"
    await _backend(bench).mend()


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_rate_holds_through_any_fault(bench: Bench, fault: str) -> None:
    one, two = await bench.process(), await bench.process()
    loop = asyncio.get_running_loop()
    # All there is at the beginning is used up: no burst is left to hide another one.
    while await one.limits.take("a", interval_s=0.1, burst=8) == 0:
        pass
    began = loop.time()
    got, struck, mended = 0, False, False
    while loop.time() < began + 4.5:
        for process in (one, two):
            got += await process.limits.take("a", interval_s=0.1, burst=8) == 0
        await asyncio.sleep(PAUSE_S)
        if not struck and loop.time() > began + 1.0:
            struck = True
            await FAULTS[fault](_backend(bench))
        if not mended and loop.time() > began + 2.0:
            mended = True
            await _backend(bench).mend()
    assert 10 <= got <= (loop.time() - began) / 0.1 + 1
