"""Where the server and the site are, and clients of the server. Written for every version of firecrawl-py alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from firecrawl import AsyncFirecrawl, AsyncV1FirecrawlApp, Firecrawl, V1FirecrawlApp

SITE = os.environ["SITE"]
HOME = os.environ["HOME_SITE"]
API = os.environ["API_URL"]
LOCKED = os.environ["LOCKED_URL"]
KEY = os.environ["API_KEY"]
SLOWED = os.environ["SLOWED_KEY"]
"""For the locked server: a key for ten requests a minute."""
PAGES = 150
"""Of the site, from its front page on."""
NOBODY = "01890000-0000-7000-8000-000000000000"


def sync() -> Firecrawl:
    return Firecrawl(api_key=KEY, api_url=API)


def later() -> AsyncFirecrawl:
    return AsyncFirecrawl(api_key=KEY, api_url=API)


def first() -> V1FirecrawlApp:
    return V1FirecrawlApp(api_key=KEY, api_url=API)


def first_later() -> AsyncV1FirecrawlApp:
    return AsyncV1FirecrawlApp(api_key=KEY, api_url=API)


def outcome(call: Callable[[], Any]) -> str:
    """What a call returns or raises, as text."""
    try:
        return str(call())
    except Exception as error:  # noqa: BLE001 - versions of the client differ in the class
        return f"{type(error).__name__}: {error}"


def until(look: Callable[[], Any], true: Callable[[Any], bool], timeout_s: float = 60) -> Any:
    """What is seen once it is as wanted."""
    end = time.monotonic() + timeout_s
    while not true(seen := look()):
        assert time.monotonic() < end, f"still {seen!r} after {timeout_s:g} s"
        time.sleep(0.1)
    return seen
