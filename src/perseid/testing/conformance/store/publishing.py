"""What is published: versions are only added, each object has one in use, and everybody hears of changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perseid.errors import VersionConflict
from perseid.ports.configs import Changed, ConfigKind, NewVersion, Version
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk

RULE = ConfigKind.RULE


def new(body: bytes, name: str = "news", **fields: Any) -> NewVersion:
    return NewVersion(**{"team": 1, "kind": RULE, "name": name, "body": body, **fields})


async def test_versions_are_dense_and_the_newest_is_in_use(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    one = await desk.store.configs.publish(new(b"{1}", author="ann", message="first"))
    assert one == Version(
        team=1, kind=RULE, name="news", version=1, body=b"{1}", author="ann", message="first", restores=None,
        at=desk.clock.now,
    )  # fmt: skip
    desk.clock.advance(SECOND)
    two = await twin.store.configs.publish(new(b"{2}"))
    assert (two.version, two.at) == (2, desk.clock.now)
    assert await desk.store.configs.head(1, RULE, "news") == two
    assert await twin.store.configs.version(1, RULE, "news", 1) == one
    assert await desk.store.configs.version(1, RULE, "news", 3) is None
    assert await desk.store.configs.history(1, RULE, "news") == [two, one]
    assert await desk.store.configs.history(1, RULE, "news", before=2, limit=1) == [one]


async def test_the_same_body_is_no_new_version(desk: Desk) -> None:
    one = await desk.store.configs.publish(new(b"{1}", author="ann"))
    counter = await desk.store.configs.changed()
    desk.clock.advance(SECOND)
    assert await desk.store.configs.publish(new(b"{1}", author="bob")) == one
    assert await desk.store.configs.changed() == counter


async def test_a_rollback_is_a_version_of_its_own(desk: Desk) -> None:
    for body in (b"{1}", b"{2}"):
        await desk.store.configs.publish(new(body))
    three = await desk.store.configs.publish(new(b"{1}", restores=1))
    assert (three.version, three.restores, three.body) == (3, 1, b"{1}")


async def test_who_publishes_on_top_of_something_else_is_told(desk: Desk) -> None:
    with pytest.raises(VersionConflict, match="none is in use, not version 1"):
        await desk.store.configs.publish(new(b"{1}", expected=1))
    await desk.store.configs.publish(new(b"{1}", expected=0))
    for expected in (0, 2):
        with pytest.raises(VersionConflict, match="version 1 is in use"):
            await desk.store.configs.publish(new(b"{2}", expected=expected))
    assert (await desk.store.configs.publish(new(b"{2}", expected=1))).version == 2


async def test_one_of_many_that_publish_on_the_same_version_wins(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await desk.store.configs.publish(new(b"{}"))
    sides = [desk.store.configs, twin.store.configs] * 4
    outcomes = await asyncio.gather(
        *(side.publish(new(b"{%d}" % n, expected=1)) for n, side in enumerate(sides)), return_exceptions=True
    )
    won = [outcome for outcome in outcomes if isinstance(outcome, Version)]
    assert [version.version for version in won] == [2]
    assert sum(isinstance(outcome, VersionConflict) for outcome in outcomes) == 7
    assert await desk.store.configs.head(1, RULE, "news") == won[0]


async def test_many_that_publish_at_once_leave_no_gap(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    sides = [desk.store.configs, twin.store.configs] * 6
    await asyncio.gather(*(side.publish(new(b"{%d}" % n, f"s{n % 2}")) for n, side in enumerate(sides)))
    for name in ("s0", "s1"):
        history = await desk.store.configs.history(1, RULE, name)
        assert [version.version for version in history] == [6, 5, 4, 3, 2, 1]
    counter, changed = await twin.store.configs.changed_since(0)
    assert counter == await desk.store.configs.changed() == 12
    assert [(it.name, it.version) for it in sorted(changed)] == [("s0", 6), ("s1", 6)]


async def test_a_retired_object_is_used_by_nobody_until_it_is_published_again(desk: Desk) -> None:
    configs = desk.store.configs
    assert not await configs.retire(1, RULE, "news")
    await configs.publish(new(b"{1}"))
    counter = await configs.changed()
    assert await configs.retire(1, RULE, "news")
    assert not await configs.retire(1, RULE, "news")
    assert await configs.head(1, RULE, "news") is None
    assert await configs.heads(1, RULE) == []
    assert (await configs.changed_since(counter))[1] == [Changed(1, RULE, "news", 0)]
    assert [version.version for version in await configs.history(1, RULE, "news")] == [1]
    assert await configs.version(1, RULE, "news", 1) is not None
    with pytest.raises(VersionConflict):
        await configs.publish(new(b"{1}", expected=1))
    assert (await configs.publish(new(b"{1}", expected=0))).version == 2
    assert [version.version for version in await configs.heads(1, RULE)] == [2]


async def test_objects_are_told_apart_by_team_kind_and_name(desk: Desk) -> None:
    configs = desk.store.configs
    await configs.publish(new(b"{1}"))
    await configs.publish(new(b"{2}", team=2))
    await configs.publish(new(b"{3}", kind=ConfigKind.SINK))
    await configs.publish(new(b"{4}", "News"))
    found = [await configs.head(1, RULE, "news"), await configs.head(2, RULE, "news")]
    assert [version.body for version in found if version] == [b"{1}", b"{2}"]
    assert [version.body for version in await configs.heads(1, ConfigKind.SINK)] == [b"{3}"]


async def test_objects_in_use_are_listed_by_name(desk: Desk) -> None:
    names = ["b", "B", "a-1", "é", "a", "ab", "_"]
    for name in names:
        await desk.store.configs.publish(new(name.encode(), name))
    seen: list[str] = []
    while page := await desk.store.configs.heads(1, RULE, after=seen[-1] if seen else "", limit=3):
        seen += [version.name for version in page]
    assert seen == sorted(names)


async def test_whoever_asks_hears_of_each_changed_object_once(desk: Desk) -> None:
    configs = desk.store.configs
    assert (await configs.changed(), await configs.changed_since(0)) == (0, (0, []))
    for n in range(5):
        await configs.publish(new(b"{}", f"s{n}"))
    counter, some = await configs.changed_since(0, limit=3)
    assert [it.name for it in some] == ["s0", "s1", "s2"]
    assert counter < await configs.changed()
    await configs.publish(new(b"{1}", "s4"))
    await configs.publish(new(b"{1}", "s0"))
    counter, rest = await configs.changed_since(counter)
    assert rest == [Changed(1, RULE, "s3", 1), Changed(1, RULE, "s4", 2), Changed(1, RULE, "s0", 2)]
    assert counter == await configs.changed()
    assert await configs.changed_since(counter) == (counter, [])


@pytest.mark.parametrize("bad", ["\0", "\ud800", "😀" * 200, "'; DROP TABLE config; --"])
async def test_strange_names_and_texts_are_kept_or_cleaned(desk: Desk, bad: str) -> None:
    version = await desk.store.configs.publish(new(b"\0\xff", f"n{bad}", author=bad, message=bad))
    assert await desk.store.configs.head(1, RULE, f"n{bad}") == version
    assert version.body == b"\0\xff"
