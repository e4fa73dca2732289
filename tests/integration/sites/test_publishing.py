"""Publishing on a real store: versions, what goes back, what a folder of files becomes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from perseid.errors import NotFound, VersionConflict
from perseid.ports.configs import ConfigKind
from perseid.publishing.draft import draft
from perseid.publishing.folder import Folder, Step, Watched, watch
from perseid.publishing.publisher import Publisher, RuleFails
from perseid.testing.ground import give_back, open_store, take

RULE = ConfigKind.RULE
SHOP = "site_id: shop\nfields:\n  title: {css: %s, required: true}\n"
TESTED = SHOP + "tests: [{page: a.html, expect: {title: Blue shoes}}]\n"


@pytest.fixture
async def publisher(tmp_path: Path) -> AsyncIterator[Publisher]:
    ground = await take()
    store = await open_store(ground, tmp_path / "perseid.db")
    try:
        yield Publisher(store.configs, 1, author="ada")
    finally:
        await store.close()
        await give_back(ground)


async def test_versions_are_added_compared_restored_and_taken_out_of_use(publisher: Publisher) -> None:
    first = await publisher.publish(draft(RULE, SHOP % "h1"), message="begin")
    assert (first.version.version, first.fresh, first.version.author) == (1, True, "ada")
    same = await publisher.publish(draft(RULE, "selectors: {title: {css: h1, required: true}}\nsite_id: shop"))
    assert (same.version.version, same.fresh) == (1, False)
    second = await publisher.publish(draft(RULE, SHOP % "h2"), message="redesign", expected=1)
    assert second.version.version == 2
    with pytest.raises(VersionConflict):
        await publisher.publish(draft(RULE, SHOP % "h3"), expected=1)
    changes = [str(each) for each in await publisher.diff(RULE, "shop")]
    assert changes == ['~ fields.title.from[0].css: "h1" → "h2"']

    back = await publisher.rollback(RULE, "shop")
    assert (back.version.version, back.version.restores, back.version.body) == (3, 1, first.version.body)
    with pytest.raises(NotFound, match="no version before"):
        await publisher.rollback(RULE, "shop")
    assert (await publisher.rollback(RULE, "shop", 2)).version.version == 4
    assert [each.message for each in await publisher.history(RULE, "shop")] == [
        "back to version 2",
        "back to version 1",
        "redesign",
        "begin",
    ]

    await publisher.retire(RULE, "shop")
    with pytest.raises(NotFound, match="no rule 'shop'"):
        await publisher.head(RULE, "shop")
    assert await publisher.all_heads(RULE) == []
    assert (await publisher.version(RULE, "shop", 2)).body == second.version.body


async def test_a_rule_that_fails_its_tests_is_not_published(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<h1>Blue shoes</h1><h2>Others</h2>")
    await publisher.publish(draft(RULE, TESTED % "h1"), pages=tmp_path)
    with pytest.raises(RuleFails, match=r'a.html: items\[0\].title: expected "Blue shoes", found "Others"'):
        await publisher.publish(draft(RULE, TESTED % "h2"), pages=tmp_path)
    assert (await publisher.head(RULE, "shop")).version == 1
    assert (await publisher.publish(draft(RULE, TESTED % "h2"))).version.version == 2


async def test_what_nobody_has_published_yet_is_told(publisher: Publisher) -> None:
    text = SHOP % "h1" + "sinks: [warehouse]\nfetch: {proxies: eu}\n"
    done = await publisher.publish(draft(RULE, text))
    assert [note.partition(" names ")[2].partition(",")[0] for note in done.notes] == [
        "the sink 'warehouse'",
        "the proxy pool 'eu'",
    ]
    await publisher.publish(draft(ConfigKind.SINK, "connection: w", name="warehouse"))
    assert len((await publisher.publish(draft(RULE, text + "description: again\n"))).notes) == 1


async def test_a_folder_is_published_as_far_as_it_changed_and_makes_sense(publisher: Publisher, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    for name, text in {
        "rules/shop.yaml": SHOP % "h1",
        "rules/api.json": '{"site_id": "api", "fields": {"t": {"jsonpath": "$.t", "required": true}},'
        ' "tests": [{"page": "page.json", "expect": {"t": "x"}}]}',
        "rules/page.json": '{"t": "x"}',
        "rules/twice.yaml": SHOP % "h2",
        "sinks/w.yaml": "connection: w\n",
        "sinks/broken.yaml": "connection: w\nmode: [\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    kept = Folder(publisher, folder)
    steps = {str(step.source.path.relative_to(folder)): step async for step in kept.sync(message="all")}
    assert {name: (step.outcome, step.name) for name, step in steps.items()} == {
        "rules/shop.yaml": ("published", "shop"),
        "rules/api.json": ("published", "api"),
        "rules/twice.yaml": ("refused", "shop"),
        "sinks/w.yaml": ("published", "w"),
        "sinks/broken.yaml": ("refused", ""),
    }
    assert "broken.yaml:3:1: error" in steps["sinks/broken.yaml"].message
    assert {step.outcome async for step in kept.sync()} == {"unchanged", "refused"}


async def test_a_watched_file_is_published_when_it_changes_and_a_broken_one_leaves_what_was(
    publisher: Publisher, tmp_path: Path
) -> None:
    file = tmp_path / "rules" / "shop.yaml"
    file.parent.mkdir()
    file.write_text(SHOP % "h1")
    kept, watched = Folder(publisher, file.parent, RULE), Watched(file.parent, RULE)
    assert [step.outcome async for step in kept.sync()] == ["published"]
    file.write_text(SHOP % "h4")  # before anybody says that it is watched
    steps: asyncio.Queue[Step] = asyncio.Queue()

    async def follow() -> None:
        async for step in watch(kept, watched, every_s=0.01):
            steps.put_nowait(step)

    watching = asyncio.create_task(follow())
    try:
        assert (await asyncio.wait_for(steps.get(), 30)).version == 2
        for number, text in enumerate((SHOP % "h2", "site_id: shop\nfields: [", SHOP % "h3")):
            file.write_text(text)
            os.utime(file, ns=(number, number))
            step = await asyncio.wait_for(steps.get(), 30)
            assert step.outcome == ("refused" if number == 1 else "published")
        assert [each.version for each in await publisher.history(RULE, "shop")] == [4, 3, 2, 1]
    finally:
        watching.cancel()
