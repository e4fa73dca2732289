"""What a process remembers of the URLs of its crawls, so that links seen again and again cost the database nothing."""

from __future__ import annotations

from collections.abc import Iterable


class SeenKeys:
    """Exact, bounded memory of keys that are surely in the database.

    Keys enter only after the commit. No Bloom filter: a false positive would lose a page.
    """

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
