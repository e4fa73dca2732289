"""Word documents as HTML, which the pipeline reads like a page.

Run it in a process that may die (`perseid.content.child`): the files come from strangers. The converter is
an extra (`perseid[office]`), loaded only where there is such a document.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError

from perseid.content.conversion import Office

if TYPE_CHECKING:
    from collections.abc import Iterator

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote > p:fresh
p[style-name='Intense Quote'] => blockquote > p:fresh
p[style-name='HTML Preformatted'] => pre:separator('\\n')
"""
_MOST_WARNINGS = 5
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PAGES = "{http://schemas.openxmlformats.org/officeDocument/2006/extended-properties}Pages"
_BROKEN = (zipfile.BadZipFile, ExpatError, ET.ParseError, KeyError, ValueError, IndexError, AttributeError,
           TypeError, EOFError, NotImplementedError, RecursionError, OSError, RuntimeError)  # fmt: skip
"""What the converter and the archive are known to raise on files that are no whole document."""


def read_docx(data: bytes) -> Office:
    """The body of a Word document; trouble with the file comes back as `error`."""
    import mammoth  # type: ignore[import-untyped]  # noqa: PLC0415  # ships no types; an extra

    try:
        result = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES, include_embedded_style_map=False)
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            title, pages = _text(parts, "docProps/core.xml", _TITLE), _text(parts, "docProps/app.xml", _PAGES)
    except _BROKEN as error:
        return Office(error=f"The Word document is broken: {str(error) or type(error).__name__}"[:500])
    return Office(
        html=result.value,
        title=title or None,
        pages=int(pages) if pages.isdecimal() and len(pages) < 7 else None,
        warnings=list(_warnings(result.messages)),
    )


def _text(parts: zipfile.ZipFile, name: str, tag: str) -> str:
    """The text of the first element `tag` in one part of the archive, "" where there is none."""
    if name not in parts.namelist():
        return ""
    found = ET.fromstring(parts.read(name)).find(f".//{tag}")  # noqa: S314 - in a process with limits
    return " ".join((found.text or "").split()) if found is not None else ""


def _warnings(messages: list[object]) -> Iterator[str]:
    """Styles without a counterpart lose nothing that anybody reads; the rest is worth telling."""
    told = dict.fromkeys(str(getattr(message, "message", message)) for message in messages)
    serious = [text for text in told if not text.startswith(("Unrecognised", "Did not understand this style mapping"))]
    for text in serious[:_MOST_WARNINGS]:
        yield f"docx: {text}"[:300]
