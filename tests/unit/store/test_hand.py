import asyncio
import threading
import time

import pytest

from perseid.errors import StoreError
from perseid.store.sqlite.hand import Hand


async def test_work_is_done_elsewhere_one_piece_after_the_other() -> None:
    hand = Hand("there")
    seen: list[int] = []
    names = await asyncio.gather(
        *[hand.do(lambda n=n: (seen.append(n), threading.current_thread().name)[1]) for n in range(50)]
    )
    await hand.stop()
    assert set(names) == {"there"}
    assert seen == list(range(50))


async def test_an_error_is_that_of_whoever_asked() -> None:
    hand = Hand("there")

    def fail() -> None:
        raise ZeroDivisionError("mine")

    failing, fine = asyncio.create_task(hand.do(fail)), asyncio.create_task(hand.do(lambda: 7))
    with pytest.raises(ZeroDivisionError, match="mine"):
        await failing
    assert await fine == 7
    await hand.stop()


async def test_what_was_given_up_before_it_began_is_not_done() -> None:
    hand = Hand("there")
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def first() -> None:
        begun.set()
        go_on.wait()
        done.append("first")

    tasks = [asyncio.create_task(hand.do(first)), asyncio.create_task(hand.do(lambda: done.append("second")))]
    await asyncio.to_thread(begun.wait)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    go_on.set()
    await hand.stop()
    assert done == ["first"]


async def test_stopping_waits_for_what_was_ordered() -> None:
    hand = Hand("there")
    done: list[int] = []
    tasks = [asyncio.create_task(hand.do(lambda n=n: done.append(n))) for n in range(3)]
    await asyncio.sleep(0)
    await hand.stop()
    assert done == [0, 1, 2]
    await asyncio.gather(*tasks)


async def test_who_asks_one_that_has_stopped_is_told() -> None:
    hand = Hand("there")
    await hand.stop()
    with pytest.raises(StoreError, match="was closed"):
        await hand.do(lambda: 7)


def _whose() -> str:
    return threading.current_thread().name


async def test_brief_work_is_done_by_who_asks() -> None:
    hand = Hand("there")
    assert await hand.do(_whose, brief=True) == _whose()
    with pytest.raises(ZeroDivisionError):
        await hand.do(lambda: 1 // 0, brief=True)
    assert await hand.do(_whose, brief=True) == _whose()
    assert await hand.do(_whose) == "there"
    await hand.stop()


async def test_brief_work_lets_others_have_a_turn() -> None:
    hand = Hand("there")
    turns: list[str] = []

    async def often(name: str) -> None:
        for _ in range(3):
            await hand.do(lambda: turns.append(name), brief=True)

    await asyncio.gather(often("a"), often("b"))
    assert turns == ["a", "b"] * 3
    await hand.stop()


async def test_brief_work_waits_its_turn_behind_what_is_under_way() -> None:
    hand = Hand("there")
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def long() -> None:
        begun.set()
        go_on.wait()
        done.append("long")

    def brief() -> str:
        done.append("brief")
        return _whose()

    first = asyncio.create_task(hand.do(long))
    await asyncio.to_thread(begun.wait)
    second = asyncio.create_task(hand.do(brief, brief=True))
    await asyncio.sleep(0.01)
    assert done == []
    go_on.set()
    assert await second == "there"
    await first
    assert done == ["long", "brief"]
    await hand.stop()


async def test_brief_work_that_had_to_wait_is_sent_away_for_a_while() -> None:
    hand = Hand("there")
    await hand.do(lambda: time.sleep(0.05), brief=True)
    where = [await hand.do(_whose, brief=True) for _ in range(150)]
    assert where[0] == "there"
    assert where[-1] == _whose()
    await hand.stop()
