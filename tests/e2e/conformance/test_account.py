"""Keys, and what an account is told of itself."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Server

_NOBODY = "01936a2b-7c00-7000-8000-000000000000"

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


@VERSIONS
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "scrape"),
        ("POST", "crawl"),
        ("POST", "batch/scrape"),
        ("POST", "map"),
        ("POST", "search"),
        ("POST", "extract"),
        ("GET", f"crawl/{_NOBODY}"),
        ("DELETE", f"crawl/{_NOBODY}"),
        ("GET", f"crawl/{_NOBODY}/errors"),
        ("GET", "crawl/ongoing"),
        ("GET", "concurrency-check"),
        ("GET", "team/credit-usage"),
    ],
)
@pytest.mark.parametrize(
    ("header", "error"),
    [
        (None, "Unauthorized"),
        ("Bearer", "Unauthorized: Token missing"),
        ("Bearer fc-wrong", "Unauthorized: Invalid token"),
    ],
)
def test_strangers_are_told_in_the_words_of_the_contract(
    locked: Server, version: str, method: str, path: str, header: str | None, error: str
) -> None:
    answer = locked.ask(method, f"/{version}/{path}", None, **({} if header is None else {"Authorization": header}))
    assert (answer.status_code, answer.json()) == (401, {"success": False, "error": error})


@pytest.mark.parametrize("header", ["Bearer fc-first", "bearer fc-second", "Token fc-first"])
def test_the_second_word_is_the_key(locked: Server, header: str) -> None:
    assert locked.ask("GET", "/v2/concurrency-check", Authorization=header).status_code == 200


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer anything", "Basic x"])
def test_without_keys_everybody_comes_in(idle: Server, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    assert idle.ask("GET", "/v2/concurrency-check", **headers).status_code == 200


@VERSIONS
def test_concurrency_is_two_numbers(idle: Server, version: str) -> None:
    told = idle.told(f"/{version}/concurrency-check")
    assert set(told) == {"success", "concurrency", "maxConcurrency"}
    assert (told["success"], type(told["concurrency"]), type(told["maxConcurrency"])) == (True, int, int)


@VERSIONS
def test_the_queue_is_told(idle: Server, version: str) -> None:
    told = idle.told(f"/{version}/team/queue-status")
    assert set(told) == {
        "success", "jobsInQueue", "activeJobsInQueue", "waitingJobsInQueue", "maxConcurrency", "mostRecentSuccess",
    }  # fmt: skip
    assert told["jobsInQueue"] == told["activeJobsInQueue"] + told["waitingJobsInQueue"]


def test_the_queue_has_no_other_address(idle: Server) -> None:
    assert idle.get("/v2/queue-status").status_code == 404


USAGE: dict[str, dict[str, Any]] = {
    "/v1/team/credit-usage": {"remaining_credits": int, "plan_credits": int},
    "/v2/team/credit-usage": {"remainingCredits": int, "planCredits": int},
    "/v1/team/token-usage": {"remaining_tokens": int, "plan_tokens": int},
    "/v2/team/token-usage": {"remainingTokens": int, "planTokens": int},
}


@pytest.mark.parametrize("path", USAGE)
def test_usage_is_whole_numbers(idle: Server, path: str) -> None:
    told = idle.told(path)
    period = {"v1": {"billing_period_start", "billing_period_end"}, "v2": {"billingPeriodStart", "billingPeriodEnd"}}
    assert told["success"] is True
    assert set(told["data"]) == set(USAGE[path]) | period[path[1:3]]
    assert {key: type(told["data"][key]) for key in USAGE[path]} == USAGE[path]


@pytest.mark.parametrize("path", USAGE)
@pytest.mark.parametrize("query", ["", "?byApiKey=true"])
def test_usage_has_a_history(idle: Server, path: str, query: str) -> None:
    told = idle.told(f"{path}/historical{query}")
    assert (told["success"], type(told["periods"])) == (True, list)
