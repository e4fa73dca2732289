"""The live line on a terminal: pages, rate, queue, failures, the hosts at work."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from perseid.cli.output import count, duration, printable

if TYPE_CHECKING:
    from perseid.model.crawl import Crawl
    from perseid.ports.inspect import Progress as State

WINDOW = 20
"""Samples over which the rate is a mean."""
MOST_HOSTS = 5


def on_terminal() -> bool:
    """Whether stderr is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "unknown"}


class Rate:
    """Pages a second over the last samples."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque(maxlen=WINDOW)

    def add(self, at_s: float, pages: int) -> float:
        self._samples.append((at_s, pages))
        (first_at, first), (last_at, last) = self._samples[0], self._samples[-1]
        return (last - first) / (last_at - first_at) if last_at > first_at else 0.0


def lines(crawl: Crawl, state: State, rate: float, elapsed_s: float) -> list[str]:
    """What is shown, as text."""
    counts = crawl.counts
    words = [
        count(counts.done, "page"),
        f"{rate:.1f}/s",
        f"{state.queued:,} queued",
        f"{state.active:,} active",
    ]
    if state.retrying:
        words.append(f"{state.retrying:,} retrying")
    words += [f"{counts.failed:,} failed", duration(elapsed_s)]
    shown = [" · ".join(words) if _unicode() else " | ".join(words)]
    busy = sorted(state.hosts, key=lambda host: -host[1])
    if busy:
        hosts = ", ".join(f"{printable(name)} ({active})" for name, active in busy[:MOST_HOSTS])
        more = f" and {len(busy) - MOST_HOSTS} more" if len(busy) > MOST_HOSTS else ""
        shown.append(f"  {hosts}{more}")
    return shown


def _unicode() -> bool:
    return (getattr(sys.stderr, "encoding", None) or "ascii").lower().startswith("utf")


class Progress:
    """A context manager; draws nothing where there is no terminal or `show` is false."""

    def __init__(self, *, show: bool) -> None:
        self.shown = show and on_terminal()
        self._live: Any = None
        self._rate = Rate()
        self._begin = time.monotonic()

    def __enter__(self) -> Self:
        if self.shown:
            from rich.console import Console  # noqa: PLC0415  only on a terminal
            from rich.live import Live  # noqa: PLC0415  only on a terminal

            console = Console(stderr=True, highlight=False)
            self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
        return self

    def update(self, crawl: Crawl, state: State) -> None:
        if self._live is None:
            return
        from rich.text import Text  # noqa: PLC0415  only on a terminal

        now = time.monotonic()
        rate = self._rate.add(now, crawl.counts.done)
        text = Text("\n".join(lines(crawl, state, rate, now - self._begin)), no_wrap=True, overflow="ellipsis")
        self._live.update(text, refresh=True)

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
