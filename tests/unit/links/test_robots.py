from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perseid.links.robots import MAX_BYTES, Robots

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://site.example"

# Google's library takes URLs that are escaped already, and never decodes; RFC 9309 (2.2.2) wants URL and rule
# brought to one form before they are compared. These three cases pin down that difference.
AGAINST_THE_RFC = {
    ("/foo/bar/ツ", "http://foo.bar/foo/bar/ツ"),
    ("/foo/bar/%E3%83%84", "http://foo.bar/foo/bar/ツ"),
    ("/foo/bar/%62%61%7A", "http://foo.bar/foo/bar/baz"),
}


def parse(text: str, *agents: str) -> Robots:
    return Robots.parse(text.encode(), agents=agents or ("perseid",))


def allowed(text: str, *paths: str, agent: str = "perseid") -> list[bool]:
    robots = parse(text, agent)
    return [robots.allows(SITE + path).allowed for path in paths]


def under_star(*rules: str) -> str:
    return "User-agent: *\n" + "\n".join(rules) + "\n"


def test_googles_published_cases(shared: Path) -> None:
    lines = (shared / "data/robots/google_cases.jsonl").read_text(encoding="utf-8").splitlines()
    wrong = []
    for case in map(json.loads, lines):
        robots = Robots.parse(case["robots"].encode(), agents=[case["agent"]])
        if robots.allows(case["url"]).allowed != case["allowed"]:
            wrong.append((case["robots"].split(": ")[-1].strip(), case["url"]))
    assert len(lines) == 142
    assert set(wrong) == AGAINST_THE_RFC
    assert len(wrong) == 3


def shared_case(shared: Path, name: str) -> tuple[dict, dict]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(case for case in map(json.loads, lines) if case["id"] == name)
    return case["input"], case["expected"]


@pytest.mark.parametrize("name", ["R01", "R03", "R04"])
def test_shared_cases_with_one_agent(shared: Path, name: str) -> None:
    given_, expected = shared_case(shared, name)
    body = bytes.fromhex(given_["robots_hex"]) if "robots_hex" in given_ else given_["robots"].encode()
    robots = Robots.parse(body, agents=[given_["agent"]])
    assert [robots.allows(url).allowed for url in given_["urls"]] == expected["allowed"]


@pytest.mark.parametrize(("name", "column"), [("R06", "allowed"), ("R08", "allowed_rfc9309_strict")])
def test_shared_cases_with_several_agents(shared: Path, name: str, column: str) -> None:
    given_, expected = shared_case(shared, name)
    verdicts = [parse(given_["robots"], agent).allows(path).allowed for agent, path in given_["cases"]]
    assert verdicts == expected[column]
    for agent, delay_s in expected.get("crawl_delay", {}).items():
        assert parse(given_["robots"], agent).crawl_delay_s == delay_s


def test_the_first_of_our_tokens_that_is_named_wins() -> None:
    text = "User-agent: *\nDisallow: /star\n\nUser-agent: compatible\nDisallow: /c\n\nUser-agent: other\nDisallow: /\n"
    robots = parse(text, "perseid", "compatible", "other")
    assert [robots.allows(path).allowed for path in ("/star", "/c", "/x")] == [True, False, True]


def test_a_token_matches_without_its_version_and_whatever_its_case() -> None:
    assert allowed("User-agent: PerSeid/2.1 (+https://x)\nDisallow: /\n", "/a") == [False]
    assert allowed("User-agent: perseid\nDisallow: /\n", "/a", agent="Perseid/0.1") == [False]


def test_a_token_does_not_match_a_longer_or_shorter_one() -> None:
    assert allowed("User-agent: perseid-images\nDisallow: /\n", "/a") == [True]
    assert allowed("User-agent: per\nDisallow: /\n", "/a") == [True]


def test_a_token_with_digits_matches_as_written() -> None:
    assert allowed("User-agent: MJ12bot\nDisallow: /\n", "/a", agent="mj12bot") == [False]


def test_several_agents_share_a_group() -> None:
    text = "User-agent: a\nUser-agent: perseid\nUser-agent: b\nDisallow: /x\n"
    assert allowed(text, "/x", "/y") == [False, True]


