"""Admitting URLs: each once per crawl, within the limit, at its shortest known depth; and the ledger of refusals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from perseid.model.job import JobKind
from perseid.model.verdict import Denied
from perseid.ports.work import NewUrl
from perseid.store.postgres.nature import Nature
from perseid.store.postgres.tx import PgTx, host_name
from perseid.store.schema import BY_SITEMAP, COUNTED, clean

_ADMIT = "SELECT admitted, over_ FROM admit_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
_REFUSE = "SELECT refuse_v1($1, $2, $3, $4, $5, $6, $7)"


class Found(NamedTuple):
    """A URL to admit with the job that found it."""

    url: NewUrl
    parent: int | None
    depth: int


@dataclass(slots=True)
class Harvest:
    """What a transaction brings to one crawl."""

    nature: Nature
    found: list[Found] = field(default_factory=list)
    denied: list[tuple[Denied, int | None]] = field(default_factory=list)
    cut: list[tuple[NewUrl, int]] = field(default_factory=list)
    """Links that the discovery depth forbids at present."""


async def bring_in(tx: PgTx, harvests: Mapping[int, Harvest], hosts: Mapping[str, int]) -> int:
    """Admit, then refuse; the number admitted. The caller holds the crawls and their queues, and settles."""
    for harvest in harvests.values():
        await _cut(tx, harvest)
    batches = [harvest for harvest in harvests.values() if harvest.nature.is_batch]
    others = [harvest for harvest in harvests.values() if not harvest.nature.is_batch]
    of_batches, _ = await _admit(tx, [(h.nature, item) for h in batches for item in h.found], hosts, as_batch=True)
    chosen = {harvest.nature.crawl: _first_of_each_key(harvest) for harvest in others}
    of_others, beyond = await _admit(
        tx, [(h.nature, item) for h in others for item in chosen[h.nature.crawl].values()], hosts, as_batch=False
    )
    for harvest in others:
        if harvest.nature.keep_variants and harvest.found:
            await _keep_variants(tx, harvest, chosen[harvest.nature.crawl])
        _learn(tx, harvest, beyond)
        if harvest.nature.max_depth is not None:
            await _deepen(tx, harvest)
    await refuse(tx, {crawl: harvest.denied for crawl, harvest in harvests.items()})
    return of_batches + of_others


def _learn(tx: PgTx, harvest: Harvest, beyond: AbstractSet[tuple[int, int]]) -> None:
    """What the limit refused is not remembered: a place may yet be given back."""
    crawl = harvest.nature.crawl
    there = [item.url for item in harvest.found if (crawl, item.url.key) not in beyond]
    tx.learnt.seen(crawl, (url.key for url in there))
    if harvest.nature.keep_variants:
        tx.learnt.spelt(crawl, there)


def _first_of_each_key(harvest: Harvest) -> dict[int, Found]:
    """One of each key, the nearest to the start."""
    first: dict[int, Found] = {}
    for item in harvest.found:
        key = item.url.key
        earlier = first.get(key)
        if earlier is None or item.depth < earlier.depth:
            first[key] = item
    return first


async def _admit(
    tx: PgTx, found: Sequence[tuple[Nature, Found]], hosts: Mapping[str, int], *, as_batch: bool
) -> tuple[int, set[tuple[int, int]]]:
    """How many were admitted; crawl and key of what a limit refused."""
    if not found:
        return 0, set()
    row = await tx.one(
        _ADMIT,
        as_batch,
        [nature.crawl for nature, _item in found],
        [item.url.key for _nature, item in found],
        [clean(item.url.url) for _nature, item in found],
        [hosts[item.url.host] for _nature, item in found],
        [int(item.url.kind) for _nature, item in found],
        [item.depth for _nature, item in found],
        [COUNTED * item.url.counted | BY_SITEMAP * item.url.sitemap for _nature, item in found],
        [item.parent for _nature, item in found],
        [clean(item.url.payload) for _nature, item in found],
    )
    assert row is not None
    admitted, over = row
    tx.stirred = tx.stirred or admitted > 0
    if not as_batch and not tx.memory.others_are_ahead:  # else it was asked before, see `recall`
        tx.memory.note_others(len(found) - admitted - len(over), len(found))
    refused = [found[number - 1] for number in over]
    return int(admitted), {(nature.crawl, item.url.key) for nature, item in refused}


async def _keep_variants(tx: PgTx, harvest: Harvest, first: Mapping[int, Found]) -> None:
    """Remember spellings that differ from the one fetched, in case that one is gone (404, 410)."""
    pages = [item.url for item in harvest.found if item.url.kind is JobKind.PAGE]
    await tx.execute(
        "SELECT variants_v1($1, $2, $3, $4, $5)",
        harvest.nature.crawl,
        [url.key for url in pages],
        [clean(url.url) for url in pages],
        [host_name(clean(url.host)) for url in pages],
        [clean(first[url.key].url.url) for url in pages],
    )


async def _deepen(tx: PgTx, harvest: Harvest) -> None:
    found = [item for item in harvest.found if item.parent is not None]
    await tx.execute(
        "SELECT deepen_v1($1, $2, $3, $4)",
        harvest.nature.crawl,
        [item.parent for item in found],
        [item.url.key for item in found],
        [item.depth for item in found],
    )


async def _cut(tx: PgTx, harvest: Harvest) -> None:
    if harvest.cut:
        await tx.execute(
            "SELECT cut_v1($1, $2, $3, $4, $5)",
            harvest.nature.crawl,
            [parent for _url, parent in harvest.cut],
            [url.key for url, _parent in harvest.cut],
            [clean(url.url) for url, _parent in harvest.cut],
            [host_name(clean(url.host)) for url, _parent in harvest.cut],
        )


async def refuse(tx: PgTx, denied: Mapping[int, Iterable[tuple[Denied, int | None]]]) -> None:
    """Enter refusals into the ledger: the first reason is kept, and an accepted URL is none."""
    rows: list[tuple[int, int, int | None, str, str, str, str]] = []
    for crawl, items in denied.items():
        before, accepted = tx.memory.refused.of(crawl), tx.memory.seen.of(crawl)
        first: set[int] = set()
        for item, parent in items:
            if item.key in before or item.key in accepted or item.key in first:
                continue
            first.add(item.key)
            denial = item.denial
            rows.append(
                (
                    crawl, item.key, parent, denial.reason.value, clean(denial.rule), clean(denial.value),
                    clean(item.url),
                )
            )  # fmt: skip
        tx.learnt.refused(crawl, first)
    if rows:
        await tx.execute(_REFUSE, *(list(column) for column in zip(*rows, strict=True)))
