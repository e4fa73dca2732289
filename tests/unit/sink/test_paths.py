"""Paths of pages: readable where the URL is, and never shared by two URLs on any file system."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perseid.sink.paths import MAX_NAME, MAX_PATH, page_path

DEVICES = {"con", "prn", "aux", "nul", "clock$", "conin$", "conout$"}
DEVICES |= {f"{kind}{digit}" for kind in ("com", "lpt") for digit in "0123456789"}


def folded(path: str) -> str:
    """The path as the least distinguishing file system sees it: no case, any normal form."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", path).casefold().upper().casefold())


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://h/", "h/index.md"),
        ("https://h/docs", "h/docs.md"),
        ("https://h/docs/", "h/docs/index.md"),
        ("https://h/docs/a.html", "h/docs/a.html.md"),
        ("https://h/docs/current/sql-select.html", "h/docs/current/sql-select.html.md"),
        ("https://h/list?page=2&sort=up", "h/list@page=2&sort=up.md"),
        ("https://h/?page=2", "h/index@page=2.md"),
        ("https://h/a?", "h/a@.md"),
        ("https://h/a?u=b/c?d@e", "h/a@u=b,2fc,3fd,40e.md"),
        ("https://h/#/route/x", "h/index,23,2froute,2fx.md"),
        ("https://h/index", "h/,69ndex.md"),
        ("https://h/a//b", "h/a/~/b.md"),
        ("https://h/~user/", "h/~user~/index.md"),
        ("https://h/@scope/pkg", "h/@scope/pkg.md"),
        ("https://h/@user", "h/,40user.md"),
        ("https://h/README", "h/README~3f.md"),
        ("https://h/Docs/a", "h/Docs~1/a.md"),
        ("https://h/wiki/Talk:Foo_(bar)", "h/wiki/Talk,3aFoo_(bar)~21.md"),
        ("https://h/a%20b", "h/a%20b.md"),
        ("https://h/a%2Fb", "h/a%2Fb.md"),
        ("https://h/a%2fb", "h/a%2fb~2.md"),
        ("https://h/%E4%BD%A0%E5%A5%BD", "h/你好.md"),
        ("https://h/caf%C3%A9", "h/caf%C3%A9.md"),
        ("https://h/readme.md", "h/readme.md.md"),
        ("https://h/readme.md/a", "h/readme.md~/a.md"),
        ("https://h/a./b", "h/a.~/b.md"),
        ("https://h/.git/config", "h/,2egit/config.md"),
        ("https://h/-rf", "h/,2drf.md"),
        ("https://h/con.html", "h/,63on.html.md"),
        ("https://h/AUX/x", "h/,41UX~3/x.md"),
        ("http://h/", "h+80/index.md"),
        ("http://127.0.0.1:8080/a", "127.0.0.1+8080/a.md"),
        ("https://h:8443/a", "h+8443+tls/a.md"),
        ("https://[::1]/a", ",5b,3a,3a1,5d/a.md"),
    ],
)
def test_path_is_readable(url: str, path: str) -> None:
    assert page_path(url) == path


@pytest.mark.parametrize(
    "url",
    [
        "https://h/../../etc/passwd",
        "https://h/a/../../../b",
        "https://../x",
        "https://h/..%2f..%2fx",
        "https://h/..\\..\\x",
        "https://h/a\x00b",
        "https://h/a\nb",
        "https://h/" + "/" * 500,
        "file:///etc/passwd",
        "",
        "https://u:p@h/x",
        "https://h/\ud800",
    ],
)
def test_hostile_url_stays_inside(url: str) -> None:
    check_safe(page_path(url))


def test_credentials_are_not_in_the_path() -> None:
    assert "hunter2" not in page_path("https://u:hunter2@h/x")


def test_long_names_are_cut_and_told_apart() -> None:
    one, two = page_path("https://h/" + "a" * 1000 + "b"), page_path("https://h/" + "a" * 1000 + "c")
    assert one != two
    assert one.startswith("h/" + "a" * 80)


def test_long_paths_are_cut_and_told_apart() -> None:
    one, two = page_path("https://h/" + "ab/" * 700), page_path("https://h/" + "ab/" * 701)
    assert one != two
    check_safe(one)


def check_safe(path: str) -> None:
    assert len(path.encode()) <= MAX_PATH
    assert path.endswith(".md")
    for name in path.split("/"):
        assert name
        assert name not in {".", ".."}
        assert len(name.encode()) <= MAX_NAME
        assert not name.startswith((".", "-"))
        assert not name.endswith((".", " "))
        assert name.partition(".")[0].casefold() not in DEVICES
        assert not set(name) & set('<>:"/\\|?*')
        assert name.isprintable()


# Few characters, so that near misses are common; each has a meaning in URLs, in names or in our spelling.
PIECES = st.sampled_from(
    [
        "a", "A", "z", "index", "INDEX", "con", "md", ".md", ".", "..", "/", "//", "?", "#", "@", "~", ",", ",2f", ",40",
        "+", "+80", "&", "=", ":", "1", "f", "~1", "~z", "~long", "\\", " ", "x" * 70, "é", "K", "ß", "ss",
        "%", "%20", "%25", "%2F", "%2f", "%C3%9F", "%E4%BD%A0", "%e4%bd%a0", "%C3%A9", "e%CC%81", "%E3%81%8C",
        "%E3%81%8B%E3%82%99", "%E1%84%80%E1%85%A1", "%EA%B0%80", "%C4%B1", "%CF%82", "%CF%83",
    ]
)  # fmt: skip
HOSTS = st.sampled_from(
    [
        "h",
        "H",
        "h:80",
        "h:443",
        "h:8080",
        "h:08080",
        "h:",
        "u@h",
        "u:p@h",
        "h.",
        "[::1]",
        "[::1]:80",
        "h+80",
        "~other",
        "con",
        "",
    ]
)
URLS = st.builds(
    lambda scheme, host, path: f"{scheme}://{host}{path}",
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.lists(PIECES, max_size=6).map("".join).map(lambda text: text if text[:1] in {"?", "#", ""} else f"/{text}"),
)


@settings(max_examples=500, deadline=None)
@given(st.sets(URLS | st.text(max_size=8), min_size=2, max_size=60))
@example({"https://h/?~", "https://h/index?~", "https://h/?A", "https://h/index?A"})
def test_different_urls_have_different_paths(urls: set[str]) -> None:
    paths = {url: folded(page_path(url)) for url in urls}
    assert len(set(paths.values())) == len(urls), sorted(paths.items(), key=lambda item: item[1])


@settings(max_examples=300, deadline=None)
@given(st.sets(URLS, min_size=2, max_size=40))
def test_no_file_stands_where_a_folder_must(urls: set[str]) -> None:
    paths = sorted(folded(page_path(url)).split("/") for url in urls)
    for one, two in pairwise(paths):
        assert two[: len(one)] != one


@settings(max_examples=300, deadline=None)
@given(URLS | st.text())
def test_every_path_is_safe(url: str) -> None:
    check_safe(page_path(url))
