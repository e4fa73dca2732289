"""Options of a crawl from what somebody wants in words. The model proposes; what it says is checked like user input."""

from __future__ import annotations

import asyncio
from typing import Any

from perseid.errors import ConfigError, Unavailable
from perseid.links.patterns import Patterns
from perseid.ports.llm import LanguageModel

_TRIES = 2
_LONGEST_PATTERN = 500
_PATTERNS: dict[str, Any] = {
    "type": ["array", "null"],
    "maxItems": 50,
    "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST_PATTERN},
}
_YES_NO: dict[str, Any] = {"type": ["boolean", "null"]}
_DEPTH: dict[str, Any] = {"type": ["integer", "null"], "minimum": 0, "maximum": 1000}
OPTIONS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "includePaths": _PATTERNS,
        "excludePaths": _PATTERNS,
        "maxDepth": _DEPTH,
        "maxDiscoveryDepth": _DEPTH,
        "crawlEntireDomain": _YES_NO,
        "allowExternalLinks": _YES_NO,
        "allowSubdomains": _YES_NO,
        "sitemap": {"enum": ["include", "skip", "only", None]},
        "ignoreQueryParameters": _YES_NO,
        "deduplicateSimilarURLs": _YES_NO,
        "delay": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 60},
        "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000},
    },
    "additionalProperties": False,
}
_SYSTEM = """\
You turn a wish about crawling a web site into options of a crawler. Give only the options that the wish asks for; \
what it leaves open, leave out. A wish that says nothing about the crawl gets an empty object.

- includePaths: JavaScript regular expressions, searched in the path of a URL (it begins with /). With any given, only \
pages that match one are kept. Not globs: "^/blog/.*" and not "/blog/*".
- excludePaths: the same for pages to be left out.
- maxDepth: most segments a path may have (/a/b has two).
- maxDiscoveryDepth: most links between the start page and a page.
- crawlEntireDomain: true to follow links above and beside the path of the start URL too.
- allowExternalLinks: true to fetch pages of other sites that are linked from this one.
- allowSubdomains: true to follow links to other hosts of the same domain.
- sitemap: "include" to use sitemap and links, "skip" to ignore the sitemap, "only" to follow no links.
- ignoreQueryParameters: true if URLs that differ only after the question mark are the same page.
- deduplicateSimilarURLs: false to tell www from bare hosts and http from https.
- delay: seconds between two pages.
- limit: most pages."""


async def crawl_options_from_prompt(model: LanguageModel, url: str, prompt: str, *, timeout_s: float) -> dict[str, Any]:
    """Options under the names of the API, only those that the prompt asks for, all valid.

    Raises `Unavailable` when there is no model, or it proposes nonsense twice.
    """
    wish = f"The crawl starts at {url}\n\nThe wish: {prompt}"
    fault = wrong = ""
    try:
        async with asyncio.timeout(timeout_s):
            for _ in range(_TRIES):
                reply = await model.ask(_SYSTEM, wish + fault, schema=OPTIONS, timeout_s=timeout_s)
                options = {name: value for name, value in reply.value.items() if value not in (None, [])}
                wrong = _wrong(options)
                if not wrong:
                    return options
                fault = f"\n\nA first proposal could not be used: {wrong}"
    except TimeoutError:
        raise Unavailable(f"no options came of the prompt within {timeout_s:g} s", retryable=True) from None
    raise Unavailable(f"the language model proposed options that can't be used: {wrong}", retryable=True)


def _wrong(options: dict[str, Any]) -> str:
    """Why patterns can't be used; the schema saw to all the rest."""
    try:
        for name in ("includePaths", "excludePaths"):
            Patterns(options.get(name, ()))
    except ConfigError as error:
        return str(error)
    return ""
