"""Holds the quality of main content and markdown to the figures in docs/extraction-quality.md."""

from __future__ import annotations

import gzip
import importlib.util
import json
from typing import TYPE_CHECKING, Any

import pytest

from perseid.content import pipeline
from perseid.model.options import ScrapeOptions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

TOLERANCE = 0.004
REACHED = {
    ("mixed", "aeb", "F1"): 0.968,
    ("mixed", "traf", "snipF1"): 0.965,
    ("wcxb", "wcxb", "wordF1"): 0.860,
    ("docs", "docs", "F1"): 0.986,
    ("docs", "docs", "md_code"): 0.976,
    ("docs", "docs", "md_head"): 0.990,
    ("docs", "docs", "md_item"): 0.990,
    ("docs", "docs", "md_row"): 0.990,
    ("docs", "docs", "md_link"): 0.976,
}


@pytest.fixture(scope="module")
def scores(shared: Path) -> dict[tuple[str, str], dict[str, Any]]:
    spec = importlib.util.spec_from_file_location("score_extraction", shared / "bench" / "score_extraction.py")
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    out = {}
    for name in ("mixed", "docs", "wcxb"):
        folder = shared / "data" / "extraction" / name
        truth = json.loads((folder / "truth.json").read_text("utf8"))
        found = {key: markdown_of(folder / "html" / f"{key}.html.gz", entry["url"]) for key, entry in truth.items()}
        for group in {entry["set"] for entry in truth.values()}:
            part = {key: entry for key, entry in truth.items() if entry["set"] == group}
            out[name, group] = scorer.score(part, found, "markdown")[0]
    return out


def markdown_of(file: Path, url: str) -> str:
    headers = (("content-type", "text/html; charset=utf-8"),)
    body = gzip.decompress(file.read_bytes())
    page = pipeline.Page(url=url, source_url=url, status=200, headers=headers, body=body, fetched_at=0)
    built = pipeline.build(page, ScrapeOptions(), in_child=True)
    assert isinstance(built, pipeline.Built)
    return built.document.markdown or ""


@pytest.mark.parametrize(("folder", "group", "measure"), REACHED)
def test_quality_holds(scores: dict[tuple[str, str], dict[str, Any]], folder: str, group: str, measure: str) -> None:
    assert scores[folder, group][measure] >= REACHED[folder, group, measure] - TOLERANCE
