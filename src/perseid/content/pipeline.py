"""From the bytes of one answer to the document users get: decode, parse once, read all of it off one tree."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perseid.content import formula, frames, selfcheck, textual
from perseid.content.attributes import attributes_of, unmatched
from perseid.content.conversion import OFFICE_INSTALL, Office, Pdf, office_installed
from perseid.content.decode import Decoded, decode
from perseid.content.inked import holds
from perseid.content.metadata import TAGS as HEAD_TAGS
from perseid.content.metadata import read_head, robots_flags
from perseid.content.render import render
from perseid.content.resolver import Resolver
from perseid.content.sniff import TEXTUAL, Kind, sniff
from perseid.dom import tree as trees
from perseid.dom import url as urls
from perseid.links.discover import TAGS as LINK_TAGS
from perseid.links.discover import discover, discover_text
from perseid.model.document import AttributeValues, Document, Metadata
from perseid.model.options import ScrapeOptions
from perseid.model.verdict import FailureCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HEAVY_BYTES = 3_000_000
"""HTML beyond that goes to a child process: it would hold up everything else for a second and more."""
_OFFICE = "office"
"""As what an office file's HTML is said to be decoded by."""
_LINKED = frozenset({Kind.MARKDOWN, Kind.TEXT})
_READ = LINK_TAGS | HEAD_TAGS | {"script", "x-tex"}
"""What is read off the page as a whole, found by one walk."""