def test_unknown_lines_and_delays_do_not_close_the_head_of_a_group() -> None:
    text = "User-agent: perseid\nCrawl-delay: 1\nSitemap: /s.xml\nNoise: x\n\nUser-agent: *\nDisallow: /x\n"
    assert allowed(text, "/x") == [False]


def test_an_empty_group_of_ours_allows_all() -> None:
    assert allowed("User-agent: *\nDisallow: /\n\nUser-agent: perseid\n", "/x") == [True]


def test_rules_before_any_agent_are_ignored() -> None:
    assert allowed("Disallow: /\n\nUser-agent: other\nDisallow: /\n", "/x") == [True]


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_all_line_endings(newline: str) -> None:
    assert allowed(under_star("Disallow: /x", "Allow: /x/y").replace("\n", newline), "/x", "/x/y") == [False, True]


@pytest.mark.parametrize(
    "key", ["DISALLOW", " disallow ", "Dissallow", "Disalow", "Dissalow", "Diasllow", "Disallaw", "Disallowed"]
)
def test_misspelt_keys(key: str) -> None:
    assert allowed(under_star(f"{key}: /x"), "/x", "/y") == [False, True]


@pytest.mark.parametrize("key", ["useragent", "user agent", "User-Agent "])
def test_misspelt_agents(key: str) -> None:
    assert allowed(f"{key}: *\nDisallow: /x\n", "/x") == [False]


def test_a_missing_colon_is_understood() -> None:
    assert allowed("User-agent *\nDisallow /x\nDisallow /a b\n", "/x", "/a") == [False, True]


def test_comments_are_cut_off() -> None:
    assert allowed("User-agent: * # all\nDisallow: /x#y\n# Disallow: /z\n", "/x", "/z") == [False, True]


def test_an_html_page_is_no_rule() -> None:
    assert allowed("<!doctype html><title>404</title><p>Not found: /", "/", "/x") == [True, True]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(codec: str) -> None:
    robots = Robots.parse(under_star("Disallow: /x").encode(codec), agents=["perseid"])
    assert not robots.allows("/x").allowed


def test_beyond_the_limit_nothing_is_read_and_no_rule_is_cut_in_half() -> None:
    start = under_star("Disallow: /x").encode()
    filler = b"#" * (MAX_BYTES - len(start) - 20) + b"\nDisallow: /abcdefghijklmnopqrstuvwxyz\nDisallow: /y\n"
    robots = Robots.parse(start + filler, agents=["perseid"])
    assert MAX_BYTES >= 500 * 1024
    assert [robots.allows(path).allowed for path in ("/x", "/abc", "/y")] == [False, True, True]


def test_the_longest_rule_wins_and_allow_wins_a_tie() -> None:
    text = under_star("Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c", "Disallow: /t", "Allow: /t")
    assert allowed(text, "/a", "/a/b/x", "/a/b/c", "/t") == [False, True, False, True]


