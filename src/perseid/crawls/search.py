"""A search of the web: by source, kept to the domains and kinds asked for, its pages scraped if that is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from perseid.dom import url as urls
from perseid.errors import PerseidError, Unavailable
from perseid.model.document import Document
from perseid.ports.websearch import Hit, SearchQuery, Source, WebSearch

Category = Literal["github", "research", "pdf"]
_SPARE = 10
"""Further hits that are asked for where some will be left out."""
_RESEARCH = (
    "arxiv.org", "biorxiv.org", "medrxiv.org", "pubmed.ncbi.nlm.nih.gov", "ncbi.nlm.nih.gov", "semanticscholar.org",
    "openreview.net", "nature.com", "science.org", "ieeexplore.ieee.org", "dl.acm.org", "sciencedirect.com",
    "link.springer.com", "plos.org",
)  # fmt: skip
_DOMAINS: dict[Category, tuple[str, ...]] = {"github": ("github.com",), "research": _RESEARCH, "pdf": ()}

Scrape: TypeAlias = Callable[[str], Awaitable[Document]]


class SearchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for and where. `limit` is for each source."""

    query: str
    limit: int = 10
    sources: tuple[Source, ...] = ("web",)
    language: str | None = None
    country: str | None = None
    time_range: str | None = None
    """`day`, `week`, `month` or `year`."""
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    """Kinds of pages on the web; with any given only those."""
    timeout_s: float = 60.0


class WebHit(NamedTuple):
    """`document` where it was scraped; `failure` says why it could not be."""

    hit: Hit
    category: Category | None = None
    document: Document | None = None
    failure: str = ""


class Found(NamedTuple):
    web: list[WebHit]
    images: list[Hit]
    news: list[Hit]
    warnings: list[str]


async def search_and_scrape(search: WebSearch, plan: SearchPlan, *, scrape: Scrape | None = None) -> Found:
    """All sources side by side. Raises `Unavailable` only when none of them answered.

    Pages that are not scraped when the time is up are told without a document.
    """
    until_s = asyncio.get_running_loop().time() + plan.timeout_s
    asked = [(source, category) for source in plan.sources for category in _categories(plan, source)]
    answers = await asyncio.gather(
        *[search.search(_query(plan, source, category)) for source, category in asked], return_exceptions=True
    )
    found: dict[Source, list[list[WebHit]]] = {}
    trouble: list[Unavailable] = []
    for (source, category), answer in zip(asked, answers, strict=True):
        if isinstance(answer, Unavailable):
            trouble.append(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found.setdefault(source, []).append(
                [WebHit(hit, category) for hit in answer if _wanted(hit, plan, category)]
            )
    if trouble and not found:
        raise trouble[0]
    web = _in_turn(found.get("web", []), plan.limit)
    if scrape is not None:
        web = list(await asyncio.gather(*[_scraped(hit, scrape, until_s) for hit in web]))
    return Found(
        web,
        [each.hit for each in _in_turn(found.get("images", []), plan.limit)],
        [each.hit for each in _in_turn(found.get("news", []), plan.limit)],
        list(dict.fromkeys(str(error) for error in trouble)),
    )


def _categories(plan: SearchPlan, source: Source) -> Sequence[Category | None]:
    return plan.categories if source == "web" and plan.categories else (None,)


def _query(plan: SearchPlan, source: Source, category: Category | None) -> SearchQuery:
    sites = _DOMAINS[category] if category else ()
    words = [
        plan.query,
        _any_site(plan.include_domains or sites),
        *[f"-site:{domain}" for domain in plan.exclude_domains],
        "filetype:pdf" if category == "pdf" else "",
    ]
    filtered = bool(plan.include_domains or plan.exclude_domains or sites or category)
    return SearchQuery(
        query=" ".join(word for word in words if word),
        limit=plan.limit + (_SPARE if filtered else 0),
        source=source,
        language=plan.language,
        country=plan.country,
        time_range=plan.time_range,
        timeout_s=plan.timeout_s,
    )


def _any_site(domains: Sequence[str]) -> str:
    sites = " OR ".join(f"site:{domain}" for domain in domains)
    return f"({sites})" if len(domains) > 1 else sites


def _wanted(hit: Hit, plan: SearchPlan, category: Category | None) -> bool:
    """Engines take operators as a hint: what was asked for is seen to here."""
    parts = urls.parse(hit.url)
    if parts is None:
        return False
    if category == "pdf" and not parts.path.lower().endswith(".pdf"):
        return False
    sites = _DOMAINS[category] if category else ()
    kept = all(not domains or _within(parts.host, domains) for domains in (plan.include_domains, sites))
    return kept and not _within(parts.host, plan.exclude_domains)


def _within(host: str, domains: Sequence[str]) -> bool:
    return any(host == domain.lower() or host.endswith(f".{domain.lower()}") for domain in domains)


def _in_turn(lists: Sequence[Sequence[WebHit]], limit: int) -> list[WebHit]:
    """The best of each list, then the next best, each URL once."""
    kept: dict[str, WebHit] = {}
    for rank in zip_longest(*lists):
        for each in rank:
            if each is not None:
                kept.setdefault(each.hit.url, each)
    return list(kept.values())[:limit]


async def _scraped(each: WebHit, scrape: Scrape, until_s: float) -> WebHit:
    try:
        async with asyncio.timeout_at(until_s):
            return each._replace(document=await scrape(each.hit.url))
    except TimeoutError:
        return each._replace(failure="it was not scraped in time")
    except PerseidError as error:
        return each._replace(failure=str(error))
