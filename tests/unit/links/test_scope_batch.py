from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links import scope as scopes
from perseid.links.robots import Robots
from perseid.links.scope import Scope
from perseid.model.options import ScopeRules
from perseid.model.verdict import DenialReason, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable

SITE = "https://e.example/"


def scope(
    start: str = SITE, *, blocked: tuple[str, ...] = (), robots: dict[str, Any] | None = None, **rules: Any
) -> Scope:
    return Scope(ScopeRules(**rules), start, key_seed=1, blocked_hosts=blocked, robots=robots)


def judge(found: Scope, hrefs: Iterable[str], page: str | None = None, *, depth: int = 0) -> Judged:
    page = page or found.start_url
    return found.judge(hrefs, base=page, page_url=page, page_depth=depth)


def accepted(found: Scope, urls: Iterable[str]) -> list[str]:
    return [candidate.url for candidate in judge(found, urls).accepted]


def reason(found: Scope, url: str) -> str | None:
    """The verdict on one URL, which a batch of one must give as well."""
    denial = found.judge_url(url)
    batch = found.judge([url], base="https://elsewhere.test/", page_url=found.start_url + "?page", page_depth=0)
    assert [denied.denial for denied in batch.denied] == ([] if denial is None else [denial])
    return denial and denial.reason.value


WORST = "https://user@bad.facebook.com/x/x/x/private/deep.zip?sid=a8f3c2d1"
ORDER: list[tuple[DenialReason, dict[str, Any]]] = [
    (DenialReason.BLOCKED_HOST, {"blocked": ("bad.facebook.com",)}),
    (DenialReason.SOCIAL_MEDIA, {}),
    (DenialReason.DEPTH_LIMIT, {"block_social_media": False}),
    (DenialReason.FILE_TYPE, {"max_depth": None}),
]


def test_the_first_reason_of_the_order_decides() -> None:
    given_up: dict[str, Any] = {"max_depth": 1}
    found = []
    for _, change in ORDER:
        given_up = {**given_up, **change}
        found.append(reason(scope(**given_up), WORST))
        given_up.pop("blocked", None)
    assert found == [expected.value for expected, _ in ORDER]


def test_the_later_reasons_come_in_their_order() -> None:
    robots = {"https://e.example": Robots.parse(b"User-agent: *\nDisallow: /\n", agents=["perseid"])}
    url = "https://e.example/x/x/x"
    rules: dict[str, Any] = {"exclude": ("x",), "include": ("y",)}
    assert reason(scope("https://other.test/", robots=robots, **rules), url) == "EXTERNAL_LINK"
    assert reason(scope("https://e.example/d/", robots=robots, **rules), url) == "BACKWARD_CRAWLING"
    assert reason(scope(robots=robots, **rules), url) == "EXCLUDE_PATTERN"
    assert reason(scope(robots=robots, include=("y",)), url) == "INCLUDE_PATTERN"
    assert reason(scope(robots=robots), url) == "ROBOTS_TXT"
    assert reason(scope(), url) == "TRAP"


def test_a_link_is_reported_once_and_accepted_beats_denied() -> None:
    judged = judge(
        scope(ignore_query=True, exclude=("b$",)), ["/a", "/a#x", "/a?1", "/b", "/b?2", "mailto:a", "mailto:a"]
    )
    assert [candidate.url for candidate in judged.accepted] == ["https://e.example/a"]
    assert [denied.url for denied in judged.denied] == ["https://e.example/b", "mailto:a"]
    full = scope(ignore_query=True, exclude=(r"\?no$",), regex_on_full_url=True)
    judged = judge(full, ["/a?no", "/a"])
    assert [candidate.url for candidate in judged.accepted] == ["https://e.example/a"]
    assert judged.denied == []


def test_a_section_link_does_not_hide_the_page_itself() -> None:
    judged = judge(scope(), ["#x", "p"], "https://e.example/p")
    assert [candidate.url for candidate in judged.accepted] == ["https://e.example/p"]
    assert [denied.denial.reason for denied in judged.denied] == [DenialReason.SECTION_LINK]


def test_similar_spellings_have_one_key_where_asked_for() -> None:
    hrefs = ["/p", "/p/", "http://www.e.example/p/index.html"]
    assert len({link.key for link in judge(scope(), hrefs).accepted}) == 3
    assert len({link.key for link in judge(scope(deduplicate_similar=True), hrefs).accepted}) == 1


def test_other_spellings_stand_at_the_end_in_case_the_first_is_gone() -> None:
    found = accepted(scope(deduplicate_similar=True), ["/p", "/p/", "/q", "/p"])
    assert found == ["https://e.example/p", "https://e.example/q", "https://e.example/p/"]


def test_the_url_reported_is_the_one_found_never_the_key() -> None:
    assert accepted(
        scope(deduplicate_similar=True, ignore_query=True), ["http://www.e.example/p/index.html?x=1#y"]
    ) == ["http://www.e.example/p/index.html?x=1"]


def test_past_the_discovery_depth_links_are_judged_and_marked_as_cut() -> None:
    found = scope(max_discovery_depth=2)
    assert judge(found, ["/a"], depth=1).cut is False
    cut = judge(found, ["/a", "/b.zip"], depth=2)
    assert cut.cut is True
    assert [candidate.url for candidate in cut.accepted] == ["https://e.example/a"]
    assert [denied.denial.reason for denied in cut.denied] == [DenialReason.FILE_TYPE]
    assert judge(scope(max_discovery_depth=0), ["/a"], depth=0).cut is True
    assert judge(scope(), ["/a"], depth=10**6).cut is False


