from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perseid.content import features, pagetype
from perseid.content.main import main_content
from perseid.content.survey import Survey
from perseid.dom import tree as trees

if TYPE_CHECKING:
    from perseid.content.main import Main
    from perseid.dom.tree import Backend

URL = "https://example.org/2024/05/on-the-lathe-and-its-uses"
WORDS = (
    "The lathe turns the work against a fixed tool, and so the oldest of machines makes round things round. ",
    "A good edge matters more than speed, as every turner learns, and patience matters more than either. ",
    "In winter the shop is cold, the oil is thick, and the first cut of the day is always the worst one. ",
    "Brass wants no rake at all, while aluminium asks for plenty of it; steel lies somewhere in between. ",
    "Whoever has cut a thread by hand knows why the leadscrew was invented, and blesses its inventor. ",
)


def paragraphs(count: int, start: int = 0) -> str:
    return "".join(f"<p>{n}. {WORDS[n % 5]}{WORDS[(n + 2) % 5]}</p>" for n in range(start, start + count))


def menu(words: str) -> str:
    return "<ul>" + "".join(f'<li><a href="/{word}">{word.title()}</a></li>' for word in words.split()) + "</ul>"


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>On the lathe</title>{head}</head><body>{body}</body></html>"


def article(extra: str = "", after: str = "") -> str:
    return page(
        f'<header class="masthead"><a href="/">The Workshop</a>{menu("home tools wood metal shop about")}</header>'
        f'<div class="content"><article class="post"><h1>On the lathe</h1>{paragraphs(6)}{extra}{paragraphs(4, 6)}'
        f'</article>{after}</div><aside class="sidebar"><h3>Related posts</h3>{menu("planes saws files rasps")}</aside>'
        f'<footer class="site-footer"><p>Copyright The Workshop. All rights reserved.</p>'
        f"{menu('privacy terms imprint')}</footer>"
    )


def extracted(html: str, *, url: str = URL, backend: Backend = "turbohtml") -> tuple[str, Main]:
    tree = trees.parse(html, backend=backend)
    main = main_content(tree, url=url)
    return tree.outer_html(main.node), main


@pytest.mark.parametrize("backend", ["turbohtml", "lexbor"])
def test_an_article_stays_and_what_surrounds_it_goes(backend: Backend) -> None:
    html, main = extracted(article(), backend=backend)
    assert WORDS[0] in html
    assert html.count("<p>") == 10
    for clutter in ("Tools", "Related posts", "Rasps", "Copyright", "Imprint"):
        assert clutter not in html
    assert main.page_type == "article"
    assert main.confidence > 0.8
    assert not main.fallback


def test_code_in_an_article_stays() -> None:
    html, _ = extracted(article('<pre><code class="language-python">feed = 0.2\nspeed = 300</code></pre>'))
    assert '<code class="language-python">feed = 0.2\nspeed = 300</code>' in html


def test_lists_in_an_article_stay() -> None:
    items = "".join(f"<li>{text}</li>" for text in WORDS)
    html, _ = extracted(article(f"<ul>{items}</ul>"))
    assert html.count("<li>") == len(WORDS)


def test_the_rows_of_a_table_are_never_torn_apart() -> None:
    rows = "".join(f"<tr><td>M{n}</td><td>{n / 10} mm</td><td>{WORDS[n % 5]}</td></tr>" for n in range(1, 9))
    html, _ = extracted(article(f"<table><tr><th>Name</th><th>Pitch</th><th>Use</th></tr>{rows}</table>"))
    kept = [row.count("<td>") for row in html.split("<tr>")[1:] if "<td>" in row]
    assert kept == [3] * 8


def test_equal_cells_of_a_table_are_no_repeats() -> None:
    rows = "".join(f"<tr><td>M{n}</td><td>{WORDS[0]}</td></tr>" for n in range(1, 9))
    html, _ = extracted(article(f"<table><tr><th>Name</th><th>Use</th></tr>{rows}</table>"))
    assert html.count(f"<td>{WORDS[0]}</td>") == 8


def test_images_beside_kept_text_stay() -> None:
    html, _ = extracted(article('<figure><img src="/lathe.jpg" alt="A lathe"></figure>'))
    assert "/lathe.jpg" in html


def test_comments_below_a_complete_article_go() -> None:
    comments = "".join(
        f'<li class="comment"><div class="comment-author"><a href="/u{n}">user{n}</a></div><p>Thanks for that!</p></li>'
        for n in range(12)
    )
    html, _ = extracted(article(after=f'<section id="comments" class="comments"><ol>{comments}</ol></section>'))
    assert "Thanks for that" not in html
    assert WORDS[0] in html


def test_the_posts_of_a_thread_stay() -> None:
    posts = "".join(
        f'<div class="post" id="post{n}"><div class="author"><a href="/user/{n}">user{n}</a></div>'
        f'<div class="message"><p>{n}. {WORDS[n % 5]}{WORDS[(n + 1) % 5]}</p></div></div>'
        for n in range(8)
    )
    html, main = extracted(
        page(f'{menu("home forum members search")}<h1>Which lathe?</h1><div class="thread">{posts}</div>'),
        url="https://forum.example.org/threads/which-lathe.17/",
    )
    assert main.page_type == "forum"
    assert html.count('class="message"') == 8


