from __future__ import annotations

import pytest

from perseid.content.markdown import to_markdown
from perseid.dom import tree as trees


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>See <code><a href='/x'>Buffer</a></code>.</p>", "See [`Buffer`](https://e.org/x)."),
        (
            "<p><code>a.<a href='/y'>List</a>&lt;<a href='/z'>T</a>&gt;</code></p>",
            "`a.`[`List`](https://e.org/y)`<`[`T`](https://e.org/z)`>`",
        ),
        ("<pre><code>x <a href='/q'>y</a></code></pre>", "```\nx y\n```"),
    ],
)
def test_links_within_code_stay_links(html: str, markdown: str) -> None:
    tree = trees.parse(html)
    assert to_markdown(tree, [tree.body], lambda href: f"https://e.org{href}").strip() == markdown
