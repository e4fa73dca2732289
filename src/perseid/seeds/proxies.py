"""A pool of proxies as this process knows it: who has its turn, and who rests after failing again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Proxies:
    """Belongs to one version of a pool. `urls` hold credentials and must not be shown."""

    def __init__(self, urls: Sequence[str], *, failures: int, rest_s: float, now_s: Callable[[], float]) -> None:
        self._urls = tuple(urls)
        self._most = failures
        self._rest_s = rest_s
        self._now_s = now_s
        self._turn = 0
        self._failed = dict.fromkeys(self._urls, 0)
        self._rests_until = dict.fromkeys(self._urls, 0.0)

    def __len__(self) -> int:
        return len(self._urls)

    def next(self) -> str | None:
        """Whose turn it is among those that don't rest; None while all do."""
        now = self._now_s()
        for _ in self._urls:
            url = self._urls[self._turn % len(self._urls)]
            self._turn += 1
            if self._rests_until[url] <= now:
                return url
        return None

    def usable(self, url: str) -> bool:
        """It is of this pool, and doesn't rest."""
        return url in self._failed and self._rests_until[url] <= self._now_s()

    @property
    def wait_s(self) -> float:
        """Until the first of them has rested."""
        return max(0.0, min(self._rests_until.values()) - self._now_s())

    def worked(self, url: str) -> None:
        self._failed[url] = 0

    def failed(self, url: str) -> None:
        """After its rest a single further failure sends it back: it proves itself first."""
        self._failed[url] += 1
        if self._failed[url] >= self._most:
            self._rests_until[url] = self._now_s() + self._rest_s
