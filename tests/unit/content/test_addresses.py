from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.content.resolver import Resolver
from perseid.dom.url import Base

BASES = ("https://e.org", "https://e.org/a/b?q=1#f", "http://u@e.org:81/x/", "ftp://e.org/a/b", "data:text/html,x", "")
ADDRESSES = st.one_of(
    st.text(max_size=12),
    st.from_regex(r"\A[a-z./#?:_%~ \\-]{0,12}\Z"),
    st.sampled_from(["", "#", "#a", "a", "a/", "a/../b", ".", "..", "a:b", "//e.net/x", "/x", "a b", "?x", "a#b#c"]),
)


@given(st.sampled_from(BASES), ADDRESSES)
def test_web_addresses_resolve_as_the_standard_says(base: str, href: str) -> None:
    found, wanted = Resolver(base)(href), Base(base).join(href)
    assert found == wanted or not str(wanted).startswith(("http:", "https:"))


@given(st.sampled_from(BASES), st.lists(ADDRESSES, unique=True))
def test_addresses_listed_together_are_those_asked_for_one_by_one(base: str, hrefs: list[str]) -> None:
    together = Resolver(base)
    together.listed(hrefs)
    assert dict(together) == {href: Resolver(base)(href) for href in hrefs}


def test_only_what_can_be_opened_from_a_list_is_listed_once() -> None:
    hrefs = ["a", "./a", "javascript:x()", "data:,x", "mailto:a@e.org", "x-app:1", "http://[", "#s"]
    wanted = ["https://e.org/a", "mailto:a@e.org", "https://e.org/#s"]
    assert Resolver("https://e.org/").listed(hrefs) == wanted


@pytest.mark.parametrize("href", ["javascript:x()", "data:,x", "vbscript:x", "blob:x", "about:blank", "http://["])
def test_an_address_that_leads_nowhere_is_none(href: str) -> None:
    assert Resolver("https://e.org/")(href) is None


def test_what_would_end_a_link_target_is_encoded_in_other_schemes_too() -> None:
    assert Resolver("https://e.org/")("x-app:a <b> c") == "x-app:a%20%3Cb%3E%20c"
