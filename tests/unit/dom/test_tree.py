from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perseid.dom import tree as dom

if TYPE_CHECKING:
    from perseid.dom.tree import Backend, Tree

BACKENDS: tuple[Backend, ...] = ("turbohtml", "lexbor")

PAGE = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE html><html lang="en"><head><title>T &amp; t</title></head>
<body CLASS="Wide  Page" hidden><!-- note --><div id=main role=main data-X="1"><p>one <b>two</b> three</p>
<ul><li>a<li>b</ul></div><template><a href="/inert">x</a></template><a href>q</a></body></html>"""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def page(backend: Backend) -> Tree:
    return dom.parse(PAGE, backend=backend)


def test_the_backend_asked_for_is_used(page: Tree, backend: Backend) -> None:
    assert page.backend == backend


def test_an_xml_declaration_before_the_doctype_does_not_matter(page: Tree) -> None:
    assert page.tag(page.root) == "html"
    assert [page.text(n) for n in page.select("li")] == ["a", "b"]


def test_attributes_are_plain_strings(page: Tree) -> None:
    assert page.attr(page.body, "class") == "Wide  Page"
    assert page.attr(page.body, "hidden") == ""
    assert page.attr(page.body, "absent") is None
    main = page.first("#main")
    assert page.attrs(main) == {"id": "main", "role": "main", "data-x": "1"}


def test_select_finds_descendants_only(page: Tree) -> None:
    main = page.first("#main")
    assert page.select("div", main) == []
    assert page.first("div", main) is None
    assert [page.tag(n) for n in page.select("p, b, li", main)] == ["p", "b", "li", "li"]


def test_a_malformed_selector_is_a_value_error(page: Tree) -> None:
    with pytest.raises(ValueError, match="selector"):
        page.select("a[")
    with pytest.raises(ValueError, match="selector"):
        page.first("a[")


def test_children_hold_text_and_comments_in_order(page: Tree) -> None:
    paragraph = page.first("p")
    assert [page.tag(n) for n in page.children(paragraph)] == ["#text", "b", "#text"]
    assert [page.data(n) for n in page.children(paragraph)] == ["one ", "", " three"]
    assert page.tag(page.children(page.body)[0]) == "#other"


def test_elements_are_the_child_elements(page: Tree) -> None:
    assert [page.tag(n) for n in page.elements(page.body)] == ["div", "a"]


def test_walk_gives_all_descendants_and_not_the_node_itself(page: Tree) -> None:
    paragraph = page.first("p")
    assert [page.tag(n) for n in page.walk(paragraph)] == ["#text", "b", "#text", "#text"]


def test_templates_are_not_part_of_the_page(page: Tree) -> None:
    assert page.select("a[href='/inert']") == []
    assert "inert" not in page.outer_html(page.body)


def test_declarative_shadow_roots_are_part_of_the_page(backend: Backend) -> None:
    page = dom.parse(
        "<x-card><template shadowrootmode=open><p>in <b>shadow</b></p></template></x-card>", backend=backend
    )
    assert page.inner_html(page.first("x-card")) == "<p>in <b>shadow</b></p>"


def test_parents_end_at_the_root(page: Tree) -> None:
    assert page.tag(page.parent(page.first("p"))) == "div"
    assert page.parent(page.root) is None


def test_nodes_are_hashable_and_equal_to_themselves(page: Tree) -> None:
    assert page.first("p") == page.select("p")[0]
    assert len({page.first("p"), page.select("p")[0], page.first("b")}) == 2


def test_html_of_a_node(page: Tree) -> None:
    paragraph = page.first("p")
    assert page.outer_html(paragraph) == "<p>one <b>two</b> three</p>"
    assert page.inner_html(paragraph) == "one <b>two</b> three"


def test_a_removed_node_is_gone_and_its_handles_stay_valid(page: Tree) -> None:
    paragraph, bold = page.first("p"), page.first("b")
    page.remove(paragraph)
    assert page.select("p") == []
    assert page.parent(paragraph) is None
    assert page.text(bold) == "two"
    page.remove(paragraph)
    assert page.text(paragraph) == "one two three"


def test_unwrap_keeps_the_children(page: Tree) -> None:
    page.unwrap(page.first("b"))
    assert page.outer_html(page.first("p")) == "<p>one two three</p>"


def test_attributes_can_be_set_and_deleted(page: Tree) -> None:
    link = page.first("a")
    page.set_attr(link, "href", "/x?a=1&b=2")
    page.set_attr(link, "title", "t")
    page.set_attr(link, "title", None)
    page.set_attr(link, "title", None)
    assert page.attrs(link) == {"href": "/x?a=1&b=2"}


def test_a_node_can_become_text(page: Tree) -> None:
    page.replace_with_text(page.first("b"), "<2>")
    assert page.outer_html(page.first("p")) == "<p>one &lt;2&gt; three</p>"


def test_flat_lists_describe_the_subtree(page: Tree) -> None:
    flat = page.flatten()
    assert flat.tags == ["body", "div", "p", "b", "ul", "li", "li", "a"]
    assert flat.parents == [-1, 0, 1, 2, 1, 4, 4, 0]
    assert flat.ends == [8, 7, 4, 4, 7, 6, 7, 8]
    assert flat.run_at == [2, 3, 2, 5, 6, 7]
    assert flat.run_text == ["one", "two", "three", "a", "b", "q"]
    assert flat.marks[:2] == ["wide  page", "main main"]
    assert flat.nodes[2] == page.first("p")


def test_both_backends_flatten_alike() -> None:
    one, two = (dom.parse(PAGE, backend=b).flatten() for b in BACKENDS)
    for name in ("tags", "parents", "ends", "marks", "run_at", "run_text"):
        assert getattr(one, name) == getattr(two, name), name


def test_lone_surrogates_and_nul_become_encodable_text(backend: Backend) -> None:
    page = dom.parse("<p title='\ud800'>a\ud800b\x00c 😀</p>", backend=backend)
    text = page.text(page.first("p"))
    assert text.encode().decode() == text
    assert text.startswith("a\ufffdb")
    assert text.endswith("😀")


@pytest.mark.parametrize("html", ["", " ", "\x00", "<", "<!", "<?xml", "x", "<frameset><frame>", "<html></html>"])
def test_every_input_has_a_root_and_a_body(backend: Backend, html: str) -> None:
    page = dom.parse(html, backend=backend)
    assert page.tag(page.root) == "html"
    assert page.flatten().parents[0] == -1
    assert page.text(page.body) is not None


@pytest.mark.parametrize("unit", ["<div>", "<span>", "<b>", "<ul><li>", "<table><tr><td>", "<a><div>"])
def test_deep_nesting_is_bounded_in_time(backend: Backend, unit: str) -> None:
    html = unit * (100_000 // unit.count("<")) + "bottom"
    start = time.process_time()
    page = dom.parse(html, backend=backend)
    page.flatten()
    assert page.text(page.root).endswith("bottom")
    assert time.process_time() - start < 10


def test_huge_attributes_are_kept_or_cut_without_harm(backend: Backend) -> None:
    page = dom.parse(f"<p title='{'x' * 3_000_000}'>t</p>" + "<i a=1>" * 10, backend=backend)
    assert page.text(page.first("p")) == "t"


def test_lexbor_takes_over_when_the_first_backend_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_html: str) -> Tree:
        raise RuntimeError("parser fault")

    monkeypatch.setattr(dom, "TurboTree", broken)
    assert dom.parse(PAGE).backend == "lexbor"


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="<>/=\"' abpdiv!-&;x\x00\ud800é", max_size=80))
def test_no_input_breaks_a_backend(html: str) -> None:
    for backend in BACKENDS:
        page = dom.parse(html, backend=backend)
        flat = page.flatten(page.root)
        assert len(flat.nodes) == len(flat.tags) == len(flat.parents) == len(flat.ends)
        page.outer_html(page.root).encode()


def test_one_walk_finds_elements_by_tag(page: Tree) -> None:
    found = page.by_tag(frozenset({"li", "a", "div", "nav"}), page.body)
    assert {tag: [page.text(node) for node in nodes] for tag, nodes in found.items()} == {
        "div": [page.text(page.select("#main")[0])],
        "li": ["a", "b"],
        "a": ["q"],
    }


def test_an_element_is_not_found_within_itself(page: Tree) -> None:
    (main,) = page.select("div")
    assert "div" not in page.by_tag(frozenset({"div", "p"}), main)
    assert page.select("div", main) == []


def test_values_of_many_elements_are_had_at_once(page: Tree) -> None:
    assert page.values(page.select("a, div"), "href") == [None, ""]


def test_a_break_can_be_put_before_an_element(page: Tree) -> None:
    page.break_before(page.select("b")[0])
    assert "one <br><b>two</b>" in page.inner_html(page.select("p")[0])


def test_selecting_within_many_alike_elements_stays_linear(backend: Backend) -> None:
    tree = dom.parse("<div>" + "<p>same</p>" * 20_000 + "</div>", backend=backend)
    start = time.process_time()
    assert len(tree.select("p", tree.body)) == 20_000
    assert all(tree.parent(node) is not None for node in tree.select("p"))
    assert time.process_time() - start < 2
