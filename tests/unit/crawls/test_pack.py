"""Documents into the store and out again."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from perseid.crawls.pack import Packer, read, unpack
from perseid.model.document import Document

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)


@given(TEXT, TEXT, st.integers(100, 599), st.lists(TEXT, max_size=3))
def test_a_document_comes_back_as_it_went_in(url: str, text: str, status: int, links: list[str]) -> None:
    document = Document(url=url, source_url=url, status=status, markdown=text, links=links, metadata={"a": [text]})
    assert read(unpack(Packer().pack(document))) == document


def test_the_line_is_one_line_of_json_without_what_was_not_asked_for() -> None:
    line = unpack(
        Packer().pack(Document(url="https://e.test/", source_url="https://e.test/", status=200, markdown="a\nb"))
    )
    assert b"\n" not in line
    assert json.loads(line) == {
        "url": "https://e.test/",
        "source_url": "https://e.test/",
        "status": 200,
        "markdown": "a\nb",
    }


def test_text_is_compressed() -> None:
    assert len(Packer().pack(Document(url="u", source_url="u", status=200, markdown="orchard " * 10_000))) < 1_000