def test_a_text_that_stands_twice_is_kept_once() -> None:
    twice = f"<div class='copy'>{paragraphs(5)}</div>"
    html, _ = extracted(page(f"<h1>On the lathe</h1><div>{twice}</div><div>{twice}</div>"))
    assert html.count(f"3. {WORDS[3]}") == 1


def test_a_second_article_below_the_first_goes() -> None:
    second = f'<div class="next"><div><div><h1>On glue</h1><div>{paragraphs(2, 40)}</div></div></div></div>'
    html, _ = extracted(article(after=second))
    assert "On glue" not in html
    assert "9. " in html


@pytest.mark.parametrize(
    ("generator", "body"),
    [
        (
            "DocBook XSL Stylesheets",
            '<div class="navheader">N</div><div class="sect1">{}</div><div class="navfooter">N</div>',
        ),
        ("Docutils 0.19", '<div class="related">N</div><div class="document"><div role="main">{}</div></div>'),
        ("javadoc/17", "<header><nav>N</nav></header><main role='main'>{}</main>"),
        ("MediaWiki 1.40", '<div id="content"><div id="contentSub">N</div>{}</div><div id="mw-panel">N</div>'),
    ],
)
def test_documentation_tools_are_known_by_their_marks(generator: str, body: str) -> None:
    content = f"<h1>Threads</h1>{paragraphs(2)}<pre>cut()</pre>"
    html, main = extracted(page(body.format(content), f'<meta name="generator" content="{generator}">'))
    assert main.page_type == "documentation"
    assert content in html
    assert ">N<" not in html


def test_a_tools_mark_on_a_small_part_of_the_page_is_not_believed() -> None:
    html, _ = extracted(
        page(f"<main>Short but long enough to be looked at.</main><div>{paragraphs(9)}</div>",
             '<meta name="generator" content="javadoc/17">')
    )  # fmt: skip
    assert html.count("<p>") == 9


@pytest.mark.parametrize("html", ["", "<p></p>", "<script>x</script>", "\x00", "<frameset><frame></frameset>"])
def test_a_page_without_text_falls_back_to_its_body(html: str) -> None:
    main = extracted(html)[1]
    assert main.fallback
    assert main.confidence == 0


@pytest.mark.parametrize(
    ("url", "head", "kind"),
    [
        ("https://example.org/products/lathe", '<meta property="og:type" content="product">', "product"),
        (
            "https://example.org/category/lathes/",
            '<script type="application/ld+json">{"@type": "ItemList"}</script>',
            "listing",
        ),
        ("https://example.org/docs/reference/lathe", "", "documentation"),
        ("https://example.org/", "", "service"),
    ],
)
def test_the_page_type_is_told(url: str, head: str, kind: str) -> None:
    assert extracted(page(f"<h1>Lathes</h1>{paragraphs(1)}", head), url=url)[1].page_type == kind


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "some text, deep down",
        "<div><table><tr><td>" * 20_000 + "some text, deep down",
        "<p>one, two. " * 25_000,
        "<ul>" + "<li><a href=x>y</a>" * 25_000,
        "<a>" * 20_000 + "<b>" * 20_000 + "x",
        "<div class='" + "comment " * 50_000 + "'>x",
        "<h2>a</h2>" * 25_000,
    ],
    ids=["deep", "deep tables", "paragraphs", "links", "formatting", "classes", "headings"],
)
def test_hostile_pages_are_done_in_linear_time(html: str) -> None:
    start = time.process_time()
    extracted(html)
    assert time.process_time() - start < 15


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["<div>", "</div>", "<table>", "<tr>", "<td>", "<p>", "<h2>", "<a href=x>", "</a>",
                                 "<li>", "text. ", "some, longer. words ", "<pre>", "<svg>", "<math>"]), max_size=60))  # fmt: skip
def test_any_page_has_a_main_content(parts: list[str]) -> None:
    html = "".join(parts)
    tree = trees.parse(html)
    had_text = bool(tree.text(tree.body).strip())
    main = main_content(tree, url="not a url")
    assert 0 <= main.confidence <= 1
    assert tree.tag(main.node) not in {"#text", "#other"}
    assert had_text or main.fallback


def test_columns_hold_numbers_of_the_type_the_forest_compares_them_as() -> None:
    tree = trees.parse(article(extra="<ul><li>One.</li><li>Two (2)</li></ul><table><tr><td>3</td></tr></table>"))
    found = features.columns(Survey(tree.flatten()), pagetype.facts(tree, URL))
    assert features.COUNTS | features.OF_PAGE - {"page_title"} <= found.keys()
    for name, column in found.items():
        assert {type(value) for value in column} == {int if name in features.COUNTS else float}, name
        assert name not in features.OF_PAGE or len(set(column)) == 1, name
