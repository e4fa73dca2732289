"""What is asked for and can't be had, in sentences for the `warning` of an answer: nothing is left out silently."""

from __future__ import annotations

from perseid.api.firecrawl.body.base import Body
from perseid.api.firecrawl.body.page import Page, PageV2
from perseid.api.firecrawl.translate.formats import Wanted

_ANYWHERE = frozenset({"us-generic"})


def sentences(page: Page, found: Wanted) -> tuple[str, ...]:
    """One for features, one for unknown keys; none where all is well."""
    missing = [*found.missing, *_features(page)]
    told = []
    if missing:
        told.append(f"Not supported by this server, and left out: {', '.join(dict.fromkeys(missing))}.")
    if page.wait_for:
        told.append("waitFor has no effect: pages are read without a browser.")
    return tuple(told)


def ignored(body: Body) -> tuple[str, ...]:
    """Keys of a request that nobody here knows."""
    keys = ", ".join(body.reading.ignored)
    return (f"Unknown keys of the request were ignored: {keys}.",) if keys else ()


def _features(page: Page) -> list[str]:
    country = page.place.country.lower() if page.place is not None else "us-generic"
    asked = {
        "mobile": page.mobile,
        f"location.country {country}": country not in _ANYWHERE,
        f"proxy {page.proxy}": page.proxy in {"stealth", "enhanced"},
        "profile": isinstance(page, PageV2) and page.profile is not None,
    }
    return [*(name for name, wanted in asked.items() if wanted), *page.parsing.missing]
