"""What the live line says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.cli.progress import Progress, Rate, lines, on_terminal
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.inspect import Progress as State

if TYPE_CHECKING:
    import pytest


def crawl() -> Crawl:
    return Crawl(
        id=CrawlId(1), uid="a", team=1, kind=CrawlKind.CRAWL, url="https://h/", options=b"", key_seed=0,
        status=CrawlStatus.SCRAPING, counts=Counts(done=1234, failed=2), created_at=0,
    )  # fmt: skip


def test_line_tells_pages_rate_queue_failures_and_hosts() -> None:
    shown = lines(crawl(), State(queued=50, active=8, retrying=1, hosts=[("b", 1), ("a\x1b", 7)]), 12.34, 61)
    assert all(
        word in shown[0] for word in ("1,234 pages", "12.3/s", "50 queued", "8 active", "1 retrying", "2 failed")
    )
    assert shown[1] == "  a\ufffd (7), b (1)"


def test_many_hosts_are_counted() -> None:
    hosts = [(f"h{number}", 1) for number in range(9)]
    assert lines(crawl(), State(0, 9, 0, hosts), 0, 1)[1].endswith("and 4 more")


def test_rate_is_a_mean_over_the_last_samples() -> None:
    rate = Rate()
    assert rate.add(0.0, 0) == 0
    assert rate.add(2.0, 10) == 5


def test_nothing_is_drawn_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert not on_terminal()
    with Progress(show=True) as progress:
        progress.update(crawl(), State(0, 0, 0, []))
    assert capfd.readouterr() == ("", "")
