"""The lists of refused URLs and failed pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from perseid.model.ids import JobId
from perseid.ports.inspect import DeniedRow, FailureRow
from perseid.sink.ledger import write_failed, write_skipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


async def denied(*rows: DeniedRow) -> AsyncIterator[DeniedRow]:
    for row in rows:
        yield row


async def test_refused_url_is_a_line_with_its_referrer(tmp_path: Path) -> None:
    row = DeniedRow(1, "https://h/x", "ROBOTS_TXT", "robots.txt forbids it.", "https://h/")
    assert await write_skipped(tmp_path / "s", denied(row)) == 1
    assert json.loads((tmp_path / "s").read_text()) == {
        "url": "https://h/x",
        "reason": "ROBOTS_TXT",
        "message": "robots.txt forbids it.",
        "referrer": "https://h/",
    }


async def test_url_that_is_no_text_is_mended(tmp_path: Path) -> None:
    await write_skipped(tmp_path / "s", denied(DeniedRow(1, "\ud800\n", "URL_PARSE_ERROR", "", None)))
    assert json.loads((tmp_path / "s").read_text())["url"] == "?\n"


async def test_failed_page_is_a_line(tmp_path: Path) -> None:
    async def rows() -> AsyncIterator[FailureRow]:
        yield FailureRow(JobId(1), "https://h/x", "http_404", "Not Found", 404, 1, 0, None)

    assert await write_failed(tmp_path / "f", rows()) == 1
    assert json.loads((tmp_path / "f").read_text())["code"] == "http_404"


async def test_old_list_stays_when_reading_breaks(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[DeniedRow]:
        yield DeniedRow(1, "a", "TRAP", "", None)
        raise RuntimeError("store went away")

    (tmp_path / "s").write_text("old")
    with pytest.raises(RuntimeError):
        await write_skipped(tmp_path / "s", broken())
    assert (tmp_path / "s").read_text() == "old"