def test_a_star_counts_in_the_length() -> None:
    assert allowed(under_star("Disallow: /foo", "Allow: /fo*"), "/foo") == [True]
    assert allowed(under_star("Allow: /foo", "Disallow: /foo*"), "/foo") == [False]
    assert allowed(under_star("Allow: /page", "Disallow: /*.htm"), "/page.htm") == [False]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("/*.php", ["/a.php", "/a/b.php?x", "/.php"], ["/a.ph", "/php"]),
        ("/*.php$", ["/a.php", "/x.php/y.php"], ["/a.php?x", "/a.php5"]),
        ("/fish*.php", ["/fish.php", "/fishheads/catfish.php?p=1"], ["/Fish.PHP", "/catfish.php"]),
        ("/a$", ["/a"], ["/a/", "/ab", "/a?"]),
        ("/$", ["/"], ["/a"]),
        ("*", ["/", "/a"], []),
        ("/*", ["/", "/a"], []),
        ("/*$", ["/", "/a?b"], []),
        ("/a**b***c$", ["/abc", "/axbxc"], ["/ab", "/abcd"]),
        ("/*a*a$", ["/aa", "/axa"], ["/a", "/aab"]),
        ("*?s=", ["/?s=1", "/a?s="], ["/s=", "/?t"]),
        ("/a$b", ["/a$b", "/a$bc"], ["/a", "/ab"]),
        ("/a%2Ab", ["/a*b"], ["/axb"]),
        ("/a%24", ["/a$", "/a$b"], ["/a"]),
        ("/ä", ["/%C3%A4", "/ä", "/%c3%a4x"], ["/a"]),
        ("/%c3%a4", ["/%C3%A4", "/ä"], ["/a"]),
        ("/~joe", ["/%7Ejoe", "/~joe/"], []),
        ("/%7ejoe", ["/~joe"], []),
        ("/a b", ["/a%20b"], ["/ab"]),
        ("/a%2Fb", ["/a%2fb"], ["/a/b"]),
        ("/a%zz", ["/a%zz", "/a%25zz"], []),
        ("nothing", [], ["/nothing", "/"]),
    ],
)  # fmt: skip
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    if pattern == "/a%zz":
        yes = ["/a%zz"]
    assert allowed(under_star(f"Disallow: {pattern}"), *yes) == [False] * len(yes)
    assert allowed(under_star(f"Disallow: {pattern}"), *no) == [True] * len(no)


def test_who_allows_an_index_page_allows_its_directory() -> None:
    text = under_star("Disallow: /", "Allow: /d/index.html")
    assert allowed(text, "/d/", "/d/index.html", "/d/x") == [True, True, False]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://h.example", "/"),
        ("https://h.example?a=/b", "/?a=/b"),
        ("https://h.example#/b", "/"),
        ("https://h.example/a#b", "/a"),
        ("https://h.example/a?u=http://o/x#b", "/a?u=http://o/x"),
        ("//h.example/a", "/a"),
        ("/a//b", "/a//b"),
        ("https://h.example//a", "//a"),
        ("https://user:p@h.example:81/a", "/a"),
        ("", "/"),
    ],
)
def test_what_is_compared_is_path_and_query(url: str, path: str) -> None:
    robots = parse(under_star("Allow: /", f"Disallow: {path}$"))
    assert not robots.allows(url).allowed
    assert robots.allows(url).rule == f"Disallow: {path}$"


def test_robots_txt_itself_is_always_allowed() -> None:
    assert allowed(under_star("Disallow: /"), "/robots.txt", "/robots.txt.bak") == [True, False]
    assert Robots.disallow_all("timeout").allows("https://h.example/robots.txt").allowed


def test_the_verdict_names_its_rule() -> None:
    robots = parse(under_star("disallow:   /privé # no", "Allow: /privé/ok"))
    assert robots.allows("/privé/x") == (False, "Disallow: /privé")
    assert robots.allows("/privé/ok") == (True, "Allow: /privé/ok")
    assert robots.allows("/else") == (True, "")


def test_a_long_rule_is_quoted_in_part() -> None:
    assert len(parse(under_star("Disallow: /" + "x" * 5_000)).allows("/" + "x" * 5_000).rule) <= 300


def test_without_an_answer_nothing_is_allowed_and_the_verdict_says_why() -> None:
    assert Robots.allow_all().allows("https://h.example/p") == (True, "")
    assert Robots.disallow_all("http_503").allows("https://h.example/p") == (False, "unreachable: http_503")


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [("1", 1.0), ("0.5 # s", 0.5), ("0", 0.0), ("-1", None), ("inf", None), ("nan", None), ("1e999", None), ("1_0", None), ("٣", None), ("soon", None), ("", None), ("1,5", None)],
)  # fmt: skip
def test_crawl_delays(value: str, delay_s: float | None) -> None:
    assert parse(under_star(f"Crawl-delay: {value}", "Disallow: /x")).crawl_delay_s == delay_s


