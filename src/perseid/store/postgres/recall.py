"""Which links are there already, asked before anything is locked: what others have found costs the locks nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from perseid.ports.work import Finished, NewUrl
from perseid.store.postgres.memory import Memory
from perseid.store.schema import clean
from perseid.store.seen import spelling

_RECALL = "SELECT recall_v1($1, $2, $3)"
_FEW = 20
"""So few links are not worth a question."""


async def recall(memory: Memory, finished: Sequence[Finished], ask: Callable[..., Awaitable[list[int]]]) -> None:
    """Remember those links of these pages that are there; `ask` gives the one value of a statement.

    Not where all that is there has mostly come from here, as where one process crawls alone.
    """
    if not memory.others_are_ahead:
        return
    fresh = _fresh(memory, finished)
    if len(fresh) < _FEW:
        return
    met = memory.connected
    there = await ask(
        _RECALL,
        [crawl for crawl, _url, _spelt in fresh],
        [url.key for _crawl, url, _spelt in fresh],
        [clean(url.url) if spelt else None for _crawl, url, spelt in fresh],
    )
    if memory.connected != met:
        return  # whoever answered may have forgotten since
    memory.note_others(len(there), len(fresh))
    for number in there:
        crawl, url, spelt = fresh[number - 1]
        memory.seen.add(crawl, [url.key])
        if spelt:
            memory.spelt.add(crawl, [spelling(url)])


def _fresh(memory: Memory, finished: Sequence[Finished]) -> list[tuple[int, NewUrl, bool]]:
    """Each once: its crawl, and whether it is to be known by its spelling."""
    fresh: dict[tuple[int, int], tuple[int, NewUrl, bool]] = {}
    for item in finished:
        crawl = int(item.lease.crawl)
        nature = memory.natures.get(crawl)
        if nature is None or not nature.is_remembered:
            continue
        spelt = nature.keep_variants
        for url in nature.remembered(memory).without(item.urls):
            if not url.sitemap:
                fresh[crawl, spelling(url) if spelt else url.key] = (crawl, url, spelt)
    return list(fresh.values())
