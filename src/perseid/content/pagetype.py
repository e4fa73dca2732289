"""What kind of page this is, told from its address, its head and cheap counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perseid.pattern import later

if TYPE_CHECKING:
    from perseid.content.survey import Survey
    from perseid.dom.tree import Tree

_PRICE = later(r"[$€£¥]\s?\d")
_PRICE_AFTER = later(r"\d\s?[€£]")
_DATE = later(r"/(?:19|20)\d\d[/-]?\d{1,2}|\d{6,}")
_TYPE = later(r'"@type"\s*:\s*\[?\s*"(\w+)"')
_ARTICLE = later(r"(?:News)?Article|BlogPosting|Report")
_PRODUCT = later(r"Product\b|Offer\b")
_FORUM = later(r"DiscussionForum|QAPage|Question")
_LIST = later(r"ItemList|CollectionPage|SearchResults")
_PATHS = (
    later(r"/(?:products?|p|dp|item|shop|pd|sku)/"),
    later(
        r"forum|/threads?[/.-]|/topic[/-]|/topics/\d|viewtopic|/t/|/questions?/|discussion|community|showthread|/comments/"
    ),
    later(r"docs?\b|documentation|/api|reference|manual|guide|tutorial|wiki|/man/|help|\bkb\b"),
    later(r"categor|collection|/tags?/|/c/|search|\blist|archive|browse|directory|/blog/?$|/news/?$|catalog|/shop/?$"),
    later(r"/(?:blog|news|article|story|stories|post)s?/."),
)
_GENERATOR = later(r"sphinx|docbook|javadoc|mkdocs|docusaurus|hugo|gatsby|jekyll|mediawiki|doxygen|vitepress")
_BODY = (
    later(r"single|article|post-"),
    later(r"product"),
    later(r"archive|categor|collection|home|search|list"),
    later(r"forum|topic|thread|question"),
)


ARTICLE, DOCUMENTATION, FORUM, LISTING, PRODUCT, SERVICE = (
    "article",
    "documentation",
    "forum",
    "listing",
    "product",
    "service",
)


class PageFacts(NamedTuple):
    """Counts and yes/no facts (1/0) about one page."""

    depth: int
    """Segments of the URL's path."""
    slug: int
    """Hyphens and underscores in its last segment."""
    dated: int
    home: int
    og: int
    """og:type: 1 article, 2 product, 3 something else, 0 none."""
    ld_article: int
    ld_product: int
    ld_forum: int
    ld_list: int
    url_product: int
    url_forum: int
    url_doc: int
    url_list: int
    url_article: int
    generator: int
    """1 a documentation tool, 2 WordPress, 3 another, 0 unknown."""
    body: int
    """Class of the body: 1 a single article, 2 product, 3 listing, 4 forum, 0 says nothing."""
    times: int
    codes: int
    articles: int
    forms: int
    prices: int
    mains: int
    title: str
    """Lower-case content of the title element."""


def facts(tree: Tree, url: str) -> PageFacts:
    """Read before scripts are dropped: structured data lives in them."""
    low = url.lower()
    path = low.split("://", 1)[-1].partition("/")[2].partition("?")[0].partition("#")[0]
    segments = [part for part in path.split("/") if part]
    slug = segments[-1] if segments else ""
    og = generator = title = ""
    kinds: list[str] = []
    counts = {"time": 0, "pre": 0, "article": 0, "form": 0, "main": 0}
    for node in tree.select(
        'title, meta[property="og:type"], meta[name="generator"], script[type="application/ld+json"], '
        "time, pre, article, form, main, [role=main]"
    ):
        tag = tree.tag(node)
        if tag == "meta":
            content = (tree.attr(node, "content") or "").lower()
            if tree.attr(node, "property"):
                og = og or content
            else:
                generator = generator or content
        elif tag == "script":
            kinds += _TYPE.findall(tree.text(node)[:100_000])
        elif tag == "title":
            title = title or tree.text(node).strip().lower()
        else:
            counts[tag if tag in counts else "main"] += 1
    kinds += [tree.attr(node, "itemtype") or "" for node in tree.select("[itemtype]")[:40]]
    schema = " ".join(kinds)
    named = [1 if rule.search(low) else 0 for rule in _PATHS]
    body = tree.body
    marks = f"{tree.attr(body, 'class') or ''} {tree.attr(body, 'id') or ''}".lower()
    return PageFacts(
        depth=len(segments),
        slug=slug.count("-") + slug.count("_"),
        dated=1 if _DATE.search("/" + path) else 0,
        home=0 if segments else 1,
        og=1 if "article" in og else 2 if "product" in og else 3 if og else 0,
        ld_article=1 if _ARTICLE.search(schema) else 0,
        ld_product=1 if _PRODUCT.search(schema) else 0,
        ld_forum=1 if _FORUM.search(schema) else 0,
        ld_list=1 if _LIST.search(schema) else 0,
        url_product=named[0],
        url_forum=named[1],
        url_doc=named[2],
        url_list=named[3],
        url_article=named[4],
        generator=1 if _GENERATOR.search(generator) else 2 if "wordpress" in generator else 3 if generator else 0,
        body=next((j + 1 for j, rule in enumerate(_BODY) if rule.search(marks)), 0),
        times=min(counts["time"], 30),
        codes=min(counts["pre"], 30),
        articles=min(counts["article"], 30),
        forms=min(counts["form"], 10),
        prices=_prices(tree.text(body)[:100_000]),
        mains=min(counts["main"], 2),
        title=title,
    )


def _prices(text: str) -> int:
    """Amounts of money in `text`, up to 50."""
    if not any(sign in text for sign in "$€£¥"):
        return 0
    found = len(_PRICE.findall(text))
    if "€" in text or "£" in text:
        found += len(_PRICE_AFTER.findall(text))
    return min(found, 50)


def page_type(page: PageFacts, survey: Survey) -> str:
    """The kind with the most points; an unmarked page with little prose counts as a service's."""
    prose, everything = survey.prose[0], survey.total[0] or 1
    links = survey.total_linked[0] / everything
    points = {
        ARTICLE: 2 * (page.og == 1)
        + 1.5 * page.ld_article
        + 1.2 * page.dated
        + 0.8 * (page.slug >= 3)
        + page.url_article
        + 0.8 * (page.body == 1)
        + (prose > 2500),
        DOCUMENTATION: 3 * (page.generator == 1) + 2 * page.url_doc + min(2.0, 0.5 * page.codes) - 1.5 * page.dated,
        FORUM: 3 * page.ld_forum + 3 * page.url_forum + 1.5 * (page.body == 4),
        PRODUCT: 2.5 * (page.og == 2)
        + 2.5 * page.ld_product
        + 1.5 * page.url_product
        + (page.body == 2)
        + 0.7 * (page.prices >= 2)
        - 1.5 * page.url_list
        - 1.5 * page.ld_list,
        LISTING: 1.6 * page.ld_list
        + 2 * page.url_list
        + (page.body == 3)
        + 1.2 * (page.articles >= 5)
        + 1.2 * (page.prices >= 8)
        + 1.5 * (links > 0.5)
        + 0.8 * (prose / everything < 0.25)
        - (page.slug >= 4),
        SERVICE: 1.2
        + 1.8 * page.home
        + 0.8 * (page.depth <= 1)
        - page.dated
        + 0.6 * (prose < 2500)
        - 0.8 * (page.articles >= 3),
    }
    return max(points, key=points.__getitem__)
