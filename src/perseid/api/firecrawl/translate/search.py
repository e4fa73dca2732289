"""A search as a body asks for it, as a plan of ours; with a sentence for what engines can't be asked."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from perseid.api.firecrawl.body.page import Page
from perseid.api.firecrawl.body.search import Category, Search, SearchV1, SearchV2, Source
from perseid.api.firecrawl.translate.unsupported import ignored
from perseid.crawls.search import Category as OurCategory
from perseid.crawls.search import SearchPlan
from perseid.ports.websearch import Source as OurSource

TimeRange = Literal["day", "week", "month", "year"]
_RANGES: dict[str, TimeRange] = {"qdr:h": "day", "qdr:d": "day", "qdr:w": "week", "qdr:m": "month", "qdr:y": "year"}
_ANYWHERE = "us"


class Planned(NamedTuple):
    plan: SearchPlan
    page: Page | None
    """How pages that are found are to be read; None leaves them unread."""
    warnings: tuple[str, ...]


def plan_search(body: Search) -> Planned:
    sources, categories, lost = _where(body)
    plan = SearchPlan(
        query=body.query,
        limit=_limit(body),
        sources=sources,
        language=body.lang,
        country=body.country or (None if body.location else _ANYWHERE),
        time_range=_RANGES.get((body.tbs or "").partition(",")[0]),
        include_domains=tuple(body.include_domains or ()) if isinstance(body, SearchV2) else (),
        exclude_domains=tuple(body.exclude_domains or ()) if isinstance(body, SearchV2) else (),
        categories=categories,
        timeout_s=body.timeout / 1000,
    )
    lost += [name for name, asked in (("filter", body.filter), ("location", body.location)) if asked]
    if body.tbs and plan.time_range is None:
        lost.append(f"tbs {body.tbs}")
    told = [f"Not supported by this server, and left out: {', '.join(lost)}."] if lost else []
    return Planned(plan, _page(body), (*told, *ignored(body)))


def _limit(body: Search) -> int:
    assert isinstance(body, SearchV1 | SearchV2)
    return body.limit


def _page(body: Search) -> Page | None:
    assert isinstance(body, SearchV1 | SearchV2)
    return body.scrape_options if body.scrape_options.formats else None


def _where(body: Search) -> tuple[tuple[OurSource, ...], tuple[OurCategory, ...], list[str]]:
    """Sources and kinds of pages, each once; and the kinds that nothing here can tell."""
    if not isinstance(body, SearchV2):
        return ("web",), (), []
    sources = dict.fromkeys(each.type if isinstance(each, Source) else each for each in body.sources)
    named = dict.fromkeys(each.type if isinstance(each, Category) else each for each in body.categories or ())
    known = tuple(each for each in get_args(OurCategory) if each in named)
    lost = [f"category {each}" for each in named if each not in known]
    return tuple(sources) or ("web",), known, lost
