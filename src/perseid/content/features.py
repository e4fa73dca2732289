"""The features of every block of a page, as columns: what `forest` judges by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content import signs
from perseid.content.pagetype import PageFacts
from perseid.content.survey import HEADINGS, Survey

if TYPE_CHECKING:
    from collections.abc import Sequence

Columns = dict[str, "Sequence[float]"]
COUNTS = frozenset(
    """size stops ends label kind anchors in_title small big article up1_longest up2_longest up3_longest up1_size
    up1_count centre side core alike again prev_size next_size prev2_size next2_size prev_stops next_stops
    prev2_stops next2_stops prev_label next_label since_prose till_prose under_label since_heading from_h1
    page_prose page_size page_blocks outer_articles""".split()  # noqa: SIM905  # read as words, not as a list
)
"""The columns of whole numbers; all others are of floats."""
_OF_PAGE = ("page_prose", "page_links", "page_size", "page_blocks", "prose_share", "outer_articles")
OF_PAGE = frozenset({"calm", *_OF_PAGE, *(f"page_{name}" for name in PageFacts._fields)})
"""The columns that hold one value, the page's."""

_STOPS = frozenset(".!?\u3002\uff01\uff1f\u2026")
_CLOSERS = frozenset("\"'\u201d\u2019\u00bb)]")
_DIGITS = b"0123456789"
_KINDS = (
    "p li h1 h2 h3 h4 h5 h6 td th pre dt dd blockquote figcaption div span section article header footer "
    "caption address ul tr body summary fieldset form aside"
)
_KIND = {tag: j for j, tag in enumerate(_KINDS.split())}
_FAR = 30
"""Distances in blocks are told up to this."""


def columns(survey: Survey, page: PageFacts) -> Columns:
    """One column per feature, one row per block, in the order of `survey.units`."""
    out: Columns = {}
    _add_own(out, survey, page)
    _add_surroundings(out, survey)
    _add_centre(out, survey)
    _add_groups(out, survey)
    _add_neighbours(out, survey)
    _add_page(out, survey, page)
    return out


def _add_own(out: Columns, s: Survey, page: PageFacts) -> None:
    units, texts, tags = s.units, s.texts, s.flat.tags
    size = [s.chars[b] for b in units]
    out["size"] = size
    out["links"] = [s.linked[b] / c for b, c in zip(units, size, strict=True)]
    out["stops"] = [s.stops[b] for b in units]
    out["ends"] = [1 if text[-1] in _STOPS or (text[-1] in _CLOSERS and text[-2:-1] in _STOPS) else 0 for text in texts]
    out["label"] = [1 if c <= 90 and signs.is_label(text[:90]) else 0 for text, c in zip(texts, size, strict=True)]
    out["kind"] = [_KIND.get(tags[b], 40) for b in units]
    out["anchors"] = [s.anchors[b] for b in units]
    out["digits"] = [_digit_share(text[:60]) for text in texts]
    out["in_title"] = [
        1 if 8 < c < 300 and text.lower() in page.title else 0 for text, c in zip(texts, size, strict=True)
    ]
    out["small"] = [s.small[b] for b in units]
    out["big"] = [s.big[b] for b in units]
    out["article"] = [min(s.article[b], 3) for b in units]
    for j, name in enumerate(("in_comments", "in_related", "in_thread", "in_list")):
        out[name] = [s.shares[b][j] for b in units]


def _digit_share(text: str) -> float:
    encoded = text.encode("utf-8", "replace")
    return (len(encoded) - len(encoded.translate(None, _DIGITS))) / len(text)


def _add_surroundings(out: Columns, s: Survey) -> None:
    up = s.up
    total, linked, prose, longest = s.total, s.total_linked, s.prose, s.longest
    all_prose, everything = prose[0] or 1, total[0] or 1
    level = s.units
    for name in ("up1", "up2", "up3"):
        level = [up[b] for b in level]
        out[f"{name}_links"] = [linked[p] / (total[p] or 1) for p in level]
        out[f"{name}_prose"] = [prose[p] / all_prose for p in level]
        out[f"{name}_longest"] = [longest[p] for p in level]
        out[f"{name}_share"] = [total[p] / everything for p in level]
        if name == "up1":
            out["up1_size"] = [total[p] for p in level]
            out["up1_count"] = [s.count[p] for p in level]


