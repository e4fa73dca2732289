"""The live line on a terminal: pages, rate, queue, failures, the hosts at work."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from perseid.cli.output import count, duration, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.model.crawl import Crawl
    from perseid.ports.inspect import Progress as State
    from perseid.ports.items import RunStats

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
    shown = [_joined(words)]
    busy = sorted(state.hosts, key=lambda host: -host[1])
    if busy:
        hosts = ", ".join(f"{printable(name)} ({active})" for name, active in busy[:MOST_HOSTS])
        more = f" and {len(busy) - MOST_HOSTS} more" if len(busy) > MOST_HOSTS else ""
        shown.append(f"  {hosts}{more}")
    return shown


def _joined(words: Sequence[str]) -> str:
    return (" · " if _unicode() else " | ").join(words)


def _unicode() -> bool:
    return (getattr(sys.stderr, "encoding", None) or "ascii").lower().startswith("utf")


class Area:
    """Some lines at the lower end of a terminal that are drawn over; stands in for stderr, so that talk goes above."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._rows = 0

    def draw(self, shown: Sequence[str]) -> None:
        """Show these lines, cut to the terminal's width, in place of the last ones."""
        width = _width(self._terminal)
        text = "\n".join(_cut(line, width) for line in shown)
        self._put(self._erasure() + text)
        self._rows = len(shown)

    def clear(self) -> None:
        if self._rows:
            self._put(self._erasure())
            self._rows = 0

    def write(self, text: str) -> int:
        self.clear()
        return self._terminal.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)

    def _erasure(self) -> str:
        up = f"\x1b[{self._rows - 1}A" if self._rows > 1 else ""
        return f"\r{up}\x1b[J"

    def _put(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that is gone is no reason to fail
            self._terminal.write(text)
            self._terminal.flush()


def _width(terminal: TextIO) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _cut(line: str, width: int) -> str:
    """The line with an ellipsis where it is longer than a row; a full row would wrap on some terminals."""
    if len(line) < width:
        return line
    dots = "…" if _unicode() else "..."
    return line[: max(0, width - 1 - len(dots))] + dots


class Progress:
    """A context manager; draws nothing where there is no terminal or `show` is false."""

    def __init__(self, *, show: bool) -> None:
        self.shown = show and on_terminal()
        self._area: Area | None = None
        self._rate = Rate()
        self._begin = time.monotonic()

    def __enter__(self) -> Self:
        if self.shown:
            self._terminal = sys.stderr
            self._area = Area(self._terminal)
            sys.stderr = cast("TextIO", self._area)
        return self

    def update(self, crawl: Crawl, state: State) -> None:
        if self._area is None:
            return
        now = time.monotonic()
        rate = self._rate.add(now, crawl.counts.done)
        self._area.draw(lines(crawl, state, rate, now - self._begin))

    def count(self, stats: Sequence[RunStats]) -> None:
        """The same of runs of seeds."""
        if self._area is None:
            return
        now = time.monotonic()
        done = sum(each.done for each in stats)
        words = [
            count(done, "page"),
            f"{self._rate.add(now, done):.1f}/s",
            count(sum(each.items for each in stats), "item"),
            f"{sum(each.exceptions for each in stats):,} kept back",
            f"{sum(each.failed for each in stats):,} failed",
            duration(now - self._begin),
        ]
        self._area.draw([_joined(words)])

    def __exit__(self, *_: object) -> None:
        if self._area is not None:
            self._area.clear()
            sys.stderr = self._terminal
            self._area = None
