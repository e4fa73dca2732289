"""The bodies of n8n's Firecrawl node, which says some things otherwise than the contract, in the contract's words.

Of each it is certain what is meant. Taken by the letter they would be refused: whoever opens the node's "Scrape
Options" could ask for nothing at all.
"""

from __future__ import annotations

from typing import Any

_NAME = "n8n"
_MOST_DELAY_S = 60


def is_of_node(body: Any) -> bool:
    return isinstance(body, dict) and body.get("integration") == _NAME


def as_meant(body: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The body of a request that may have the keys `known`."""
    meant = _page(body)
    if isinstance(meant.get("scrapeOptions"), dict):
        options = dict(meant["scrapeOptions"])
        # The list stands beside the options; among them is the form that it was made from.
        if isinstance(options.get("formats"), dict) and "formats" not in known:
            options["formats"] = meant.pop("formats", [])
        meant["scrapeOptions"] = _page(options)
    if "sitemap" in known and isinstance(meant.get("ignoreSitemap"), bool):
        ignored = meant.pop("ignoreSitemap")
        meant.setdefault("sitemap", "skip" if ignored else "include")
    delay = meant.get("delay")
    # The node takes milliseconds; what can be seconds is left as it is, since the contract has seconds.
    if isinstance(delay, int | float) and delay > _MOST_DELAY_S:
        meant["delay"] = delay / 1000
    return meant


def _page(options: dict[str, Any]) -> dict[str, Any]:
    """A list that nothing was put into is an empty object, and who names no format wants the one that is standard."""
    meant = {name: value for name, value in options.items() if name not in {"actions", "formats"} or not _empty(value)}
    headers = meant.get("headers")
    if isinstance(headers, dict) and headers.keys() == {"key", "value"} and isinstance(headers["key"], str):
        meant["headers"] = {headers["key"]: headers["value"]} if headers["key"] else {}
    return meant


def _empty(value: Any) -> bool:
    return isinstance(value, dict | list) and not value
