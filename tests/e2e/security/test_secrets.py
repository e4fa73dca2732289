"""What is secret stays so: settings, keys, and what callers send along for sites and receivers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from perseid.testing import in_thread
from perseid.testing.site import Site

_HEADER = "Bearer s3cret-of-the-caller"
_COOKIE = "session=s3cret-cookie"
_HOOK = "s3cret-of-the-receiver"
_QUERY = "token=s3cret-query"
_SECRETS = ("s3cret-of-the-caller", "s3cret-cookie", _HOOK, "hook-passw0rd", "page-passw0rd")
_CONFIGURED = ("fc-configured-s3cret", "llm-s3cret", "llm-passw0rd", "webhook-s3cret")


@pytest.fixture(scope="module")
def told(server: Any) -> Iterator[dict[str, str]]:
    """All that the server says about jobs which hold secrets, while they run and afterwards, and its log."""
    site = Site()
    with in_thread(site):
        site.links({"/": ["/a", "/gone"]})
        site.respond("/gone", 404)
        site.respond("/hook", 500)
        site.page("/slow", "<p>slow", delay_s=3)
        yield _asked(server, site)


def _asked(server: Any, site: Site) -> dict[str, str]:
    headers = {"Authorization": _HEADER, "Cookie": _COOKIE}
    webhook = {"url": _with_user(site, "hook-passw0rd", f"/hook?{_QUERY}"), "headers": {"X-Key": _HOOK}}
    crawl = {"url": site.url("/"), "scrapeOptions": {"headers": headers}, "webhook": webhook}
    uid = server.post("/v2/crawl", crawl)["id"]
    slow = server.post("/v2/crawl", {**crawl, "url": _with_user(site, "page-passw0rd", "/slow")})["id"]
    batch = server.post("/v1/batch/scrape", {"urls": [site.url("/")], "headers": headers, "webhook": webhook})["id"]
    answers = {
        path: server.ask("GET", path).text
        for path in ("/v2/crawl/active", "/v1/crawl/ongoing", "/api/crawls", "/api/jobs", f"/api/crawls/{slow}")
    }
    assert slow in answers["/v2/crawl/active"]
    scrape = {"url": site.url("/a"), "headers": headers, "timeout": 20000}
    for path, body in (
        ("/v2/scrape", scrape),
        ("/v2/scrape", {**scrape, "url": _with_user(site, "page-passw0rd", "/a")}),
        ("/v2/scrape", {**scrape, "url": site.url("/gone")}),
        ("/v2/scrape", {**scrape, "formats": [{"type": "json", "prompt": "x"}]}),
        ("/v2/crawl", {**crawl, "prompt": "only blogs"}),
        ("/v2/extract", {"urls": [site.url("/a")], "prompt": "x"}),
        ("/v2/crawl/params-preview", {"url": site.url("/a"), "prompt": "x"}),
        ("/v2/scrape", {**scrape, "headers": {**headers, "Bad Header": "s3cret-of-the-caller"}}),
        ("/v2/scrape", {**scrape, "headers": [_HEADER]}),
    ):
        answers[f"POST {path} {sorted(body)}"] = server.ask("POST", path, body).text
    jobs = (uid, slow, batch)
    for job in jobs:
        server.ended(job)
    # Not of each: a receiver that answers 500 is soon left alone for a while.
    server.until(lambda: any(server.get(f"/api/crawls/{job}/deliveries")["items"] for job in jobs))
    for job in jobs:
        for path in ("", "/failures", "/skipped", "/deliveries", "/documents", "/events"):
            answers[f"{path} of {job}"] = server.ask("GET", f"/api/crawls/{job}{path}").text
        for path in (f"/v2/crawl/{job}", f"/v2/crawl/{job}/errors"):
            answers[path] = server.ask("GET", path).text
    operator = server.by("fc-configured-s3cret")
    for path in ("/api/hosts", "/api/workers", "/api/stats", "/metrics", "/openapi.json"):
        answers[path] = operator.ask("GET", path).text
    answers["the log"] = "\n".join(server.stderr())
    return answers


def _with_user(site: Site, password: str, path: str) -> str:
    return site.url(path).replace("://", f"://u:{password}@")


def test_secrets_of_the_settings_are_nowhere(server: Any, told: dict[str, str]) -> None:
    for secret in (*_CONFIGURED, server.key):
        for written in (secret, base64.b64encode(secret.encode()).decode()):
            assert {name for name, text in told.items() if written in text} == set(), secret


def test_what_callers_send_along_is_shown_to_nobody(told: dict[str, str]) -> None:
    for secret in _SECRETS:
        assert {name for name, text in told.items() if secret in text} == set(), secret


def test_a_token_in_a_receivers_url_is_not_logged(told: dict[str, str]) -> None:
    assert "s3cret-query" not in told["the log"]


def test_another_team_learns_nothing_of_it(server: Any, told: dict[str, str]) -> None:
    assert told
    two = server.by("two")
    for path in ("/v2/crawl/active", "/api/crawls", "/api/jobs", "/api/stats"):
        assert "s3cret" not in two.ask("GET", path).text


def test_a_key_that_is_wrong_is_not_logged(server: Any) -> None:
    server.by("fc-somebody-elses").ask("GET", "/api/crawls")
    assert "fc-somebody-elses" not in "\n".join(server.stderr())
