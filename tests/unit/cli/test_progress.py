"""What the live line says."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from perseid.cli.progress import Area, Progress, Rate, lines, on_terminal
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.inspect import Progress as State

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    monkeypatch.setenv("COLUMNS", "20")
    with StringIO() as terminal:
        yield terminal


def screen(terminal: StringIO) -> list[str]:
    """What a terminal shows after all that was written: text, line feeds, returns, up and erase."""
    rows, at, column = [""], 0, 0
    for piece in re.split(r"(\x1b\[\d*[AJ]|\r|\n)", terminal.getvalue()):
        if piece == "\n":
            at, column = at + 1, 0
            rows += [""] * (at + 1 - len(rows))
        elif piece == "\r":
            column = 0
        elif piece.endswith("A") and piece.startswith("\x1b"):
            at -= int(piece[2:-1])
            assert at >= 0
        elif piece == "\x1b[J":
            rows[at:] = [rows[at][:column]]
        else:
            rows[at] = rows[at][:column].ljust(column) + piece + rows[at][column + len(piece) :]
            column += len(piece)
    return rows


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


def test_area_draws_over_what_it_drew(terminal: StringIO) -> None:
    area = Area(terminal)
    area.draw(["1 page", "  a (1)"])
    area.draw(["2 pages", "  a (1)", "  b (1)"])
    assert screen(terminal) == ["2 pages", "  a (1)", "  b (1)"]
    area.draw(["3 pages"])
    assert screen(terminal) == ["3 pages"]


def test_lines_are_cut_to_the_terminal(terminal: StringIO) -> None:
    area = Area(terminal)
    area.draw(["x" * 19, "y" * 20])
    first, second = screen(terminal)
    assert first == "x" * 19
    assert len(second) < 20
    assert second.startswith("yyy")
    assert second.endswith(("…", "..."))


def test_talk_stays_above_the_area(terminal: StringIO) -> None:
    area = Area(terminal)
    area.draw(["1 page", "  a (1)"])
    area.write("stopping\n")
    area.draw(["2 pages"])
    assert screen(terminal) == ["stopping", "2 pages"]
    area.clear()
    assert screen(terminal) == ["stopping", ""]


def test_cleared_area_writes_nothing_more(terminal: StringIO) -> None:
    area = Area(terminal)
    area.clear()
    assert terminal.getvalue() == ""


def test_terminal_that_is_gone_is_no_reason_to_fail() -> None:
    gone = StringIO()
    gone.close()
    Area(gone).draw(["1 page"])
