"""Each kind of failure is the class of error that the client has for it."""

import pytest
import requests
from firecrawl import Firecrawl
from firecrawl.v2.utils import error_handler as errors
from talk import API, KEY, LOCKED, SITE, SLOWED, sync


def test_a_bad_request() -> None:
    with pytest.raises(errors.BadRequestError):
        sync().scrape("ftp://somewhere.example/")


def test_actions_need_a_browser() -> None:
    with pytest.raises(errors.BadRequestError, match=r"(?i)action"):
        sync().scrape(SITE, actions=[{"type": "wait", "milliseconds": 100}])


def test_a_wrong_key() -> None:
    with pytest.raises(errors.UnauthorizedError):
        Firecrawl(api_key="fc-wrong", api_url=LOCKED).get_concurrency()
    assert Firecrawl(api_key=KEY, api_url=LOCKED).get_concurrency().max_concurrency > 0


def test_no_cached_page() -> None:
    with pytest.raises(errors.FirecrawlError) as caught:
        sync().scrape(f"{SITE}/guides/page-19?never=seen", lockdown=True)
    assert caught.value.status_code == 404


def test_a_page_that_never_answers() -> None:
    with pytest.raises(errors.RequestTimeoutError):
        sync().scrape(f"{SITE}/slow", timeout=1_500)


def test_too_many_requests() -> None:
    slowed = Firecrawl(api_key=SLOWED, api_url=LOCKED)
    with pytest.raises(errors.RateLimitError):
        [slowed.get_concurrency() for _ in range(20)]


def test_a_name_that_does_not_resolve() -> None:
    with pytest.raises(Exception, match="resolve") as caught:
        sync().scrape("http://nowhere.invalid/")
    assert type(caught.value).__name__ in {"DNSResolutionError", "Exception", "FirecrawlError"}


def test_what_is_not_offered_says_so() -> None:
    with pytest.raises(errors.FirecrawlError) as caught:
        sync().start_agent(prompt="Find the orchard")
    assert caught.value.status_code in {404, 501}


def test_unknown_keys_are_refused_or_told() -> None:
    answer = requests.post(f"{API}/v2/scrape", json={"url": SITE, "formatz": ["html"]}, timeout=30)
    assert answer.status_code == 400
    assert answer.json()["code"] == "BAD_REQUEST"
