"""Pages of a few lines keep all that does not call itself clutter."""

from __future__ import annotations

import pytest

from perseid.content.sparse import content_of
from perseid.content.survey import Survey
from perseid.dom import tree as trees


def kept(html: str) -> list[str] | None:
    survey = Survey(trees.parse(html).flatten())
    labels = content_of(survey)
    return None if labels is None else [text for text, stays in zip(survey.texts, labels, strict=True) if stays]


@pytest.mark.parametrize(
    "clutter",
    [
        "<nav>Menu</nav>",
        "<nav>A menu that is a good deal longer than the whole rest of this small page together</nav>",
        "<header>Site</header>",
        "<aside>Aside</aside>",
        "<footer>Imprint</footer>",
        "<div class=sidebar>Side</div>",
        "<div id=cookie-banner>Cookies</div>",
    ],
)
def test_what_calls_itself_clutter_goes(clutter: str) -> None:
    assert kept(f"<title>T</title>{clutter}<h1>Stones</h1><p>All about stones.</p>") == ["Stones", "All about stones."]


def test_headings_and_links_of_a_few_lines_stay() -> None:
    html = "<title>Home</title><h1>Welcome</h1><p>Some text.</p><a href=/a>A</a> <a href=/b>B</a>"
    assert sorted(kept(html) or []) == ["A B", "Some text.", "Welcome"]


def test_the_header_of_an_article_stays() -> None:
    assert kept("<article><header><h1>Title</h1></header><p>Text</p></article>") == ["Title", "Text"]


def test_nothing_but_clutter_is_judged_by_more() -> None:
    assert kept("<nav>Menu</nav>") is None


_PROSE = "".join(f"<p>{n}. {'Some words of a longer text. ' * 12}</p>" for n in range(6))


def test_a_page_of_text_and_nothing_else_is_kept_whole() -> None:
    texts = kept(f"<title>Report</title><h1>Report</h1>{_PROSE}<p><a href=/next>Go on</a></p>") or []
    assert (texts[0], texts[-1], len(texts)) == ("Report", "Go on", 8)


def test_a_longer_page_with_a_frame_or_many_links_is_judged_block_by_block() -> None:
    links = "".join(f"<p><a href=/{n}>A link with some more words to it</a></p>" for n in range(40))
    assert kept(f"<nav><a href=/x>Elsewhere</a></nav><h1>Report</h1>{_PROSE}") is None
    assert kept(f"<h1>Report</h1>{_PROSE}{links}") is None
