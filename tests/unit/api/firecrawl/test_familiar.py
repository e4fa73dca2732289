import json
from typing import Any

import msgspec
import pytest

from perseid.api.firecrawl.body.scrape import ScrapeV1, ScrapeV2
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.familiar import Familiar
from perseid.config.settings import Settings

SETTINGS = Settings()
BODIES: list[dict[str, Any]] = [
    {},
    {"formats": ["markdown", "links"], "onlyMainContent": False, "timeout": 20_000},
    {"headers": {"X-A": "1"}, "maxAge": 5, "domainTools": True},
    {"maxAge": 5.0, "waitFor": 10, "proxy": "stealth", "storeInCache": False},
]


@pytest.mark.parametrize("model", [ScrapeV1, ScrapeV2])
@pytest.mark.parametrize("options", BODIES)
def test_another_page_with_the_same_options_is_read_as_if_it_were_the_first(
    model: type[ScrapeV1], options: dict[str, Any]
) -> None:
    familiar = Familiar(model)
    for url in ("https://example.org/a", "example.org/b", "https://example.org/c"):
        data = json.dumps({"url": url, **options}).encode()
        found, fresh = familiar.read(data, SETTINGS), Familiar(model).read(data, SETTINGS)
        assert found.page == fresh.page
        assert found.body == fresh.body
        assert found.body.model_fields_set == fresh.body.model_fields_set
        assert found.body.reading.ignored == fresh.body.reading.ignored


def _refusal(familiar: Familiar, body: Any) -> tuple[int, str, str | None, Any]:
    with pytest.raises(WireError) as error:
        familiar.read(json.dumps(body).encode(), SETTINGS)
    return error.value.status, error.value.error, error.value.code, error.value.details


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "nonsense", "", None, 7, ["https://example.org"], "http://", "http://x"]
)
def test_a_url_that_can_not_be_asked_for_is_refused_in_the_same_words(url: Any) -> None:
    familiar = Familiar(ScrapeV2)
    familiar.read(b'{"url": "https://example.org"}', SETTINGS)
    assert _refusal(familiar, {"url": url}) == _refusal(Familiar(ScrapeV2), {"url": url})


@pytest.mark.parametrize(
    "options", [{"timeout": 1}, {"unknown": 1}, {"actions": [{"type": "scrape"}]}, {"waitFor": True}]
)
def test_options_that_are_refused_are_refused_each_time(options: dict[str, Any]) -> None:
    familiar = Familiar(ScrapeV2)
    refusals = [_refusal(familiar, {"url": "https://example.org", **options}) for _ in range(2)]
    assert refusals[0] == refusals[1]


def test_what_is_equal_to_python_but_not_to_json_is_not_taken_for_the_same() -> None:
    familiar = Familiar(ScrapeV2)
    familiar.read(b'{"url": "https://example.org", "waitFor": 1}', SETTINGS)
    assert _refusal(familiar, {"url": "https://example.org", "waitFor": True})[0] == 400


def test_only_so_many_are_remembered() -> None:
    familiar = Familiar(ScrapeV2)
    for number in range(1_000):
        familiar.read(json.dumps({"url": "https://example.org", "maxAge": number}).encode(), SETTINGS)
    assert len(familiar._known) < 300


def test_a_host_is_judged_by_the_settings_of_the_moment() -> None:
    familiar = Familiar(ScrapeV2)
    settings = msgspec.structs.replace(SETTINGS, api=msgspec.structs.replace(SETTINGS.api, host="0.0.0.0"))
    familiar.read(b'{"url": "http://localhost:1"}', SETTINGS)
    with pytest.raises(WireError):
        familiar.read(b'{"url": "http://localhost:1"}', settings)


def test_nothing_is_remembered_of_who_wants_nothing_kept() -> None:
    familiar = Familiar(ScrapeV2)
    familiar.read(b'{"url": "https://example.org", "zeroDataRetention": true}', SETTINGS)
    assert not familiar._known
