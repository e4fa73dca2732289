from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links.textlinks import discover_text


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see http://a.test/x, and HTTPS://B.test.", ["http://a.test/x", "HTTPS://B.test"]),
        ("(https://a.test/x_(y)) (https://a.test/z)", ["https://a.test/x_(y)", "https://a.test/z"]),
        ("www.a.test/x and mail@www.b.test", ["http://www.a.test/x"]),
        ("见https://a.test/x。然后，https://b.test/？", ["https://a.test/x", "https://b.test/"]),
        ('"https://a.test/?q=1&b=2" <https://b.test>', ["https://a.test/?q=1&b=2", "https://b.test"]),
        ("https://a.test https://a.test", ["https://a.test"]),
        ("https://a.test/é", ["https://a.test/é"]),
        ("xhttp://a.test ftp://b.test no", []),
        ("[md](/relative)", []),
        ("https://", []),
        ("", []),
    ],
)
def test_plain_text(text: str, links: list[str]) -> None:
    assert discover_text(text, markdown=False) == links


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](b.md)", ["b.md"]),
        ('[a](b "title") [c](<d e>) [f]( g )', ["b", "d e", "g"]),
        ("[a](b_(c)) [d](e\\)f)", ["b_(c)", "e)f"]),
        ("![img](no.png) [![alt](no.png)](yes)", ["yes"]),
        ("[a [b] c](d)", ["d"]),
        ("[ref][x]\n\n[x]: /target 'title'\n[y]: <with space>", ["/target", "with space"]),
        ("[^1]: https://a.test note", ["https://a.test"]),
        ("<https://a.test/x> https://b.test.", ["https://a.test/x", "https://b.test"]),
        ('<a class="x" href="h">t</a> <A HREF=\'i\'>', ["h", "i"]),
        ("`[a](no)` ``x ` [b](no)`` [c](yes)", ["yes"]),
        ("a ` tick [c](yes)\n\nand ` another", ["yes"]),
        ("```\n[a](no)\n[b]: no\n```\n[c](yes)", ["yes"]),
        ("~~~~ js\n[a](no)\n~~~\n[b](no)\n~~~~\n[c](yes)", ["yes"]),
        ("```\nnever closed [a](no)", []),
        (r"\[a](no) \![b](yes)", ["yes"]),
        ("[a]()", []),
        ("[a](b)\n[c](b)", ["b"]),
        ("[x]: early\n[a](late)", ["early", "late"]),
        ("[https://a.test](https://b.test)", ["https://a.test", "https://b.test"]),
        ("text ] ( [", []),
    ],
)
def test_markdown(text: str, links: list[str]) -> None:
    assert discover_text(text, markdown=True) == links


HOSTILE = [
    "[", "](", "`", "<a ", "[a]: ", "(https://x)", "\\", "https://x)", "[\n", "~~~\n", "www.", "[](\\", "https://x.",
    "[](((", "`` ` ", "![", "<https://", "<a href='", "[](<", "```\n", "\n    [x]:",
]  # fmt: skip


@pytest.mark.parametrize("markdown", [True, False])
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_text_and_not_with_its_square(piece: str, markdown: bool) -> None:
    started = time.process_time()
    discover_text(piece * (300_000 // len(piece)), markdown=markdown)
    assert time.process_time() - started < 2.5


@given(st.text(alphabet=st.sampled_from(list("[]()<>`~!\\ \n:/.hwtpsa'\"x#^")), max_size=200), st.booleans())
def test_no_text_makes_it_raise(text: str, markdown: bool) -> None:
    assert all(discover_text(text, markdown=markdown))
