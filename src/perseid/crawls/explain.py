"""Why is this page (not) here? From the crawl's own rows, or, for a URL it never met, from its rules."""

from __future__ import annotations

import msgspec

from perseid.crawls.context import compile_context
from perseid.crawls.start import part_credentials, web_url
from perseid.dom import url as urls
from perseid.errors import InvalidURL
from perseid.model.crawl import Crawl
from perseid.model.options import ScrapeOptions
from perseid.ports.inspect import Explanation, Inspect


async def explain(inspect: Inspect, crawl: Crawl, url: str) -> Explanation:
    """Raises `InvalidURL` for what is no URL. Unknown URLs are judged by the crawl's rules as a dry run."""
    target = _target(url)
    context = compile_context(crawl, robots=None, blocked_hosts=())
    found = await inspect.explain(crawl.id, [context.key(target)], target)
    if found.state == "unknown":
        as_sitemap = await inspect.explain(crawl.id, [context.sitemap_key(target)], target)
        found = found if as_sitemap.state == "unknown" else as_sitemap
    if found.state != "unknown" or context.scope is None:
        return found
    denial = context.scope.judge_url(target)
    if denial is None:
        return found
    message = f"{found.message} It would have been refused: {denial.message}"
    return msgspec.structs.replace(found, reason=denial.reason.value, message=message)


def _target(text: str) -> str:
    """As for a start URL; links of other protocols stand in the ledger as well."""
    try:
        return part_credentials(web_url(text), ScrapeOptions())[0]
    except InvalidURL:
        other = urls.serialize(text.strip())
        if other is None:
            raise
        return other
