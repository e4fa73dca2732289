"""What the front matter says, PyYAML reads back unchanged."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from perseid.model.document import Document
from perseid.sink.frontmatter import front_matter, scalar


def read(head: str) -> dict[str, Any]:
    assert head.startswith("---\n")
    assert head.endswith("\n---\n")
    loaded = yaml.safe_load(head[4:-4])
    assert isinstance(loaded, dict)
    return loaded


def test_page_says_what_it_is() -> None:
    document = Document(
        url="https://h/b",
        source_url="https://h/a",
        status=200,
        title="SELECT: the statement",
        content_type="text/html; charset=utf-8",
        metadata={"language": "no", "author": ["A", "B: C"], "description": "x # y"},
        fetched_at=1_700_000_000_000_000,
    )
    assert read(front_matter(document)) == {
        "url": "https://h/b",
        "source_url": "https://h/a",
        "title": "SELECT: the statement",
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "fetched_at": "2023-11-14T22:13:20Z",
        "description": "x # y",
        "language": "no",
        "author": ["A", "B: C"],
    }


def test_plain_text_stands_bare() -> None:
    assert scalar("https://h/docs/a.html") == "https://h/docs/a.html"
    assert scalar("Getting started") == "Getting started"


@given(st.text())
@example("No")
@example("a: b")
@example("a:")
@example("a #b")
@example("---")
@example("1e3")
@example("a\u2028b\x85c\ufeffd\x7f")
@example("https://h/?a=b&c=[1]#frag")
@example("=")
@example("nan")
@example("a\n---\nb")
def test_any_text_survives(text: str) -> None:
    line = scalar(text)
    assert "\n" not in line
    assert yaml.safe_load(f"key: {line}\n") == {"key": text}


def test_lone_surrogate_becomes_a_replacement() -> None:
    assert yaml.safe_load(scalar("a\ud800b")) == "a\ufffdb"


def test_absurd_time_is_kept_as_a_number() -> None:
    document = Document(url="https://h/", source_url="https://h/", status=200, fetched_at=10**30)
    assert read(front_matter(document))["fetched_at"] == 10**30
