from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from perseid.content.markdown import to_markdown, to_text
from perseid.dom.tree import parse
from perseid.dom.url import Base

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from perseid.dom.tree import Backend

    Render = Callable[..., str]

BASE = "https://i.example/a/"


@pytest.fixture(params=["turbohtml", "lexbor"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def render(backend: Backend) -> Render:
    def markdown(html: str, base: str = BASE) -> str:
        join = Base(base).join

        def resolve(href: str) -> str | None:
            url = join(href)
            return None if url is None or url.startswith(("javascript:", "data:")) else url

        tree = parse(html, backend=backend)
        return to_markdown(tree, [tree.body], resolve)

    return markdown


def case(shared: Path, name: str) -> tuple[dict[str, str], dict[str, object]]:
    for line in (shared / "cases" / "cases.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["id"] == name:
            return record["input"], record["expected"]
    raise AssertionError(name)


def cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]


def urls(markdown: str) -> list[str]:
    return re.findall(r"\]\(((?:[^()\s]|\\.|\([^()\s]*\))*)", markdown)


def test_rowspan_keeps_columns_aligned(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H04")
    rows = [cells(row) for row in render(given["html"]).splitlines()]
    del rows[1]
    assert [len(row) for row in rows] == expected["columns_per_row"]
    assert rows[2][:2] == ["Feb", "2"]
    assert rows[2][2] in expected["row3_cell3_any_of"]


@pytest.mark.parametrize("name", ["H05", "H06", "H07", "H17"])
def test_cases_with_one_right_answer(render: Render, shared: Path, name: str) -> None:
    given, expected = case(shared, name)
    assert render(given["html"], given.get("base", BASE)) == expected["markdown"]


def test_list_directly_in_list_belongs_to_the_item_before(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H08")
    nesting = {line.strip(" -"): (len(line) - len(line.lstrip())) // 2 for line in render(given["html"]).splitlines()}
    assert nesting == expected["nesting"]


def test_lazy_images_beat_placeholders(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H10")
    assert urls(render(given["html"], given["base"])) == expected["image_urls"]


def test_line_breaks_move_out_of_emphasis(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H12")
    got = render(given["html"])
    assert expected["contains"] in got
    assert not [mark for mark in expected["not_contains"] if mark in got]


def test_nothing_is_escaped_in_code(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H13")
    assert f"```\n{expected['code']}\n```" in render(given["html"])


def test_blocks_in_cells_stay_on_one_row(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H14")
    row = render(given["html"]).splitlines()[2]
    assert row in (expected["row2"], expected["accept_also"])


def test_link_targets_parse(render: Render, shared: Path) -> None:
    given, expected = case(shared, "H16")
    assert urls(render(given["html"], given["base"])) == expected["link_urls"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>",
            "| 1 | 2 |\n| --- | --- |\n| 3 | 4 |",
        ),
        (
            "<table><tr><th>a|b<th>c<tr><td>x<br>y<td><code>p|q</code></table>",
            "| a\\|b | c |\n| --- | --- |\n| x<br>y | `p\\|q` |",
        ),
        ("<table><tr><th>a<th>b<tr><td>x</table>", "| a | b |\n| --- | --- |\n| x |  |"),
        ("<table><tr><th>a<th>b<tr><td colspan=99>x</table>", "| a | b |\n| --- | --- |\n| x |  |"),
        ("<table><caption>Cap</caption><tr><th>a<th>b</table>", "Cap\n\n| a | b |\n| --- | --- |"),
        (
            "<table><tr><th>K<th>V<tr><td><pre>l1\nl2</pre><td>b</table>",
            "| K | V |\n| --- | --- |\n| `l1`<br>`l2` | b |",
        ),
        (
            "<table><tr><th>K<th>V<tr><td>x<td><table><tr><td>in<td>ner</table></table>",
            "| K | V |\n| --- | --- |\n| x | in ner |",
        ),
        ("<table role=presentation><tr><td><h2>t</h2><p>a</p></table>", "## t\n\na"),
        ("<table><tr><td rowspan=0>a<td>b<tr><td>c</table>", "| a | b |\n| --- | --- |\n| a | c |"),
        ("<ul><li>a<ol><li>b</li></ol></li><li>c</li></ul>", "- a\n  1. b\n- c"),
        ("<ol start=7><li>a</li><li>b</li></ol>", "7. a\n8. b"),
        ('<pre><code class="language-python">x = 1\n  y</code></pre>', "```python\nx = 1\n  y\n```"),
        (
            '<div class="highlight-python"><div class=highlight><pre><span>def</span> f():\n    pass\n</pre></div></div>',
            "```python\ndef f():\n    pass\n```",
        ),
        ('<pre class="brush: js">x</pre>', "```js\nx\n```"),
        ('<pre class="prettyprint lang-c">x</pre>', "```c\nx\n```"),
        ("<pre data-lang=go>x</pre>", "```go\nx\n```"),
        ('<div class="highlight highlight-source-shell"><pre>ls</pre></div>', "```shell\nls\n```"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ("<pre><code><div>a</div><div>  b</div></code></pre>", "```\na\n  b\n```"),
        ("<pre>```\nx</pre>", "````\n```\nx\n````"),
        ("<p><code>a`b</code></p>", "``a`b``"),
        ('<p><a href="x?a=1#f">q</a></p>', "[q](https://i.example/a/x?a=1#f)"),
        ('<p><a href="/a" title="T &quot;x&quot;">q</a></p>', '[q](https://i.example/a "T \\"x\\"")'),
        ('<p><img src=x.png alt="al" title=ti></p>', '![al](https://i.example/a/x.png "ti")'),
        (
            "<p># no</p><p>1. no</p><p>- no</p><p>a * b _c_ [d]</p>",
            "\\# no\n\n1\\. no\n\n\\- no\n\na \\* b \\_c\\_ \\[d\\]",
        ),
        ("<p>a<b> bold </b>b <b>x:</b>y</p>", "a **bold** b **x**:y"),
        ("<p>a <b><a href=/l>l</a></b> <em>e</em></p>", "a **[l](https://i.example/l)** *e*"),
        ("<p>one<br>two</p>", "one  \ntwo"),
        ("<p>one<br><br>two</p>", "one\n\ntwo"),
        ("<p>a</p><h2> </h2><h3></h3><p>b</p>", "a\n\nb"),
        (
            "<table><tr><td colspan=3>a<tr><td rowspan=2>b<td>c<td>d<tr><td>e</table>",
            "| a |  |  |\n| --- | --- | --- |\n| b | c | d |\n| b | e |  |",
        ),
        ("<table><tr><td>a<td>b<tr><td>&nbsp;<td><tr><td>c<td>d</table>", "| a | b |\n| --- | --- |\n| c | d |"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("<blockquote><p>q</p><blockquote><p>n</p></blockquote></blockquote>", "> q\n>\n> > n"),
        ('<h2>T<a class=headerlink href="#t">¶</a></h2>', "## T"),
        ('<h2><a class=anchor href="#t"><svg><path/></svg></a>T</h2>', "## T"),
        ("<p>a&nbsp;b &copy; so&shy;ft ze&#8203;ro</p>", "a\xa0b © soft zero"),
        ("<p><del>x</del> H<sub>2</sub>O <kbd>Tab</kbd> <mark>m</mark></p>", "~~x~~ H<sub>2</sub>O `Tab` m"),
        ("<details><summary>S</summary><p>body</p></details>", "S\n\nbody"),
        (
            "<ul><li><input type=checkbox checked> done</li><li><input type=checkbox> todo</li></ul>",
            "- [x] done\n- [ ] todo",
        ),
        ("<template><p>t</p></template><noscript><p>n</p></noscript><p>z</p>", "n\n\nz"),
        ("<dl><dt>T</dt><dd>D</dd></dl>", "T\n\nD"),
        ("<p>see <a href='x'></a><a href='y'><i class=icon></i></a>end</p>", "see end"),
        ("<p><a href='javascript:void(0)'>js</a></p>", "js"),
        ("<p>x <button>Copy</button><select><option>o</select></p>", "x"),
        ("<p><img src='data:image/png;base64,AA' alt=pic></p>", "pic"),
        ("<p><img src=a.png alt=a><noscript><img src=a.png alt=a></noscript></p>", "![a](https://i.example/a/a.png)"),
        (
            "<a href=/c><img src=i.png alt=i><h3>Card</h3><p>Text.</p></a>",
            "![i](https://i.example/a/i.png)\n\n### [Card](https://i.example/c)\n\nText.",
        ),
    ],
)
def test_constructs(render: Render, html: str, expected: str) -> None:
    assert render(html) == expected


@pytest.mark.parametrize(
    "html",
    [
        '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td class="code"><pre>a\n  b</pre></td></tr></table>',
        "<table><tr><td class=hljs-ln-numbers>1<td class=hljs-ln-code>a<tr><td class=hljs-ln-numbers>2<td class=hljs-ln-code>  b</table>",
        '<pre><span class="linenos">1</span>a\n<span class="linenos">2</span>  b</pre>',
        "<table class=rouge-table><tr><td class=rouge-gutter><pre>1\n2</pre><td class=rouge-code><pre>a\n  b</pre></table>",
    ],
)
def test_line_numbers_are_no_code(render: Render, html: str) -> None:
    assert render(html) == "```\na\n  b\n```"


@pytest.mark.parametrize(
    ("html", "tex"),
    [
        (
            '<p>k <span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>x</mi></mrow><annotation encoding="application/x-tex">x_1^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">x2</span></span></p>',
            "k $x_1^2$",
        ),
        ("<p>m <x-tex>\\sum_i x</x-tex></p>", "m $\\sum_i x$"),
        ("<p><x-tex mode=display>a*b*c</x-tex></p>", "$$a*b*c$$"),
    ],
)
def test_formulas_keep_their_source(render: Render, html: str, tex: str) -> None:
    assert render(html) == tex


def test_text_format_holds_no_markup(backend: Backend) -> None:
    tree = parse("<h1>T</h1><p>a <b>b</b> <a href=x>c</a></p><pre>x\n  y</pre>", backend=backend)
    lines = [line for line in to_text(tree, [tree.body]).splitlines() if line]
    assert lines == ["T", "a b c", "x", "  y"]


def test_code_whitespace_survives_in_lists_and_quotes(render: Render) -> None:
    got = render("<ul><li>x<pre>a\n\n    b</pre></li></ul><blockquote><pre>q\n  r</pre></blockquote>")
    assert "      b" in got
    assert ">   r" in got


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 3000 + "x",
        "<ul><li>" * 1500 + "x",
        "<b>" * 3000 + "x",
        "<table><tr><td>" * 300 + "x",
        "<blockquote>" * 800 + "x",
    ],
)
def test_deep_nesting_keeps_the_text(render: Render, html: str) -> None:
    assert "x" in render(html)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<ul><li><pre>a\n  b</pre></li></ul>", "- ```\n  a\n    b\n  ```"),
        ("<p>t</p><ul><li>u<ol><li><pre>a</pre></li></ol></li></ul>", "t\n\n- u\n  1. ```\n     a\n     ```"),
        ("<blockquote><ul><li><pre>z</pre></li></ul></blockquote>", "> - ```\n>   z\n>   ```"),
        ("<ul><li><ul><li><pre>a\nb</pre></li></ul></li></ul>", "- - ```\n    a\n    b\n    ```"),
        ("<ul><li><blockquote>q</blockquote></li></ul>", "- > q"),
        (
            "<ul><li><table><tr><th>a<th>b<tr><td>c<td>d</table></li></ul>",
            "- | a | b |\n  | --- | --- |\n  | c | d |",
        ),
    ],
)
def test_the_first_block_of_an_item_stands_beside_its_marker(render: Render, html: str, markdown: str) -> None:
    # On a line of its own the marker would make a heading of a paragraph before it (CommonMark 4.3).
    assert re.sub(r"\n+", "\n", render(html)) == re.sub(r"\n+", "\n", markdown)


def test_empty_items_within_items_make_no_rule(render: Render) -> None:
    text = render("<ul><li><ul><li></li><li><ul><li></li></ul></li></ul></li><li>x</li></ul>")
    assert not re.search(r"^\s*(?:- *){3,}$", text, re.MULTILINE)


def test_tables_with_spans_of_one_are_pipe_tables(render: Render) -> None:
    text = render("<table><tr><th colspan=1>a<th>b<tr><td>c<td rowspan=1>d<tr><td colspan=2>e</table>")
    assert text == "| a | b |\n| --- | --- |\n| c | d |\n| e |  |"


@pytest.mark.parametrize(
    ("cell", "row"),
    [
        ("<p> one</p>\n<p> two </p>\n<div>three</div>", "one<br>two<br>three"),
        ("<p></p><p><i></i> one</p><p> <span></span> </p><p><b>two</b> </p>", "one<br>**two**"),
        ("<p><i></i></p><p><img src=x.png></p><p></p>", "![](https://i.example/a/x.png)"),
        ("<p>one</p>two<p>three</p>", "one<br>two<br>three"),
        ("<div><p>one</p><p>two</p></div>", "one<br>two"),
    ],
)
def test_paragraphs_in_a_cell_are_lines_of_it(render: Render, cell: str, row: str) -> None:
    found = render(f"<table><tr><th>h<th>i<tr><td>x<td>{cell}</table>").split("\n")[-1]
    assert re.sub(r" *<br> *", "<br>", found) == f"| x | {row} |"


def test_a_heading_in_a_link_in_code_by_lines_is_code(render: Render) -> None:
    assert render("<pre><a href=q><h2><li>one</li></h2></a></pre>").strip("`\n") == "one"
