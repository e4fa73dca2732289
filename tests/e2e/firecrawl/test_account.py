"""Keys, account routes, and the routes that only the hosted service has."""

from __future__ import annotations

import pytest

from .conftest import Api


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_concurrency_and_queue(idle: Api, version: str) -> None:
    assert set(idle.told(f"/{version}/concurrency-check")) == {"success", "concurrency", "maxConcurrency"}
    queue = idle.told(f"/{version}/team/queue-status")
    assert queue["jobsInQueue"] == queue["activeJobsInQueue"] + queue["waitingJobsInQueue"]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (
            "/v1/team/credit-usage",
            {"remaining_credits", "plan_credits", "billing_period_start", "billing_period_end"},
        ),
        ("/v2/team/credit-usage", {"remainingCredits", "planCredits", "billingPeriodStart", "billingPeriodEnd"}),
        ("/v1/team/token-usage", {"remaining_tokens", "plan_tokens", "billing_period_start", "billing_period_end"}),
        ("/v2/team/token-usage", {"remainingTokens", "planTokens", "billingPeriodStart", "billingPeriodEnd"}),
    ],
)
def test_each_version_spells_usage_its_own_way(idle: Api, path: str, names: set[str]) -> None:
    assert set(idle.told(path)["data"]) == names
    assert idle.told(f"{path}/historical?byApiKey=true")["success"] is True


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({}, "Unauthorized"),
        ({"Authorization": "Bearer"}, "Unauthorized: Token missing"),
        ({"Authorization": "Bearer fc-wrong"}, "Unauthorized: Invalid token"),
    ],
)
def test_strangers_are_told_in_the_words_of_the_contract(locked: str, headers: dict[str, str], error: str) -> None:
    with Api(locked).http as http:
        answer = http.post("/v2/scrape", json={"url": "nonsense"}, headers=headers)
    assert (answer.status_code, answer.json()) == (401, {"success": False, "error": error})


def test_who_has_a_key_comes_in(locked: str) -> None:
    with Api(locked, Authorization="Bearer fc-secret").http as http:
        assert http.get("/v2/concurrency-check").status_code == 200


def test_probes_need_no_key(locked: str) -> None:
    with Api(locked).http as http:
        answers = {path: http.get(path) for path in ("/", "/e2e-test", "/is-production", "/v0/health/liveness")}
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 200)
    assert set(answers["/"].json()) == {"message", "documentation_url"}
    assert answers["/e2e-test"].text == "OK"
    assert answers["/is-production"].json() == {"isProduction": False}


@pytest.mark.parametrize("path", ["/v2/agent", "/v2/monitor/x", "/v2/team/siem", "/v1/fireclaw"])
def test_what_only_the_hosted_service_has_says_so(idle: Api, path: str) -> None:
    answer = idle.post(path)
    assert (answer.status_code, answer.json()["success"]) == (501, False)


@pytest.mark.parametrize("path", ["/v1/llmstxt", "/v1/deep-research", "/v1/llmstxt/some-id", "/v1/extract/some-id"])
def test_what_was_given_up_says_so_in_a_header(idle: Api, path: str) -> None:
    answer = idle.get(path)
    assert (answer.json()["success"], answer.headers["Deprecation"]) == (False, "true")


def test_a_slash_at_the_end_makes_no_other_address(idle: Api) -> None:
    assert idle.told("/v2/concurrency-check/")["success"] is True
    assert idle.post("/v2/crawl/").status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v2/nothing", 404), ("POST", "/v0/scrape", 404), ("PUT", "/v2/crawl", 405)]
)
def test_unknown_ground_answers_in_the_same_form(idle: Api, method: str, path: str, status: int) -> None:
    answer = idle.http.request(method, path)
    assert (answer.status_code, answer.json()["success"]) == (status, False)


def test_a_method_that_is_not_taken_is_told_the_others(idle: Api) -> None:
    assert idle.http.put("/v2/crawl/abc").headers["Allow"] == "DELETE, GET"
