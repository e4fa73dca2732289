"""When a process asks what is there before it writes, and what it makes of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.ports.work import Finished, Lease
from perseid.store.postgres.memory import Memory
from perseid.store.postgres.nature import Nature
from perseid.store.postgres.recall import recall
from perseid.store.seen import spelling
from perseid.testing.conformance.store.desk import ended, links, page

CRAWL = CrawlId(5)
LINKS = links(*(f"p{n}" for n in range(30)))


class Server:
    """Knows all links but the last one it is asked for; `during` happens while it answers."""

    def __init__(self, during: Callable[[], None] = lambda: None) -> None:
        self.asked: list[list[Any]] = []
        self.during = during

    async def __call__(self, _statement: str, *columns: Any) -> list[int]:
        self.asked.append([len(columns[0]), columns[2][0]])
        self.during()
        return list(range(1, len(columns[0])))


def memory_of(known: int, *, keeps: bool = True, **nature: Any) -> Memory:
    """Of a process for which of late `known` of ten new links had been there."""
    memory = Memory(keeps=keeps)
    memory.know(Nature(CRAWL, "crawl", nature.get("max_depth"), bool(nature.get("keep_variants"))))
    for _ in range(20):
        memory.note_others(known, 10)
    return memory


def finished(count: int = 30) -> list[Finished]:
    lease = Lease(
        job=JobId(1), crawl=CRAWL, lock=LockToken(1), kind=JobKind.PAGE, url=page("a").url, key=1, depth=0, host="h",
        gap_us=0, attempts=0, stalls=0, counted=True, payload="", hops=b"", expires_at=0,
    )  # fmt: skip
    return [ended(lease, *LINKS[:count])]


@pytest.mark.parametrize("keep_variants", [False, True])
async def test_what_is_there_is_remembered(keep_variants: bool) -> None:
    memory, server = memory_of(9, keep_variants=keep_variants), Server()
    await recall(memory, finished(), server)
    assert server.asked == [[30, LINKS[0].url if keep_variants else None]]
    assert memory.seen.of(CRAWL) == {url.key for url in LINKS[:-1]}
    assert memory.spelt.of(CRAWL) == ({spelling(url) for url in LINKS[:-1]} if keep_variants else set())
    await recall(memory, finished(), server)
    assert len(server.asked) == 1, "one link left is not worth a question"


@pytest.mark.parametrize(
    "memory",
    [memory_of(2), memory_of(9, keeps=False), memory_of(9, max_depth=3)],
    ids=["alone", "behind-a-pooler", "depths-may-change"],
)
async def test_nobody_is_asked_in_vain(memory: Memory) -> None:
    server = Server()
    await recall(memory, finished(), server)
    assert server.asked == []


async def test_an_answer_from_before_a_connection_broke_is_not_believed() -> None:
    memory = memory_of(9)
    await recall(memory, finished(), Server(during=memory.connect))
    assert memory.seen.of(CRAWL) == set()