class Page(NamedTuple):
    """The facts of one answer that a document is made from."""

    url: str
    """Final URL after redirects."""
    source_url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes
    fetched_at: int
    """Microseconds since the epoch, UTC."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class Built(NamedTuple):
    """A document, and what the crawl needs beside it."""

    document: Document
    base: str
    """What `hrefs` are to be resolved against."""
    hrefs: list[str]
    """As written on the page, each once."""
    canonical: str | None = None
    noindex: bool = False
    nofollow: bool = False
    refresh: str | None = None
    """Absolute target of a meta refresh."""
    page_type: str | None = None


class Convert(NamedTuple):
    """The body is of a kind that a child process converts (`perseid.crawls.convert`)."""

    kind: Kind


class Failed(NamedTuple):
    """No document can be made; `message` says what is missing."""

    code: FailureCode
    message: str


def build(page: Page, options: ScrapeOptions, *, in_child: bool = False) -> Built | Convert | Failed:
    """The document of a page, whatever its bytes are. Pure: nothing is fetched, no clock is read.

    `Convert` asks for a process of its own, which calls this with `in_child` or reads the PDF.
    """
    content_type = page.header("content-type")
    kind = sniff(page.body, content_type=content_type, path=page.url.partition("#")[0].partition("?")[0])
    if kind is Kind.EMPTY:
        return _assemble(page, options, _Content(warnings=["empty: the body holds nothing"]))
    if kind not in TEXTUAL:
        return _of_file(page, options, kind)
    if kind is Kind.HTML and len(page.body) > HEAVY_BYTES and not in_child:
        return Convert(kind)
    decoded = decode(page.body, content_type=content_type, tld=urls.top_label(page.url))
    return _of_html(page, options, decoded) if kind is Kind.HTML else _of_text(page, options, decoded, kind)


def _of_file(page: Page, options: ScrapeOptions, kind: Kind) -> Built | Convert | Failed:
    if options.formats == ("rawBase64",):
        return _assemble(page, options, _Content())
    if kind is Kind.PDF and not options.parse_pdf:
        encoded = b64encode(page.body).decode("ascii")
        return _assemble(page, options, _Content(markdown=encoded, html=encoded, raw=encoded))
    if kind is Kind.PDF or (kind is Kind.DOCX and office_installed()):
        return Convert(kind)
    return Failed(FailureCode.UNSUPPORTED_FILE, unsupported(kind, page.header("content-type")))


def unsupported(kind: Kind, content_type: str | None) -> str:
    """The sentence for a file that no converter takes."""
    label = f" (served as {content_type})" if content_type else ""
    if kind is Kind.DOCX:
        return f"This is a Word document{label}; to have such turned into text, install the extra: {OFFICE_INSTALL}"
    if kind in {Kind.XLSX, Kind.PPTX, Kind.ODF, Kind.EPUB, Kind.RTF, Kind.OLE}:
        return f"There is no converter for {kind.value} files{label}; the file was not turned into text."
    return f"The body is {kind.value} data{label}, which holds no page text."


def of_office(page: Page, options: ScrapeOptions, office: Office) -> Built | Failed:
    """The document of an office file, for the child process that has read it."""
    if office.error is not None:
        return Failed(FailureCode.CONVERSION, office.error)
    # All of it is content: there is no navigation to be left out.
    whole = msgspec.structs.replace(options, only_main_content=False)
    built = _of_html(page, whole, Decoded(office.html, "utf-8", _OFFICE, 1.0))
    known = {"title": office.title, "numPages": office.pages}
    metadata = built.document.metadata | {name: value for name, value in known.items() if value is not None}
    warnings = [*office.warnings, *built.document.warnings]
    title = office.title or built.document.title
    document = msgspec.structs.replace(built.document, title=title, metadata=metadata, warnings=warnings)
    return built._replace(document=document)


def of_pdf(page: Page, options: ScrapeOptions, pdf: Pdf) -> Built | Failed:
    """The document of a PDF that a child process has read."""
    if pdf.error is not None:
        return Failed(FailureCode.CONVERSION, pdf.error)
    metadata: Metadata = {"numPages": pdf.pages}
    if pdf.total is not None:
        metadata["totalPages"] = pdf.total
    if pdf.title:
        metadata["title"] = pdf.title
    hrefs = discover_text(pdf.markdown, markdown=False)
    content = _Content(
        markdown=pdf.markdown,
        text=pdf.markdown,
        links=Resolver(page.url).listed(hrefs),
        title=pdf.title,
        metadata=metadata,
        warnings=[*pdf.warnings, *selfcheck.check(pdf.markdown)],
        hrefs=hrefs,
    )
    return _assemble(page, options, content)


class _Content(NamedTuple):
    """What one kind of body yielded, before it becomes a document."""

    markdown: str | None = None
    text: str | None = None
    html: str | None = None
    raw: str | None = None
    links: list[str] | None = None
    images: list[str] | None = None
    attributes: list[AttributeValues] | None = None
    title: str | None = None
    metadata: Mapping[str, Any] = {}
    warnings: Sequence[str] = ()
    hrefs: Sequence[str] = ()


def _of_html(page: Page, options: ScrapeOptions, decoded: Decoded) -> Built:
    text = decoded.text
    # Blanks that must not break tell a browser where to wrap; in text and code they are blanks.
    source = text.replace("\xa0", " ")
    if holds(source, "&nbsp;"):
        source = source.replace("&nbsp;", " ")
    sound = decoded.source != _OFFICE
    attributes = None
    if options.include_tags and frames.named(options.include_tags):
        attributes = attributes_of(trees.parse(source), options.attributes)
        source, options = frames.inlined(source), frames.as_divs(options)
    tree = trees.parse(source, decoded=sound)
    elements = tree.by_tag(_READ)
    if "script" in elements and formula.occurs(tree, elements["script"]):
        source = formula.keep_scripts(source)
        tree = trees.parse(source, decoded=sound)
        elements = tree.by_tag(_READ)
    found = discover(tree, page.url, elements)
    resolve = Resolver(found.base)
    links = None
    if "links" in options.formats:
        links = resolve.listed(found.hrefs)
    else:
        resolve.learn(found.hrefs)  # all at once, for the links of the content
    if attributes is None and options.attributes:
        attributes = attributes_of(tree, options.attributes)
    head = read_head(tree, resolve, elements)
    if "x-tex" in elements:
        formula.drop_renderings(tree)
    warnings = [f"charset: {decoded.warning}"] if decoded.warning else []
    shown = render(page.url, options, tree, source, resolve, warnings)
    content = _Content(
        markdown=shown.markdown,
        text=shown.text,
        html=shown.html,
        raw=text,
        links=links if shown.links is None else shown.links,
        images=shown.images,
        attributes=attributes or None,
        title=head.title,
        metadata=head.metadata,
        warnings=warnings,
    )
    noindex, nofollow = _header_flags(page)
    return Built(
        _document(page, options, content),
        found.base,
        found.hrefs,
        canonical=head.canonical,
        noindex=noindex or head.noindex,
        nofollow=nofollow or head.nofollow,
        refresh=found.refresh.url if found.refresh else None,
        page_type=shown.page_type,
    )


def _of_text(page: Page, options: ScrapeOptions, decoded: Decoded, kind: Kind) -> Built:
    text = decoded.text
    warnings = [f"charset: {decoded.warning}"] if decoded.warning else []
    title = None
    if kind is Kind.JSON:
        markdown, warning = textual.json_markdown(text)
        if warning:
            warnings.append(f"json: {warning}")
    elif kind is Kind.XML:
        markdown = textual.fenced(text, "xml")
    elif kind is Kind.MARKDOWN:
        markdown, title = text.strip("\n"), textual.markdown_title(text)
    else:
        markdown = textual.text_markdown(text, page.header("content-type"))
    hrefs = discover_text(text, markdown=kind is Kind.MARKDOWN) if kind in _LINKED else []
    return _assemble(
        page,
        options,
        _Content(
            markdown=markdown,
            text=text,
            html=text if kind is Kind.XML else None,
            raw=text,
            links=Resolver(page.url).listed(hrefs),
            images=[],
            title=title,
            metadata={"title": title} if title else {},
            warnings=warnings,
            hrefs=hrefs,
        ),
    )


def _assemble(page: Page, options: ScrapeOptions, content: _Content) -> Built:
    noindex, nofollow = _header_flags(page)
    document = _document(page, options, content)
    return Built(document, page.url, list(content.hrefs), noindex=noindex, nofollow=nofollow)


def _document(page: Page, options: ScrapeOptions, content: _Content) -> Document:
    """The document with only the formats asked for; what is known of the exchange wins over meta tags."""
    formats = options.formats
    content_type = page.header("content-type")
    metadata = {**content.metadata, "sourceURL": page.source_url, "url": page.url, "statusCode": page.status}
    if content_type is not None:
        metadata["contentType"] = content_type
    if page.status >= 400:
        metadata["error"] = _phrase(page.status)
    attributes = content.attributes
    if attributes is None and options.attributes:
        attributes = unmatched(options.attributes)
    return Document(
        url=page.url,
        source_url=page.source_url,
        status=page.status,
        content_type=content_type,
        title=content.title,
        markdown=(content.markdown or "") if "markdown" in formats else None,
        text=(content.text or "") if "text" in formats else None,
        html=(content.html or "") if "html" in formats else None,
        raw_html=(content.raw or "") if "rawHtml" in formats else None,
        links=(content.links or []) if "links" in formats else None,
        images=(content.images or []) if "images" in formats else None,
        raw_base64=b64encode(page.body).decode("ascii") if "rawBase64" in formats else None,
        attributes=attributes,
        metadata=metadata,
        warnings=list(content.warnings),
        fetched_at=page.fetched_at,
    )


def _phrase(status: int) -> str:
    from http import HTTPStatus  # noqa: PLC0415  start-up time

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def _header_flags(page: Page) -> tuple[bool, bool]:
    """X-Robots-Tag for everybody; values for a named agent are none of ours."""
    values = [value for name, value in page.headers if name == "x-robots-tag" and ":" not in value.split(",", 1)[0]]
    return robots_flags(values)