def _add_centre(out: Columns, s: Survey) -> None:
    """Where a block stands relative to the thickest prose of the page."""
    up, units, ends = s.up, s.units, s.flat.ends
    calm = s.calm()
    all_calm = calm[0] or 1
    core = 0
    while True:
        child = core + 1
        while child < ends[core] and calm[child] * 100 < 88 * calm[core]:
            child = ends[child]
        if child >= ends[core] or not calm[child]:
            break
        core = child
    scores: dict[int, float] = {}
    for b in units:
        if calm[b] and s.prose[b]:
            plain = s.chars[b] - s.linked[b]
            p = up[b]
            scores[p] = scores.get(p, 0.0) + plain
            if p:
                scores[up[p]] = scores.get(up[p], 0.0) + plain / 2
    best = max(scores, key=scores.__getitem__) if scores else 0
    steps = {}
    node, step = best, 0
    while node not in steps:
        steps[node] = step
        node, step = up[node], step + 1
    distance = _steps_to(s.blocks, up, steps)
    end = ends[core]
    out["centre"] = [min(distance[b], _FAR) for b in units]
    out["side"] = [0 if not distance[b] else 1 if b > best else -1 for b in units]
    out["core"] = [1 if core <= b < end else 2 if b >= end else 0 for b in units]
    level = units
    for name in ("up1_calm", "up2_calm", "up3_calm"):
        level = [up[b] for b in level]
        out[name] = [calm[p] / all_calm for p in level]
    out["calm"] = [all_calm / (s.prose[0] or 1)] * len(units)


def _steps_to(blocks: list[int], up: list[int], steps: dict[int, int]) -> dict[int, int]:
    """For each block, how far above the centre it parts from the way to the root; 0 inside the centre."""
    out: dict[int, int] = {}
    for b in blocks:
        known = steps.get(b)
        out[b] = out[up[b]] if known is None else known
    return out


def _add_groups(out: Columns, s: Survey) -> None:
    """Averages over the blocks that look alike: same tag and class, in parents of same tag and class."""
    tags, marks, up = s.flat.tags, s.flat.marks, s.up
    keys = [(tags[b], marks[b], tags[up[b]], marks[up[b]]) for b in s.units]
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for key, b in zip(keys, s.units, strict=True):
        entry = sums.get(key)
        if entry is None:
            entry = sums[key] = [0, 0, 0, 0]
        entry[0] += 1
        entry[1] += s.chars[b]
        entry[2] += s.linked[b]
        entry[3] += s.stops[b]
    everything = s.total[0] or 1
    alike = {key: (e[0], e[1] / e[0], e[2] / (e[1] or 1), e[3] / e[0], e[1] / everything) for key, e in sums.items()}
    names = ("alike", "alike_size", "alike_links", "alike_stops", "alike_share")
    for name, column in zip(names, zip(*[alike[key] for key in keys], strict=True), strict=False):
        out[name] = column
    seen: dict[str, int] = {}
    for text in s.texts:
        seen[text] = seen.get(text, 0) + 1
    met: set[str] = set()
    again = []
    for text in s.texts:
        if len(text) < 20 or seen[text] == 1:
            again.append(0)
        else:
            again.append(2 if text in met else 1)
            met.add(text)
    out["again"] = again


def _add_neighbours(out: Columns, s: Survey) -> None:
    size, links, label, stops = out["size"], out["links"], out["label"], out["stops"]
    for name, column, edge in (("size", size, 0), ("links", links, 1.0), ("label", label, 0), ("stops", stops, 0)):
        out[f"prev_{name}"] = [edge, *column[:-1]]
        out[f"next_{name}"] = [*column[1:], edge]
        if name != "label":
            out[f"prev2_{name}"] = [edge, edge, *column[:-2]][: len(size)]
            out[f"next2_{name}"] = [*column[2:], edge, edge][-len(size) :]
    good = [1 if m and c * (1 - k) >= 60 else 0 for m, c, k in zip(stops, size, links, strict=True)]
    out["since_prose"] = _distance(good)
    out["till_prose"] = _distance(good[::-1])[::-1]
    tags = s.flat.tags
    last_label: float = 0
    since = 20
    labels, distances = [], []
    for b, mark in zip(s.units, label, strict=True):
        if tags[b] in HEADINGS or tags[b] in {"dt", "legend"}:
            last_label, since = mark, 0
        labels.append(last_label)
        distances.append(since)
        since = min(since + 1, 20)
    out["under_label"] = labels
    out["since_heading"] = distances


def _distance(good: list[int]) -> list[int]:
    out, since = [], _FAR
    for yes in good:
        since = 0 if yes else min(since + 1, _FAR)
        out.append(since)
    return out


def _add_page(out: Columns, s: Survey, page: PageFacts) -> None:
    units = s.units
    n = len(units)
    everything = s.total[0] or 1
    out["place"] = [r / n for r in range(n)]
    before, passed = [], 0
    for b in units:
        before.append(passed / everything)
        passed += s.chars[b]
    out["before"] = before
    tags = s.flat.tags
    title = next((b for b in units if tags[b] == "h1"), -1)
    out["from_h1"] = [max(-50, min(50, b - title)) if title >= 0 else -60 for b in units]
    values = (
        s.prose[0],
        s.total_linked[0] / everything,
        s.total[0],
        n,
        s.prose[0] / everything,
        min(s.articles, 10),
    )
    for name, value in zip(_OF_PAGE, values, strict=True):
        out[name] = [value] * n
    for name, fact in zip(page._fields[:-1], page[:-1], strict=True):
        out[f"page_{name}"] = [float(fact)] * n
