from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from perseid.dom import tree
from perseid.links.discover import discover
from perseid.links.key import normalize, url_key
from perseid.links.scope import Scope
from perseid.model.options import ScopeRules
from perseid.model.verdict import DenialReason, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SITE = "https://e.example/"


def scope(
    start: str = SITE, *, blocked: tuple[str, ...] = (), robots: dict[str, Any] | None = None, **rules: Any
) -> Scope:
    return Scope(ScopeRules(**rules), start, key_seed=1, blocked_hosts=blocked, robots=robots)


def judge(found: Scope, hrefs: Iterable[str], page: str | None = None, *, depth: int = 0) -> Judged:
    page = page or found.start_url
    return found.judge(hrefs, base=page, page_url=page, page_depth=depth)


def judge_page(found: Scope, html: str, page: str) -> Judged:
    links = discover(tree.parse(html), page)
    return found.judge(links.hrefs, base=links.base, page_url=page, page_depth=0)


def accepted(found: Scope, urls: Iterable[str]) -> list[str]:
    return [candidate.url for candidate in judge(found, urls).accepted]


def reason(found: Scope, url: str) -> str | None:
    """The verdict on one URL, which a batch of one must give as well."""
    denial = found.judge_url(url)
    batch = found.judge([url], base="https://elsewhere.test/", page_url=found.start_url + "?page", page_depth=0)
    assert [denied.denial for denied in batch.denied] == ([] if denial is None else [denial])
    return denial and denial.reason.value


def published(shared: Path, case_id: str) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return next(case for case in map(json.loads, lines) if case["id"] == case_id)


def test_lookalike_hosts_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S05")
    found = scope(case["input"]["seed"])
    assert [url.lower() for url in accepted(found, case["input"]["urls"])] == case["expected"]["accepted"]


def test_a_pattern_on_the_query_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S11")
    for run, expected in zip(case["input"]["runs"], case["expected"]["accepted_per_run"], strict=True):
        found = scope(
            "https://v.example/", exclude=tuple(case["input"]["excludePaths"]), regex_on_full_url=run["regexOnFullURL"]
        )
        assert accepted(found, case["input"]["urls"]) == expected


def test_an_include_lost_to_the_start_path_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S12")
    for run, expected in zip(case["input"]["runs"], case["expected"]["accepted_per_run"], strict=True):
        found = scope(
            case["input"]["seed"], include=tuple(case["input"]["includePaths"]), entire_domain=run["crawlEntireDomain"]
        )
        judged = judge(found, case["input"]["links"])
        assert [candidate.url for candidate in judged.accepted] == expected
        assert [denied.denial.reason for denied in judged.denied] == [DenialReason.BACKWARD_CRAWLING] * (not expected)


def test_anchoring_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S13")
    for run, expected in zip(case["input"]["runs"], case["expected"]["accepted_per_run"], strict=True):
        assert (
            accepted(scope("https://l.example/", exclude=tuple(run["excludePaths"])), case["input"]["urls"]) == expected
        )


def test_filters_come_before_the_limit_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S14")
    found = scope(case["input"]["seed"], include=tuple(case["input"]["includePaths"]))
    assert accepted(found, case["input"]["links_in_order"])[: case["input"]["limit"]] == case["expected"]["accepted"]


def test_other_schemes_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S04")
    judged = judge_page(scope("https://s.example/"), case["input"]["html"], case["input"]["page_url"])
    assert [candidate.url for candidate in judged.accepted] == case["expected"]["links"]
    assert len(judged.denied) == case["expected"]["rejected_count"]


def test_sitemap_urls_pass_the_same_filter_as_in_the_published_case(shared: Path) -> None:
    case = published(shared, "M08")
    found = scope(case["input"]["seed"], external=case["input"]["allowExternalLinks"])
    verdicts = {url: reason(found, url) for url in case["input"]["sitemap_urls"]}
    assert [url for url, why in verdicts.items() if why is None] == case["expected"]["accepted"]
    assert {url: why.lower() for url, why in verdicts.items() if why} == case["expected"]["rejected"]


def test_spellings_of_the_published_case_are_one_key_each(shared: Path) -> None:
    urls = published(shared, "U01")["input"]["urls"]
    folding = scope("https://d.example/", deduplicate_similar=True)
    assert len({folding.key(url) for url in urls}) == 2
    exact = scope("https://d.example/")
    assert {exact.key(url) for url in urls} == {url_key(normalize(url), 1) for url in urls}


def test_a_query_with_an_anchor_of_the_published_case_is_a_page(shared: Path) -> None:
    case = published(shared, "U09")
    judged = judge_page(scope("https://blog.example/"), case["input"]["html"], case["input"]["page_url"])
    assert [candidate.url for candidate in judged.accepted] == case["expected"]["links"]


def test_the_seed_is_met_again_under_its_own_key(shared: Path) -> None:
    case = published(shared, "U10")
    seed = case["input"]["seed"]
    found = scope(seed)
    judged = judge_page(found, case["input"]["html"], seed)
    assert [candidate.key for candidate in judged.accepted] == [found.key(seed), found.key(f"{seed}/a")]
