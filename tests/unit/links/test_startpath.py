"""Which of two start URLs confines a crawl."""

from __future__ import annotations

import pytest

from perseid.links.startpath import StartPath, confining


@pytest.mark.parametrize(
    ("requested", "final", "expected"),
    [
        ("http://e.test/", "http://e.test/home/", "requested"),
        ("http://e.test/", "https://www.e.test/de/start.html", "requested"),
        ("http://e.test/docs/", "http://e.test/docs/intro", "requested"),
        ("http://e.test/docs", "http://e.test/docs/", "requested"),
        ("http://e.test/docs/", "http://e.test/manual/", "final"),
        ("http://e.test/", "http://other.test/", "final"),
        ("http://e.test/", "http://e.test:8080/", "final"),
        ("nonsense", "http://e.test/", "final"),
    ],
)
def test_a_front_page_that_leads_on_leaves_its_site_open(requested: str, final: str, expected: str) -> None:
    assert confining(requested, final) == {"requested": requested, "final": final}[expected]


@pytest.mark.parametrize(
    ("start", "covered", "outside"),
    [
        ("/docs/", ["/docs/", "/docs", "/docs/a/b"], ["/docsearch", "/"]),
        ("/docs/a.html", ["/docs/", "/docs/b"], ["/other"]),
        ("/docs", ["/docs", "/docs/a"], ["/docsearch", "/"]),
    ],
)
def test_a_start_path_covers_what_lies_below(start: str, covered: list[str], outside: list[str]) -> None:
    path = StartPath(start)
    assert [each for each in [*covered, *outside] if path.covers(each)] == covered
