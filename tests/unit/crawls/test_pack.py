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


def page(number: int) -> Document:
    return Document(url=f"https://e.test/{number}", source_url="https://e.test/", status=200, markdown="orchard " * 50)


def test_a_page_that_is_followed_is_given_back_as_it_was() -> None:
    packer, document = Packer(), page(1)
    packer.room = 100_000
    body = packer.pack(document)
    line, found = packer.unpack(body)
    assert found is document
    assert line == unpack(body)


def test_a_page_is_kept_for_one_who_asks() -> None:
    packer, document = Packer(), page(1)
    packer.room = 100_000
    body = packer.pack(document)
    assert packer.unpack(body) == packer.unpack(body)
    assert packer.unpack(body)[1] is not document


def test_where_nobody_follows_nothing_is_kept() -> None:
    packer, document = Packer(), page(1)
    line, found = packer.unpack(packer.pack(document))
    assert found is not document
    assert (line, found) == (unpack(packer.pack(document)), document)


def test_what_nobody_asked_for_makes_room() -> None:
    packer = Packer()
    packer.room = 10_000
    documents = [page(number) for number in range(40)]
    bodies = [packer.pack(document) for document in documents]
    kept = [packer.unpack(body)[1] is document for body, document in zip(bodies, documents, strict=True)]
    assert not any(kept[:10])
    assert all(kept[-10:])


def test_room_is_kept_for_many_pages() -> None:
    packer = Packer()
    packer.room = 10_000
    small, large = page(1), Document(url="u", source_url="u", status=200, markdown="orchard " * 1_000)
    first, second = packer.pack(small), packer.pack(large)
    assert packer.unpack(first)[1] is small
    assert packer.unpack(second)[1] is not large
