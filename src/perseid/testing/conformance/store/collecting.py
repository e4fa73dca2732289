"""Whatever tasks bring, in whatever order, and whatever sinks do meanwhile: the store agrees with a small model."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, NamedTuple, TypeVar
from unittest import TestCase

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from perseid.ports.items import Batch, Harvest, NewException, NewItem
from perseid.ports.work import Done, Finished
from perseid.testing.conformance.store.backend import SECOND, HandClock, NewBackend
from perseid.testing.conformance.store.desk import FREE, Desk, page
from perseid.testing.conformance.store.harvests import kept, site, tasks

T = TypeVar("T")
SINKS = ("one", "two")
URLS = [page(name).url for name in "abc"]
KEYS = ("k", "l", "m", "n")
LEASE_US = 10 * SECOND
_EXAMPLES = 8
sides = st.integers(0, 1)
picks = st.integers(0, 10**6)


class Read(NamedTuple):
    """One page as it was read; its content follows from when it was fetched and by what it was read."""

    url: str
    age: int
    version: int
    keys: tuple[str, ...]
    broken: tuple[str, ...]
    is_kept: bool

    def content(self, key: str, fetched_at: int) -> bytes:
        return f"{key} {fetched_at} {self.version}".encode()


READS = st.builds(
    Read,
    st.sampled_from(URLS),
    st.integers(0, 3),
    st.integers(1, 3),
    st.lists(st.sampled_from(KEYS), unique=True, max_size=3).map(tuple),
    st.lists(st.sampled_from(KEYS), unique=True, max_size=2).map(tuple),
    st.booleans(),
)


@dataclass
class PageModel:
    fetched_at: int
    version: int
    is_kept: bool
    broken: dict[str, int]
    """Keys with the version that complained."""


class ItemModel(NamedTuple):
    fetched_at: int
    version: int
    content: bytes


@dataclass
class SinkModel:
    line: dict[str, int] = field(default_factory=dict)
    """Keys in line, with the number of the change that put them there."""
    busy_until: int = 0
    held_until: int = 0
    lock: int = 0
    failed: int = 0


class Taken(NamedTuple):
    batch: Batch
    changes: dict[str, int]
    """As the model had them when it was taken."""


class CollectingMachine(RuleBasedStateMachine):
    """Moves are made through either of two stores on one database."""

    new_backend: ClassVar[NewBackend]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.pages: dict[str, PageModel] = {}
        self.items: dict[str, ItemModel] = {}
        self.sinks: dict[str, SinkModel] = {}
        self.taken: list[Taken] = []
        self.changes = count(1)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def open(self) -> None:
        async def opened() -> list[Desk]:
            backend, clock = type(self).new_backend(), HandClock()
            return [await Desk.open(backend, clock, FREE) for _ in range(2)]

        self.desks = self.run(opened())
        self.clock = self.desks[0].clock
        self.site = self.run(site(self.desks[0]))

    def teardown(self) -> None:
        if hasattr(self, "desks"):
            for desk in self.desks:
                self.run(desk.store.close())
            self.run(self.desks[0].backend.dispose())
        self.runner.close()

    # What tasks bring

    @rule(side=sides, reads=st.lists(READS, min_size=1, max_size=3, unique_by=lambda read: read.url))
    def bring(self, side: int, reads: list[Read]) -> None:
        async def ended() -> list[bool]:
            leases = await tasks(self.desks[side], *(f"{n}" for n in range(len(reads))))
            finished = [
                Finished(lease=lease, end=Done(), harvest=self._harvest(read, self._at(read)))
                for lease, read in zip(leases, reads, strict=True)
            ]
            return (await self.desks[side].step(finished)).kept

        assert all(self.run(ended()))
        for read in reads:
            self._learn(read, self._at(read))

    @rule(side=sides, read=READS, anew=st.booleans())
    def read_again(self, side: int, read: Read, *, anew: bool) -> None:
        """The page as it is, or as it was when it was fetched before."""
        known = self.pages.get(read.url)
        fetched_at = 1 if known is None else known.fetched_at - anew
        self.run(self.desks[side].store.items.reread([self._harvest(read._replace(is_kept=False), fetched_at)]))
        if known is not None and not anew:
            self._learn(read._replace(is_kept=False), fetched_at)

    def _at(self, read: Read) -> int:
        return self.clock.now - read.age * SECOND

    def _harvest(self, read: Read, fetched_at: int) -> Harvest:
        return Harvest(
            team=1,
            site=self.site,
            rule_version=read.version,
            url=read.url,
            fetched_at=fetched_at,
            page=kept() if read.is_kept else None,
            items=[NewItem(key, read.content(key, fetched_at)) for key in read.keys],
            exceptions=[NewException(key, b"{}", b"[]", "r") for key in read.broken],
            sinks=SINKS,
        )

    def _learn(self, read: Read, fetched_at: int) -> None:
        known, when = self.pages.get(read.url), (fetched_at, read.version)
        if known is None or when >= (known.fetched_at, known.version):
            stays = known is not None and known.is_kept and known.fetched_at == fetched_at
            broken = dict.fromkeys(read.broken, read.version)
            self.pages[read.url] = PageModel(*when, read.is_kept or stays, broken)
        for key in read.keys:
            item = self.items.get(key)
            if item is None or when > (item.fetched_at, item.version):
                self.items[key] = ItemModel(*when, read.content(key, fetched_at))
                change = next(self.changes)
                for name in SINKS:
                    self.sinks.setdefault(name, SinkModel()).line[key] = change

    # What is done with it

    @rule(side=sides)
    def drop_exceptions(self, side: int) -> None:
        dropped = self.run(self.desks[side].store.items.drop_exceptions(1, site="shop", rule_version=1))
        assert dropped == sum(version == 1 for page in self.pages.values() for version in page.broken.values())
        for page_model in self.pages.values():
            page_model.broken = {key: version for key, version in page_model.broken.items() if version != 1}

    @rule(side=sides)
    def forget_pages(self, side: int) -> None:
        before = self.clock.now - 2 * SECOND
        old = [url for url, known in self.pages.items() if known.fetched_at < before and not known.broken]
        assert self.run(self.desks[side].store.items.forget_pages(fetched_before=before)) == len(old)
        for url in old:
            del self.pages[url]

    @rule(side=sides)
    def line_up(self, side: int) -> None:
        self.run(self.desks[side].store.items.line_up(1, "one", chunk=2))
        line = self.sinks.setdefault("one", SinkModel()).line
        for key in self.items:
            line.setdefault(key, 0)

    @rule(side=sides, limit=st.integers(1, 3))
    def take(self, side: int, limit: int) -> None:
        batch = self.run(self.desks[side].store.items.take_batch(limit=limit, lease_us=LEASE_US))
        now = self.clock.now
        free = {
            name for name, sink in self.sinks.items() if sink.line and sink.busy_until <= now and sink.held_until <= now
        }
        if batch is None:
            assert not free
            return
        assert batch.name in free
        sink = self.sinks[batch.name]
        keys = [item.key for item in batch.items]
        assert len(keys) == min(limit, len(sink.line))
        assert batch.attempts == sink.failed
        for item in batch.items:
            assert item.fields == self.items[item.key].content
        sink.lock, sink.busy_until = batch.lock, now + LEASE_US
        self.taken.append(Taken(batch, {key: sink.line[key] for key in keys}))

    @precondition(lambda self: self.taken)
    @rule(side=sides, pick=picks)
    def settle(self, side: int, pick: int) -> None:
        batch, changes = self.taken[pick % len(self.taken)]
        sink = self.sinks[batch.name]
        ours = sink.lock == batch.lock
        assert self.run(self.desks[side].store.items.settle_batch(batch, position=b"p")) is ours
        if ours:
            sink.lock = sink.busy_until = sink.held_until = sink.failed = 0
            sink.line = {key: change for key, change in sink.line.items() if changes.get(key) != change}

    @precondition(lambda self: self.taken)
    @rule(side=sides, pick=picks, seconds=st.sampled_from([0, 5]))
    def put_back(self, side: int, pick: int, seconds: int) -> None:
        batch = self.taken[pick % len(self.taken)].batch
        sink = self.sinks[batch.name]
        ours = sink.lock == batch.lock
        put = self.desks[side].store.items.put_back_batch(batch, in_us=seconds * SECOND, error="away")
        assert self.run(put) is ours
        if ours:
            sink.lock = sink.busy_until = 0
            sink.held_until = self.clock.now + seconds * SECOND
            sink.failed += 1

    @rule(seconds=st.sampled_from([1, 3, 11]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds * SECOND)

    # What always holds

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "desks"):
            self.run(self._agrees())

    async def _agrees(self) -> None:
        items = self.desks[0].store.items
        found = await items.items(1)
        assert {it.key: ItemModel(it.fetched_at, it.rule_version, it.fields) for it in found} == self.items
        numbers = [it.change for it in found]
        assert numbers == sorted(set(numbers))
        broken = {(row.url, row.key, row.rule_version) for row in await items.exceptions(1)}
        assert broken == {(url, *one) for url, known in self.pages.items() for one in known.broken.items()}
        pages = {row.url: (row.page.fetched_at, row.rule_version) for row in await items.pages(self.site)}
        assert pages == {url: (it.fetched_at, it.version) for url, it in self.pages.items() if it.is_kept}
        waiting = {state.name: state.waiting for state in await items.sink_states(1) if state.waiting}
        assert waiting == {name: len(sink.line) for name, sink in self.sinks.items() if sink.line}
        due = [max(sink.busy_until, sink.held_until) for sink in self.sinks.values() if sink.line]
        assert await items.next_batch_us() == (max(0, min(due) - self.clock.now) if due else None)


def collecting_test(backend: NewBackend) -> type[TestCase]:
    """The machine as a test case; how long it runs is up to the profile of Hypothesis that is loaded."""

    class BoundMachine(CollectingMachine):
        new_backend = staticmethod(backend)

    case: type[TestCase] = BoundMachine.TestCase
    current = settings.default
    assert current is not None
    most = current.max_examples if current.max_examples > 100 else min(_EXAMPLES, current.max_examples)
    BoundMachine.TestCase.settings = settings(
        deadline=None,
        max_examples=most,
        stateful_step_count=25,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    return case
