"""Batches: which URLs are refused, and which only set aside."""

from __future__ import annotations

import pytest

from perseid.api.firecrawl.body.batch import BatchV1, BatchV2
from perseid.api.firecrawl.body.issues import PLAIN
from perseid.api.firecrawl.body.url import NO_DOMAIN

from .conftest import reads, refusal

GOOD, BAD = "https://example.org/", "nonsense"


@pytest.mark.parametrize("model", [BatchV1, BatchV2])
def test_who_asks_for_it_has_bad_urls_set_aside(model: type[BatchV1 | BatchV2]) -> None:
    body = reads(model, urls=[BAD, GOOD, BAD, "ftp://example.org/"], ignoreInvalidURLs=True)
    assert (body.urls, body.invalid_urls) == ([GOOD], [BAD, BAD, "ftp://example.org/"])


@pytest.mark.parametrize("model", [BatchV1, BatchV2])
def test_the_default_checks_each_url(model: type[BatchV1 | BatchV2]) -> None:
    assert refusal(model, urls=[GOOD, BAD]).error == NO_DOMAIN


def test_version_2_lists_none_where_all_were_good() -> None:
    assert reads(BatchV2, urls=[GOOD]).invalid_urls == []


def test_version_1_says_nothing_of_what_it_was_not_asked_to_do() -> None:
    assert reads(BatchV1, urls=[GOOD]).invalid_urls is None


def test_no_urls_are_a_bad_request() -> None:
    assert refusal(BatchV2, urls=[]).error == PLAIN


def test_a_batch_to_add_to_is_named_by_its_uuid() -> None:
    assert refusal(BatchV2, urls=[GOOD], appendToId="17").error == "a job id is a UUID"
