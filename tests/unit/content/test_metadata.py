from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from perseid.content.metadata import Head, read_head, robots_flags
from perseid.dom.tree import parse
from perseid.dom.url import Base

if TYPE_CHECKING:
    from pathlib import Path

    from perseid.dom.tree import Backend


@pytest.fixture(params=["turbohtml", "lexbor"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


def head(html: str, backend: Backend = "turbohtml") -> Head:
    return read_head(parse(html, backend=backend), Base("https://x.example/a/b").join)


def test_an_empty_meta_leaves_the_title_alone(shared: Path, backend: Backend) -> None:
    records = (json.loads(line) for line in (shared / "cases" / "cases.jsonl").read_text().splitlines())
    record = next(record for record in records if record["id"] == "E06")
    got = head(record["input"]["html"], backend).metadata
    assert {key: got[key] for key in record["expected"]} == record["expected"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title> A \n B </title>", {"title": "A B"}),
        ("<svg><title>no</title></svg><title>yes</title>", {"title": "yes"}),
        ("<title></title><meta property=og:title content=O>", {"title": "O", "ogTitle": "O", "og:title": "O"}),
        ("<meta name=twitter:title content=T>", {"title": "T", "twitter:title": "T"}),
        ("<title>T</title><meta name=title content=M>", {"title": "T"}),
        ("<html lang=de>", {"language": "de"}),
        ("<title>A</title><title>B</title>", {"title": "A"}),
        ("<meta name=error content=e><meta name=numPages content=9><meta name=other content=o>", {"other": "o"}),
        ("<meta name=empty content=''><meta name=none>", {"empty": ""}),
        ("<meta itemprop=a content=1><meta name=n property=p content=2>", {"a": "1", "n": "2"}),
        ("<link rel='shortcut icon' href=s.ico><link rel=icon href=i.ico>", {"favicon": "https://x.example/a/i.ico"}),
        ("<link rel='apple-touch-icon' href=/t.png>", {"favicon": "https://x.example/t.png"}),
        (
            "<meta property=article:tag content=p><meta name=article:tag content=n>",
            {"articleTag": "n", "article:tag": ["p", "n"]},
        ),
        ("<html lang=de><meta name=language content=German>", {"language": ["de", "German"]}),
        ("<meta name=description content=a><meta name=description content=b>", {"description": "a, b"}),
        ("<meta name=Description content=a>", {"description": "a"}),
        (
            "<meta name=keywords content=a><meta name=keywords content=b><meta name=keywords content=c>",
            {"keywords": ["a", "b", "c"]},
        ),
        ("<meta name=robots content=noindex>", {"robots": "noindex"}),
        (
            "<meta property=og:image content=1><meta property=og:image content=2>",
            {"ogImage": "1", "og:image": ["1", "2"]},
        ),
        ("<meta property=og:locale:alternate content=fr>", {"ogLocaleAlternate": ["fr"], "og:locale:alternate": "fr"}),
        (
            "<meta property=article:published_time content=2020>",
            {"publishedTime": "2020", "article:published_time": "2020"},
        ),
        (
            "<meta name=dc.date content=2020><meta name=dcterms.created content=1>",
            {"dcDate": "2020", "dc.date": "2020", "dcTermsCreated": "1", "dcterms.created": "1"},
        ),
        ("<meta itemprop=price content=3><meta name=viewport content=''>", {"price": "3", "viewport": ""}),
        ("<meta charset=utf-8><meta http-equiv=x content=y><meta name=q>", {}),
        ("<link rel='shortcut icon' href=/s.ico><link rel=icon href=i.png>", {"favicon": "https://x.example/a/i.png"}),
        ("<link rel='shortcut icon' href=/s.ico>", {"favicon": "https://x.example/s.ico"}),
        ("<link rel=icon>", {}),
    ],
)
def test_fields_and_duplicates(html: str, expected: dict[str, object], backend: Backend) -> None:
    assert head(html, backend).metadata == expected


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<link rel=canonical href=/c>", "https://x.example/c"),
        ("<link rel='Canonical nofollow' href=https://y.example/>", "https://y.example/"),
        ("<link rel=canonical href=''>", None),
        ("<link rel=canonical href=mailto:a@b>", None),
        ("", None),
    ],
)
def test_canonical(html: str, canonical: str | None) -> None:
    assert head(html).canonical == canonical


@pytest.mark.parametrize(
    ("value", "flags"),
    [("noindex, nofollow", (True, True)), ("NONE", (True, True)), ("index,follow", (False, False)),
     (["index", "nofollow"], (False, True)), (None, (False, False)), ("noindexed", (False, False))],
)  # fmt: skip
def test_robots_flags(value: str | list[str] | None, flags: tuple[bool, bool]) -> None:
    assert robots_flags(value) == flags


def test_a_head_of_a_million_tags_is_bounded() -> None:
    assert len(head("<meta name=a content=b>" * 100_000).metadata["a"]) <= 2_000
