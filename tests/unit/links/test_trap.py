from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links.trap import MAX_URL, trap


def rule(url: str, year: int = 2026) -> str | None:
    path, _, query = url.partition("?")
    found = trap(path, query, year=year)
    return found and found.rule


@pytest.mark.parametrize(
    "url",
    [
        "/calendar/2099/12",
        "/calendar/2031-05",
        "/calendar?month=2031-05",
        "/calendar/view.php?view=day&time=2893456000",
        "/calendar?month=157",
        "/calendar?month=-30",
        "/calendar?year=2031&month=13",
        "/calendar?date=20310105",
        "/calendar/1999/01",
        "/calendar/month/2031/2",
        "/Kalender/2031/",
        "/agenda/day/2031-01-05",
        "/agenda/day/2020-01-05",
        "/events/2150/01/",
        "/events/?tribe-bar-date=2045-01-01",
        "/events/month?date=2045-01",
        "/x?year=3000&month=4",
        "/x?m=4&Y=1800",
        "/x?date=2999-01-01",
        "/2999/01/31/",
    ],
)
def test_a_calendar_far_from_the_crawl_is_a_trap(url: str) -> None:
    assert (rule(url) or "").startswith("a calendar outside")


@pytest.mark.parametrize(
    "url",
    [
        "/calendar",
        "/calendar/2026/12",
        "/calendar/2020-05",
        "/calendar?month=5&year=2027",
        "/agenda/day/2025-01-05",
        "/events/2023-05-10",
        "/events/1999/05/annual-meeting",
        "/event/1234",
        "/events/4096",
        "/calendar/api/9999",
        "/news?year=1950&month=3",
        "/archive?date=1912-04-15",
        "/archive/1998/04/01/story",
        "/2023/05/12/post",
        "/2023/05/",
        "/items/4096/12",
        "/products?year=2050",
        "/java/util/Calendar/1200",
        "/python/3.11/library/calendar.html",
        "/docs/15/functions-datetime.html",
        "/product/2024-1080-2160",
        "/isbn/9783161484100",
        "/prevent/2090/12",
    ],
)
def test_dates_that_are_content_are_not(url: str) -> None:
    assert rule(url) is None


def test_what_is_far_depends_on_the_year_the_crawl_began_in() -> None:
    assert rule("/calendar/2031/05", year=2026)
    assert rule("/calendar/2031/05", year=2030) is None


@pytest.mark.parametrize(
    "url",
    [
        "/x;jsessionid=ABC",
        "/x;JSESSIONID=0A1B2C.node1/y",
        "/(S(lit3py55t21z5v55vlm25s55))/a",
        "/p?PHPSESSID=abc123",
        "/p?a=1&jsessionid=77",
        "/p?ASPSESSIONIDQQ=x",
        "/p?sid=a8f3c2d1",
        "/p?sid=0123456789",
        "/p?session_id=3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "/p?osCsid=1q2w3e",
    ],
)
def test_a_session_id_is_a_trap(url: str) -> None:
    assert (rule(url) or "").startswith("a session id")


@pytest.mark.parametrize(
    "url", ["/p?sid=12", "/p?sid=", "/p?session=2023-fall", "/p?session=winter2023", "/p?session=keynote", "/p?sid=news", "/a;v=1", "/sid/x", "/f(x)/S(y)", "/p?side=a8f3c2d1"]
)  # fmt: skip
def test_names_that_only_look_like_a_session_are_not(url: str) -> None:
    assert rule(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "/x/x/x",
        "/a/b/a/b/a/b",
        "/start/a/b/a/b/a/b/end",
        "/a/b/c/d/a/b/c/d/a/b/c/d/",
        "/about/contact/about/team/about/jobs/about/press/about",
        "/1/1/1/1",
        "/" + "/".join(f"s{n}" for n in range(60)),
        "//x//x//x",
    ],
)
def test_a_path_that_repeats_itself_is_a_trap(url: str) -> None:
    assert "path" in (rule(url) or "")


@pytest.mark.parametrize(
    "url",
    [
        "/x/x",
        "/en/docs/en/docs",
        "/v/1/1/1",
        "/tiles/3/3/3",
        "/a/b/a/c/a/d",
        "/cpp/regex/regex/regex.html",
        "/2011/11/11/",
    ],
)
def test_paths_that_repeat_a_little_are_not(url: str) -> None:
    assert rule(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "/p?" + "&".join(f"p{n}=1" for n in range(30)),
        "/p?a=1&a=1&a=1",
        "/p?a=1&a=2&a=3&a=4",
        "/p?page=1;page=1;page=1",
    ],
)
def test_a_query_that_grows_for_ever_is_a_trap(url: str) -> None:
    assert "parameter" in (rule(url) or "")


@pytest.mark.parametrize(
    "url",
    [
        "/p?a[]=1&a[]=2&a[]=3&a[]=4&a[]=5",
        "/p?a=1&a=2&a=3",
        "/p?x=1&y=1&z=1",
        "/p?a&b&c",
        "/p?",
        "/p?tag=a&tag=b&page=2",
    ],
)
def test_queries_people_write_are_not(url: str) -> None:
    assert rule(url) is None


def test_an_endless_url_is_a_trap() -> None:
    assert rule("/" + "x" * MAX_URL) == f"more than {MAX_URL} characters"
    assert rule("/" + "x" * (MAX_URL - 1)) is None


@pytest.mark.parametrize(
    "url",
    [
        "/docs/15/sql-select.html",
        "/docs/15/release-9-6-24.html",
        "/docs/15/event-trigger-table-rewrite-example.html",
        "/w/cpp/container/vector/vector.html",
        "/w/cpp/chrono/year_month_day/year_month_day.html",
        "/w/cpp/experimental/ranges/iterator/projected.html",
        "/mwiki/index.php?title=cpp/chrono/2024-01-15&oldid=86592",
        "/wiki/Main_Page?action=history&year=2019",
        "/questions/11227809/why-is-processing-a-sorted-array-faster",
        "/search?q=c%2B%2B&type=code&p=3&l=en&o=desc&s=stars",
        "/support/security/CVE-2024-10977/",
        "/rfc/rfc9309.html",
    ],
)
def test_pages_of_documentation_are_never_traps(url: str) -> None:
    assert rule(url) is None


@given(st.text(max_size=80), st.text(max_size=80), st.integers(1990, 2100))
def test_no_text_makes_it_raise(path: str, query: str, year: int) -> None:
    assert trap(path, query, year=year) == trap(path, query, year=year)
