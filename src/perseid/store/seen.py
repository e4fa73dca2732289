"""What a process remembers of the URLs of its crawls, so that links seen again and again cost the database nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from perseid.ports.work import NewUrl


class SeenKeys:
    """Exact, bounded memory of keys that are surely in the database. No Bloom filter: a false positive loses a page."""

    def __init__(self, bound: int = 150_000) -> None:
        self.bound = bound
        self._of: dict[int, set[int]] = {}
        self._size = 0

    def of(self, crawl: int) -> set[int]:
        return self._of.get(crawl) or set()

    def add(self, crawl: int, keys: Iterable[int]) -> None:
        known = self._of.setdefault(crawl, set())
        before = len(known)
        known.update(keys)
        self._size += len(known) - before
        if self._size > self.bound:
            self._of = {crawl: set()}
            self._size = 0

    def clear(self) -> None:
        self._of = {}
        self._size = 0

    def forget(self, crawl: int) -> None:
        self._size -= len(self._of.pop(crawl, ()))


class Remembered(NamedTuple):
    """Links of one crawl that change nothing when they are found again."""

    marks: AbstractSet[int] = frozenset()
    """Keys; or numbers of spellings, where a further one of a key is worth something."""
    by_spelling: bool = False

    def without(self, urls: Sequence[NewUrl]) -> list[NewUrl]:
        """Those of `urls` that may change something; what a sitemap names may always."""
        marks = self.marks
        if not marks:
            return list(urls)
        if self.by_spelling:
            return [url for url in urls if spelling(url) not in marks or url.sitemap]
        return [url for url in urls if url.key not in marks or url.sitemap]


def spelling(url: NewUrl) -> int:
    """The number of a spelling within this process: of 64 bits, as keys are."""
    return hash(url.url)


class Memory:
    """Of all crawls together. What enters is committed: see `Learnt`."""

    def __init__(self, **bound: int) -> None:
        self.seen = SeenKeys(**bound)
        self.spelt = SeenKeys(**bound)
        """Numbers of spellings, of crawls that keep further ones of a key."""
        self.refused = SeenKeys(**bound)

    def remembered(self, crawl: int, *, keeps_variants: bool) -> Remembered:
        return Remembered((self.spelt if keeps_variants else self.seen).of(crawl), keeps_variants)

    def forget(self, crawl: int) -> None:
        for known in (self.seen, self.spelt, self.refused):
            known.forget(crawl)

    def clear(self) -> None:
        for known in (self.seen, self.spelt, self.refused):
            known.clear()


class Learnt:
    """What one transaction will have taught once it is committed."""

    def __init__(self) -> None:
        self._seen: dict[int, list[int]] = {}
        self._spelt: dict[int, list[int]] = {}
        self._refused: dict[int, list[int]] = {}

    def seen(self, crawl: int, keys: Iterable[int]) -> None:
        self._seen.setdefault(crawl, []).extend(keys)

    def spelt(self, crawl: int, urls: Iterable[NewUrl]) -> None:
        self._spelt.setdefault(crawl, []).extend(map(spelling, urls))

    def refused(self, crawl: int, keys: Iterable[int]) -> None:
        self._refused.setdefault(crawl, []).extend(keys)

    def enter(self, memory: Memory) -> None:
        for known, fresh in (
            (memory.seen, self._seen),
            (memory.spelt, self._spelt),
            (memory.refused, self._refused),
        ):
            for crawl, marks in fresh.items():
                known.add(crawl, marks)