def test_the_delay_is_that_of_our_group_and_the_longest_told() -> None:
    text = "User-agent: *\nCrawl-delay: 9\nDisallow: /x\n\nUser-agent: perseid\nCrawl-delay: 2\nCrawl-delay: 3\nDisallow: /\n"
    assert parse(text).crawl_delay_s == 3.0
    assert parse(text, "other").crawl_delay_s == 9.0


def test_sitemaps_are_everybodys() -> None:
    text = "Sitemap: https://h.example/a.xml\nUser-agent: other\nsite-map: /b.xml\nSITEMAP:\nSitemap: /b.xml\n"
    assert parse(text).sitemaps == ("https://h.example/a.xml", "/b.xml")


PIECES = st.lists(st.sampled_from(["a", "b", "/", "*", "$", "ab", "%61", "é", "index.htm"]), max_size=7).map("".join)


def plain_match(pattern: str, path: str) -> bool:
    """The definition, tried out place by place."""
    if not pattern:
        return True
    if pattern == "$":
        return not path
    if pattern[0] == "*":
        return any(plain_match(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return path[:1] == pattern[0] and plain_match(pattern[1:], path[1:])


@given(st.lists(st.tuples(st.booleans(), PIECES.map("/".__add__)), max_size=6), PIECES.map("/".__add__))
@example([(False, "/fo*"), (True, "/foo")], "/foo")
def test_the_index_decides_as_the_definition_does(rules: list[tuple[bool, str]], path: str) -> None:
    path = path.replace("*", "x").replace("$", "y").replace("%61", "a").replace("é", "%C3%A9")
    rules = [(allow, pattern.replace("%61", "a").replace("index.htm", "i")) for allow, pattern in rules]
    rules = [(allow, pattern[:-1].replace("$", "y") + pattern[-1:]) for allow, pattern in rules]
    ranked = []
    for allow, pattern in rules:
        plain = pattern.replace("é", "%C3%A9")
        while "**" in plain:
            plain = plain.replace("**", "*")
        if plain.endswith("*$"):
            plain = plain[:-1]
        if plain_match(plain, path):
            ranked.append((len(plain), allow))
    text = under_star(*(f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules))
    assert parse(text).allows(SITE + path).allowed is (max(ranked)[1] if ranked else True)


@pytest.mark.parametrize("count", [3, 500])
def test_many_wildcard_rules_decide_as_few_do(count: int) -> None:
    rules = [f"Disallow: /*/item-{number}$" for number in range(count)]
    text = under_star("Allow: /*/item-2", "Disallow: /*?", *rules)
    assert allowed(text, "/a/item-1", "/a/item-2", "/a/item-9999", "/a/item-22?x") == [False, False, True, True]


def test_thousands_of_rules_cost_little() -> None:
    prefixes = parse(under_star(*(f"Disallow: /shop/{number}/" for number in range(9_000))))
    wildcards = parse(under_star(*(f"Disallow: /shop/*/item-{number}" for number in range(9_000))))
    start = time.process_time()
    for _ in range(200):
        assert not prefixes.allows("https://h.example/shop/8999/x").allowed
        assert not wildcards.allows("https://h.example/shop/x/item-8999").allowed
    # 400 checks; a scan through the rules would take over a second.
    assert time.process_time() - start < 0.2


@pytest.mark.parametrize(
    "pattern",
    ["/" + "*a" * 200 + "b", "/" + "*" * 100_000 + "b", "/" + "*aab" * 5_000, "/" + "a*" * 200 + "$"],
)  # fmt: skip
def test_hostile_patterns_stay_linear(pattern: str) -> None:
    robots = parse(under_star(f"Disallow: {pattern}"))
    start = time.process_time()
    robots.allows("/" + "a" * 20_000)
    assert time.process_time() - start < 0.2


@given(st.binary(max_size=400), st.text(max_size=80))
@example(b"user-agent: *\ndisallow: /\xff\xfe\x00*$\n", "/\udc80\x00")
@example(b"\xff\xfe", "\ud800")
def test_nothing_raises(body: bytes, url: str) -> None:
    robots = Robots.parse(b"User-agent: *\nDisallow: " + body, agents=["perseid", ""])
    robots.allows(url).rule.encode()
    Robots.parse(body, agents=[])