def test_every_refusal_has_a_sentence_with_its_rule_and_value() -> None:
    found = scope("https://e.example/d/", blocked=("bad.test",), max_depth=4, exclude=("nope",))
    hrefs = [
        "http://[",
        "ftp://x",
        "#s",
        "https://bad.test/",
        "https://x.com/",
        "a/b/c/d",
        "a.zip",
        "//o.test/",
        "/up",
        "nope",
        "b/b/b",
    ]
    judged = judge(found, hrefs)
    assert len(judged.denied) == len(hrefs)
    for denied in judged.denied:
        message = denied.denial.message
        assert "unnamed" not in message
        assert denied.denial.value in message


def test_overruns_of_patterns_surface_as_warnings() -> None:
    found = scope(exclude=(r"^/(?=(?:a|aa)+$)",))
    assert accepted(found, ["/" + "a" * 60 + "!"])
    assert "counts as not matching" in found.warnings[0]


def test_forgetting_what_was_remembered_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    hrefs = [f"/{n}" for n in range(20)] + [f"https://h{n}.test/" for n in range(20)]
    whole = judge(scope(), hrefs)
    monkeypatch.setattr(scopes, "REMEMBERED", 3)
    assert judge(scope(), hrefs) == whole


any_href = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["/a", "a/b", "#x", "#/r", "?q=1", "//o.test/x", "https://www.e.example/a/", "http://e.example/a/index.html",
         "mailto:a", "/a.zip", "https://x.com/", "/up/", "/d/x/x/x/x", "http://[", "/d/%2F", "/d/\ud800"]
    ),
)  # fmt: skip
any_rules = st.builds(
    ScopeRules,
    include=st.sampled_from([(), ("a",), ("^/d/",)]),
    exclude=st.sampled_from([(), ("b",), (r"\?q",)]),
    regex_on_full_url=st.booleans(),
    max_depth=st.sampled_from([None, 0, 2]),
    max_discovery_depth=st.sampled_from([None, 0, 1]),
    entire_domain=st.booleans(),
    subdomains=st.booleans(),
    external=st.booleans(),
    ignore_query=st.booleans(),
    deduplicate_similar=st.booleans(),
    block_social_media=st.booleans(),
)


@given(
    any_rules, st.lists(any_href, max_size=12), st.sampled_from([SITE, "https://e.example/d/", "https://e.example/d"])
)
def test_batch_and_single_verdicts_agree(rules: ScopeRules, hrefs: list[str], start: str) -> None:
    found = Scope(rules, start, key_seed=3)
    judged = judge(found, hrefs)
    for candidate in judged.accepted:
        assert found.judge_url(candidate.url) is None
        assert found.key(candidate.url) == candidate.key
    for denied in judged.denied:
        if denied.denial.reason not in (DenialReason.SECTION_LINK, DenialReason.URL_PARSE_ERROR):
            assert found.judge_url(denied.url) == denied.denial
    accepted_keys = [candidate.key for candidate in judged.accepted]
    denied_keys = [denied.key for denied in judged.denied]
    assert len(set(denied_keys)) == len(denied_keys)
    assert set(accepted_keys).isdisjoint(denied_keys)
    assert rules.deduplicate_similar or len(set(accepted_keys)) == len(accepted_keys)


@given(any_rules, st.lists(any_href, max_size=10))
def test_verdicts_do_not_depend_on_what_was_judged_before(rules: ScopeRules, hrefs: list[str]) -> None:
    used = Scope(rules, SITE, key_seed=3)
    for href in reversed(hrefs):
        judge(used, [href])
    assert judge(used, hrefs) == judge(Scope(rules, SITE, key_seed=3), hrefs)


tricky_href = st.sampled_from(
    ["a", "a#b", "#b", "?a", "", ".", "..", "./?x", "https:?x", "https:rel", "https:#b", "http:rel", "/", "//o.test", "/\n/o.test",
     "\t?x", " #b", "a\t:b", "a\nb", "%41", "\\x", "\\\\o.test", "/\\o.test", "é", "https://e.example/d/p#b", "HTTPS://e.example/d/q#b",
     "p", "p#b", "q?x#b", "../d/p#b", "@x", ":x", "-", "_", "d/p#b", "#/r", "p#/r"]
)  # fmt: skip
any_page = st.sampled_from(
    ["https://e.example/", "https://e.example/d/p", "https://e.example/d/q?x", "https://e.example/d/#/r", "https://e.example/d/",
     "http://e.example/d/p", "https://u:p@e.example/d/p", "https://o.test/d/p", "https://e.example/d/p?a=/b/c", "nonsense", "data:text/html,x"]
)  # fmt: skip


@given(any_rules, st.lists(st.tuples(any_page, any_page, st.lists(tricky_href | any_href, max_size=6)), max_size=6))
def test_links_mean_on_each_page_what_they_mean_there(
    rules: ScopeRules, pages: list[tuple[str, str, list[str]]]
) -> None:
    used = Scope(rules, SITE, key_seed=3)
    for page, base, hrefs in pages:
        fresh = Scope(rules, SITE, key_seed=3)
        assert [scope.judge(hrefs, base=base, page_url=page, page_depth=1) for scope in (used, fresh)] == [
            Scope(rules, SITE, key_seed=3).judge(hrefs, base=base, page_url=page, page_depth=1)
        ] * 2


@given(any_rules, st.lists(any_href, max_size=10))
def test_no_link_is_lost(rules: ScopeRules, hrefs: list[str]) -> None:
    judged = judge(Scope(rules, SITE, key_seed=3), hrefs)
    assert bool(hrefs) == bool(judged.accepted or judged.denied)
