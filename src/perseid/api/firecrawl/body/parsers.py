"""Which files are turned into text, and how."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Field, Tag

from perseid.api.firecrawl.body.base import Body, Int


class PdfParser(Body):
    type: Literal["pdf"]
    mode: Literal["fast", "auto", "ocr"] = "auto"
    max_pages: Annotated[Int, Field(ge=1, le=10_000)] | None = None
    pages: bool = False
    page_markdown: bool = False
    blocks: bool = False
    page_markers: bool = False


class ImageParser(Body):
    """Newer clients name it; there is nothing behind it here."""

    type: Literal["image"]
    mode: str | None = None


def _tag(value: Any) -> str:
    """An object is held to the parser it names; else it would be told the faults of all of them."""
    if isinstance(value, str):
        return "name"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "image" if kind == "image" else "pdf"


Parsers = list[
    Annotated[
        Annotated[Literal["pdf", "image"], Tag("name")]
        | Annotated[PdfParser, Tag("pdf")]
        | Annotated[ImageParser, Tag("image")],
        Discriminator(_tag),
    ]
]
DEFAULT_PARSERS: Parsers = ["pdf"]


class Parsing(NamedTuple):
    """What is asked of PDFs; `missing` names what can't be done."""

    pdf: bool = True
    max_pages: int | None = None
    missing: tuple[str, ...] = ()


def parsing(parsers: Parsers) -> Parsing:
    found = Parsing(pdf=False)
    for each in parsers:
        match each:
            case "pdf":
                found = found._replace(pdf=True)
            case PdfParser():
                found = Parsing(pdf=True, max_pages=each.max_pages, missing=(*found.missing, *_missing(each)))
            case _:
                found = found._replace(missing=(*found.missing, "parsers.image"))
    return found


def _missing(parser: PdfParser) -> list[str]:
    asked = {
        "parsers.mode ocr": parser.mode == "ocr",
        "parsers.pages": parser.pages or parser.page_markdown,
        "parsers.blocks": parser.blocks,
        "parsers.pageMarkers": parser.page_markers,
    }
    return [name for name, wanted in asked.items() if wanted]
