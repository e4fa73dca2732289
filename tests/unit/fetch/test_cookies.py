"""Cookies along a redirect chain: who may set them, where they go, and that they survive a move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.cookies import MAX_COOKIES, ChainCookies, join_cookies

NOW_S = 1_796_040_000.0  # 30 Nov 2026 12:00:00 GMT


def jar(*set_cookies: str, url: str = "https://www.shop.test/dir/page") -> ChainCookies:
    cookies = ChainCookies(now_s=lambda: NOW_S)
    cookies.set_from(url, [("set-cookie", value) for value in set_cookies])
    return cookies


@pytest.mark.parametrize(
    ("set_cookie", "url", "sent"),
    [
        ("a=1", "https://www.shop.test/dir/other", "a=1"),
        ("a=1", "https://www.shop.test/dir", "a=1"),
        ("a=1", "https://www.shop.test/dirt", None),
        ("a=1", "https://www.shop.test/", None),
        ("a=1; Path=/", "https://www.shop.test/x", "a=1"),
        ("a=1; path=/sub", "https://www.shop.test/sub/x", "a=1"),
        ("a=1; path=/sub/", "https://www.shop.test/sub", None),
        ("a=1; path=nonsense", "https://www.shop.test/dir/", "a=1"),
        ("a=1; Path=/", "https://shop.test/", None),
        ("a=1; Path=/", "https://x.www.shop.test/", None),
        ("a=1; Path=/; Domain=shop.test", "https://shop.test/", "a=1"),
        ("a=1; Path=/; Domain=.SHOP.test", "https://deep.er.shop.test/", "a=1"),
        ("a=1; Path=/; Domain=shop.test", "https://evilshop.test/", None),
        ("a=1; Path=/; Domain=", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Domain=www.shop.test", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Domain=other.test", "https://other.test/", None),
        ("a=1; Path=/; Domain=deep.www.shop.test", "https://deep.www.shop.test/", None),
        ("a=1; Path=/; Domain=test", "https://other.test/", None),
        ("a=1; Path=/; Secure", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Secure", "http://www.shop.test/", None),
        ("a=1; Path=/; HttpOnly; SameSite=Strict", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Max-Age=60", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Max-Age=0", "https://www.shop.test/", None),
        ("a=1; Path=/; Max-Age=-1", "https://www.shop.test/", None),
        ("a=1; Path=/; Max-Age=soon", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Max-Age=" + "9" * 5000, "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Expires=Mon, 30 Nov 2026 13:00:00 GMT", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Expires=Mon, 30-Nov-2026 11:00:00 GMT", "https://www.shop.test/", None),
        ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.shop.test/", None),
        ("a=1; Path=/; Expires=garbage", "https://www.shop.test/", "a=1"),
        ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5", "https://www.shop.test/", "a=1"),
        ("  a  =  1 2 ; Path=/", "https://www.shop.test/", "a=1 2"),
        ('Path=/; a="q;1"', "https://www.shop.test/dir/", "Path=/"),
        ('a="q;1"', "https://www.shop.test/dir/", 'a="q'),
        ('a="q"; Path=/', "https://www.shop.test/", 'a="q"'),
        ("a=b=c; Path=/", "https://www.shop.test/", "a=b=c"),
        ("lonely; Path=/", "https://www.shop.test/", "lonely"),
        ("=v; Path=/", "https://www.shop.test/", "v"),
        ("a=; Path=/", "https://www.shop.test/", "a="),
        ("; Path=/", "https://www.shop.test/", None),
        ("a=1\r\nX: y; Path=/", "https://www.shop.test/", None),
        ("a=\x00; Path=/", "https://www.shop.test/", None),
        ("a=" + "x" * 5000 + "; Path=/", "https://www.shop.test/", None),
        ("__Host-a=1; Path=/; Secure", "https://www.shop.test/", "__Host-a=1"),
        ("__Host-a=1; Path=/; Secure; Domain=shop.test", "https://www.shop.test/", None),
        ("__Secure-a=1; Path=/", "https://www.shop.test/", None),
    ],
)
def test_a_cookie_goes_where_it_belongs(set_cookie, url, sent):
    assert jar(set_cookie).header_for(url) == sent


@pytest.mark.parametrize("domain", ["com", "co.uk", "github.io", ".github.io"])
def test_a_public_suffix_takes_no_cookie_for_all_its_sites(domain):
    cookies = jar(f"a=1; Path=/; Domain={domain}", url=f"https://mine.{domain.strip('.')}/")
    assert cookies.header_for(f"https://yours.{domain.strip('.')}/") is None
    assert cookies.header_for(f"https://mine.{domain.strip('.')}/") is None


def test_a_site_at_a_public_suffix_keeps_a_cookie_to_itself():
    cookies = jar("a=1; Path=/; Domain=github.io", url="https://github.io/")
    assert cookies.header_for("https://github.io/") == "a=1"
    assert cookies.header_for("https://mine.github.io/") is None


def test_an_address_is_no_domain():
    cookies = jar("a=1; Path=/; Domain=0.0.1", url="http://127.0.0.1:8000/")
    assert cookies.header_for("http://127.0.0.1/") is None
    own = jar("a=1; Path=/; Domain=127.0.0.1", url="http://127.0.0.1:8000/")
    assert own.header_for("http://127.0.0.1:9000/") == "a=1"


def test_an_insecure_site_sets_no_secure_cookie():
    assert jar("a=1; Secure; Path=/", url="http://www.shop.test/").header_for("https://www.shop.test/") is None


def test_longer_paths_come_first_and_a_newer_value_replaces():
    cookies = jar("a=1; Path=/", "b=2; Path=/dir", "a=3; Path=/", "a=4; Path=/dir")
    assert cookies.header_for("https://www.shop.test/dir/x") == "b=2; a=4; a=3"


def test_a_cookie_is_deleted_by_one_that_is_past():
    cookies = jar("a=1; Path=/", "b=2; Path=/", "a=; Path=/; Max-Age=0")
    assert cookies.header_for("https://www.shop.test/") == "b=2"
    assert len(cookies) == 1


def test_a_cookie_expires_while_the_job_waits():
    now_s = [NOW_S]
    cookies = ChainCookies(now_s=lambda: now_s[0])
    cookies.set_from("http://a.test/", [("set-cookie", "a=1; Max-Age=60")])
    now_s[0] += 61
    assert cookies.header_for("http://a.test/") is None


def test_the_number_of_cookies_is_bounded():
    cookies = jar(*(f"c{number}={number}; Path=/" for number in range(1000)))
    assert len(cookies) == MAX_COOKIES
    header = cookies.header_for("https://www.shop.test/")
    assert header is not None
    assert "c999=999" in header


def test_the_header_is_bounded():
    cookies = jar(*(f"c{number}={'x' * 4000}; Path=/" for number in range(40)))
    header = cookies.header_for("https://www.shop.test/")
    assert header is not None
    assert len(header) <= 8192


def test_a_chain_survives_a_move_as_bytes():
    cookies = jar("a=1; Path=/; Max-Age=60", "b=ü; Secure; Domain=shop.test; Path=/")
    again = ChainCookies.load(cookies.dump(), now_s=lambda: NOW_S)
    assert again.dump() == cookies.dump()
    assert again.header_for("https://www.shop.test/") == "a=1; b=ü"
    assert ChainCookies().dump() == b""


@given(st.binary(max_size=100))
def test_no_bytes_upset_loading(data):
    cookies = ChainCookies.load(data)
    assert ChainCookies.load(cookies.dump()).dump() == cookies.dump()


@pytest.mark.parametrize("data", [b"", b"junk", b"\xc0", b"\x91\x01", b"\x81\xa1a\x01", b"\xff" * 50])
def test_what_is_no_dump_gives_an_empty_chain(data):
    assert len(ChainCookies.load(data)) == 0


@pytest.mark.parametrize(
    ("given_header", "gathered", "sent"),
    [
        (None, None, None),
        ("a=1", None, "a=1"),
        (None, "b=2", "b=2"),
        ("a=1; b=1", "b=2; c=3", "a=1; b=2; c=3"),
    ],
)
def test_the_callers_cookies_and_the_chains_go_together(given_header, gathered, sent):
    assert join_cookies(given_header, gathered) == sent


def test_other_headers_set_nothing():
    cookies = ChainCookies()
    cookies.set_from("http://a.test/", [("cookie", "a=1"), ("set-cookie2", "b=1")])
    assert len(cookies) == 0


@given(st.text(max_size=200), st.text(max_size=50))
def test_no_header_and_no_url_upset_it(value, url):
    cookies = ChainCookies()
    cookies.set_from("https://a.b.test/x", [("set-cookie", value)])
    cookies.set_from(url, [("set-cookie", value)])
    header = cookies.header_for("https://a.b.test/x")
    assert header is None or not set(header) & set("\r\n\0")
    cookies.header_for(url)
