"""Scores our markdown and trafilatura's over the evaluation pages, by set and page type, with CPU time a page.

    python benchmarks/extraction.py [--only ours|trafilatura] [--out FOLDER]

Pages come from PERSEID_SHARED, else ../shared. Predictions are written as `{id: markdown}` to `--out`, for the
scorer `bench/score_extraction.py` of the same folder.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perseid.content import pipeline
from perseid.model.options import ScrapeOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SETS = ("mixed", "docs", "wcxb")
COLUMNS = ("pages", "F1", "P", "R", "wordF1", "snipF1", "md_code", "md_head", "md_item", "md_row", "md_link")


def shared_folder() -> Path:
    return Path(os.environ.get("PERSEID_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def load_scorer(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_extraction", shared / "bench" / "score_extraction.py")
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer


def ours(html: bytes, url: str) -> str:
    page = pipeline.Page(
        url=url,
        source_url=url,
        status=200,
        headers=(("content-type", "text/html; charset=utf-8"),),
        body=html,
        fetched_at=0,
    )
    built = pipeline.build(page, ScrapeOptions(), in_child=True)
    assert isinstance(built, pipeline.Built), built
    return built.document.markdown or ""


def trafilaturas(html: bytes, url: str) -> str:
    import trafilatura  # noqa: PLC0415  # only where it is compared

    return (
        trafilatura.extract(
            html.decode(),
            url=url,
            fast=True,
            output_format="markdown",
            include_links=True,
            include_formatting=True,
            with_metadata=True,
        )
        or ""
    )


def body_of(markdown: str) -> str:
    """Markdown without the front matter that trafilatura puts before it."""
    head, mark, rest = markdown.partition("\n---\n")
    return rest if mark and head.startswith("---\n") else markdown


def predict(shared: Path, extract: Callable[[bytes, str], str]) -> tuple[dict[str, dict[str, str]], list[float]]:
    predictions: dict[str, dict[str, str]] = {}
    times = []
    for name in SETS:
        folder = shared / "data" / "extraction" / name
        truth = json.loads((folder / "truth.json").read_text("utf8"))
        predictions[name] = {}
        for key, entry in truth.items():
            html = gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes())
            start = time.process_time()
            markdown = extract(html, entry["url"])
            times.append(time.process_time() - start)
            predictions[name][key] = body_of(markdown)
    return predictions, times


def table(shared: Path, scorer: ModuleType, predictions: dict[str, dict[str, str]]) -> list[tuple[str, Any]]:
    rows = []
    for name in SETS:
        truth = json.loads((shared / "data" / "extraction" / name / "truth.json").read_text("utf8"))
        groups: dict[str, dict[str, Any]] = {}
        for key, entry in truth.items():
            groups.setdefault(entry["set"], {})[key] = entry
            if name != "mixed":
                groups.setdefault(f"{entry['set']}: {entry['type']}", {})[key] = entry
        for group, entries in sorted(groups.items()):
            rows.append((group, scorer.score(entries, predictions[name], "markdown")[0]))
    return rows


def show(title: str, rows: list[tuple[str, Any]], times: list[float]) -> None:
    ordered = sorted(times)
    print(
        f"\n{title}: CPU ms a page: mean {sum(times) / len(times) * 1e3:.2f}, "
        f"median {ordered[len(ordered) // 2] * 1e3:.2f}, largest {ordered[-1] * 1e3:.1f}"
    )
    print(f"{'set':<22}" + "".join(f"{name:>9}" for name in COLUMNS))
    for group, result in rows:
        cells = (result.get(name) for name in COLUMNS)
        print(
            f"{group:<22}"
            + "".join(
                f"{'':>9}" if cell is None else f"{cell:>9}" if isinstance(cell, int) else f"{cell:>9.3f}"
                for cell in cells
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("ours", "trafilatura"))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    shared = shared_folder()
    scorer = load_scorer(shared)
    for name, extract in (("ours", ours), ("trafilatura", trafilaturas)):
        if arguments.only in {None, name}:
            predictions, times = predict(shared, extract)
            show(name, table(shared, scorer, predictions), times)
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                for part, found in predictions.items():
                    (arguments.out / f"{name}-{part}.json").write_text(json.dumps(found), "utf8")


if __name__ == "__main__":
    main()
