"""Which pages of a site were collected before: asked of the store, behind a Bloom filter where many are asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from perseid.ports.seeds import Seeds
from perseid.seeds.bloom import Bloom

_KEPT = 8
"""Filters of as many sites: one of ten million pages takes 19 MB."""


class _Filter:
    def __init__(self) -> None:
        self.bloom = Bloom()
        self.position = 0


class Sieve:
    """One for a process. What others collect meanwhile is asked again when a task begins: see `Seeds.begin`."""

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._filters: OrderedDict[int, _Filter] = OrderedDict()

    async def collected(self, site: int, keys: Sequence[bytes], *, since: int, many: bool = False) -> list[bool]:
        """Which of the pages were collected at `since` (µs) or later.

        With `many` further ones will be asked: a filter of all that was collected spares the store those that never
        were.
        """
        if not many and site not in self._filters:
            return await self._seeds.collected(site, keys, since=since)
        allowed = (await self._filter(site)).sift(keys)
        asked = [key for key, perhaps in zip(keys, allowed, strict=True) if perhaps]
        if not asked:
            return allowed
        found = iter(await self._seeds.collected(site, asked, since=since))
        return [perhaps and next(found) for perhaps in allowed]

    async def _filter(self, site: int) -> Bloom:
        """Of all keys that are there by now."""
        kept = self._filters.get(site)
        if kept is None or kept.bloom.crowded:
            kept = await self._filled(_Filter(), site, expected=0 if kept is None else 2 * len(kept.bloom))
        else:
            kept = await self._filled(kept, site)
        self._filters[site] = kept
        self._filters.move_to_end(site)
        while len(self._filters) > _KEPT:
            self._filters.popitem(last=False)
        return kept.bloom

    async def _filled(self, kept: _Filter, site: int, *, expected: int = 0) -> _Filter:
        if expected:
            kept.bloom = Bloom(expected)
        while True:
            position, keys = await self._seeds.keys_after(site, kept.position)
            kept.bloom.update(keys)
            if not keys:
                return kept
            kept.position = position
