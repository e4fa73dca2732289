"""Options of a crawl out of a wish in words."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.answers.propose import crawl_options_from_prompt
from perseid.errors import Unavailable

from .conftest import Scripted


async def propose(model: Scripted, wish: str = "only the blog") -> dict[str, Any]:
    return await crawl_options_from_prompt(model, "https://e.org/", wish, timeout_s=9)


async def test_what_the_wish_asks_for_is_given_and_nothing_else(model: Scripted) -> None:
    model.answers = [{"includePaths": ["^/blog/.*"], "excludePaths": [], "limit": 50, "delay": None, "sitemap": "skip"}]
    assert await propose(model) == {"includePaths": ["^/blog/.*"], "limit": 50, "sitemap": "skip"}


async def test_false_and_zero_are_options_too(model: Scripted) -> None:
    model.answers = [{"maxDiscoveryDepth": 0, "deduplicateSimilarURLs": False}]
    assert await propose(model) == {"maxDiscoveryDepth": 0, "deduplicateSimilarURLs": False}


async def test_a_pattern_that_does_not_compile_is_sent_back_once(model: Scripted) -> None:
    model.answers = [{"includePaths": ["/blog/("]}, {"includePaths": ["^/blog/"]}]
    assert await propose(model) == {"includePaths": ["^/blog/"]}
    assert "'/blog/('" in model.asked[1].user


async def test_patterns_that_never_compile_are_told(model: Scripted) -> None:
    model.answers = [{"excludePaths": ["*.pdf"]}]
    with pytest.raises(Unavailable, match=r"'\*\.pdf' is not valid"):
        await propose(model)


@pytest.mark.parametrize(
    "nonsense",
    [
        {"limit": 0},
        {"delay": 61},
        {"delay": 0},
        {"maxDepth": -1},
        {"sitemap": "maybe"},
        {"webhook": "https://evil.example/"},
        {"includePaths": "/blog"},
        {"allowSubdomains": "yes"},
        ["/blog"],
    ],
)
async def test_options_out_of_range_or_unheard_of_are_refused(model: Scripted, nonsense: Any) -> None:
    model.answers = [nonsense]
    with pytest.raises(Unavailable):
        await propose(model)
