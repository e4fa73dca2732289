"""Text of PDF files as markdown: paragraphs and headings by the place and size of lines.

Run it in a process that may die (`perseid.content.child`): PDFium is C++ and the files come from strangers.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2  # type: ignore[import-untyped]  # ships no types
from pypdfium2 import raw

from perseid.content.conversion import Pdf
from perseid.content.escape import escaped, escaped_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PAGES = 2_000
MOST_CHARACTERS = 20_000_000

_MONOSPACED = re.compile(
    r"mono|monl|courier|consol|typewriter|menlo|inconsolata|fixed|(?:cm|sf|ec|lm)\w*tt\d*$", re.IGNORECASE
)
_BULLET = re.compile(r"^\s*(?:[•◦▪‣·●○■]|[-\u2013\u2014*](?=\s)|\(?\d{1,3}[.)](?=\s))\s*")
_DIGITS = re.compile(r"\d+")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f]['\"\u201d\u2019)\]]*$")


class Line(NamedTuple):
    """One line of a page; lengths in points, `bottom` grows upwards."""

    text: str
    left: float
    bottom: float
    size: float
    code: bool = False
    """Set in a font of fixed width from its first to its last character."""


def read_pdf(data: bytes, *, max_pages: int | None = None) -> Pdf:
    """The text of a PDF, or of its first `max_pages`; trouble with the file comes back as `error`."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        return Pdf(error=_why(str(error)))
    try:
        return _read(document, max_pages)
    except pypdfium2.PdfiumError as error:
        return Pdf(pages=0, error=_why(str(error)))
    finally:
        document.close()


def _why(message: str) -> str:
    if "password" in message.lower():
        return "The PDF is encrypted and needs a password."
    if "security" in message.lower():
        return "The PDF uses an encryption that is not supported."
    return f"The PDF is broken: {message}"


def _read(document: pypdfium2.PdfDocument, max_pages: int | None) -> Pdf:
    total = len(document)
    count = total if max_pages is None else min(total, max_pages)
    warnings = []
    if count > MOST_PAGES:
        warnings.append(f"pdf: only the first {MOST_PAGES} of {count} pages were read")
    pages: list[list[Line]] = []
    unread = characters = 0
    for number in range(min(count, MOST_PAGES)):
        try:
            lines = list(_lines(document, number))
        except (pypdfium2.PdfiumError, ValueError):
            unread += 1
            continue
        characters += sum(len(line.text) for line in lines)
        pages.append(lines)
        if characters > MOST_CHARACTERS:
            warnings.append(f"pdf: the text was cut after page {number + 1} of {count}")
            break
    if unread:
        warnings.append(f"pdf: {unread} of {count} pages could not be read")
    if count and not characters:
        warnings.append("pdf: the pages hold images but no text; reading them needs OCR")
    title = _clean(str(document.get_metadata_value("Title") or "")).strip() or None
    return Pdf(to_markdown(_without_running_heads(pages)), title, count, total if count < total else None, warnings)


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("", text)


def _lines(document: pypdfium2.PdfDocument, number: int) -> Iterator[Line]:
    page = document[number]
    try:
        words = page.get_textpage()
        try:
            text = words.get_text_range()
            # Offsets below are of UTF-16 units as PDFium counts them; beyond the BMP they drift by one
            # each, which moves a line's measured place by a character, never its text.
            at = 0
            for line in text.split("\n"):
                content = line.rstrip("\r")
                if content.strip():
                    lead = len(content) - len(content.lstrip())
                    yield _measured(words, at + lead, content)
                at += len(line) + 1
        finally:
            words.close()
    finally:
        page.close()


def _measured(words: pypdfium2.PdfTextPage, index: int, content: str) -> Line:
    left = bottom = size = 0.0
    if index < words.count_chars():
        left, bottom, _, top = words.get_charbox(index, loose=True)
        size = float(raw.FPDFText_GetFontSize(words, index)) or (top - bottom)
        # Scaled text says size 1; the box then tells more.
        size = max(size, (top - bottom) * 0.6) if size < 2 else size
    soft = content.rstrip("\ufffe\x02\xad")
    end = index + len(content.strip()) - 1
    code = end < words.count_chars() and all(
        _MONOSPACED.search(_font(words, place)) for place in (index, end, (index + end) // 2)
    )
    text = _clean(soft) + ("\xad" if len(soft) < len(content.rstrip()) else "")
    return Line(text.rstrip() if not text.endswith("\xad") else text, left, bottom, size, code)


def _font(words: pypdfium2.PdfTextPage, index: int) -> str:
    """The name of the font of one character, "" where PDFium knows none."""
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    size = raw.FPDFText_GetFontInfo(words, index, name, len(name), flags)
    return name.value.decode("utf-8", "replace") if 0 < size <= len(name) else ""


def _without_running_heads(pages: list[list[Line]]) -> list[list[Line]]:
    """Pages without the first and last lines that most of them share but for their numbers."""
    if len(pages) < 4:
        return pages
    edges: Counter[str] = Counter()
    for page in pages:
        edges.update({_DIGITS.sub("#", line.text.strip()) for line in (*page[:2], *page[-2:])})
    common = {text for text, times in edges.items() if times * 2 > len(pages)}
    return [
        [
            line
            for place, line in enumerate(page)
            if not ((place < 2 or place >= len(page) - 2) and _DIGITS.sub("#", line.text.strip()) in common)
        ]
        for page in pages
    ]


def to_markdown(pages: list[list[Line]]) -> str:
    """Lines of pages as paragraphs, list items and headings."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[round(line.size * 2) / 2] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted((size for size in sizes if body and size >= body * 1.15), reverse=True)
    levels = {size: min(level, 4) for level, size in enumerate(larger, start=1)}
    blocks: list[str] = []
    for page in pages:
        blocks += _blocks(page, levels)
    return "\n\n".join(_mended(blocks))


def _blocks(page: list[Line], levels: dict[float, int]) -> Iterator[str]:
    pitch = _pitch(page)
    group: list[Line] = []
    for line in page:
        if group and _starts_block(group[-1], line, pitch):
            yield _block(group, levels)
            group = []
        group.append(line)
    if group:
        yield _block(group, levels)


def _pitch(page: list[Line]) -> float:
    """The usual distance of two lines of one paragraph."""
    steps = sorted(
        step
        for above, below in pairwise(page)
        if 0.7 * below.size < (step := above.bottom - below.bottom) < 4 * max(below.size, 4)
    )
    # Short paragraphs make gaps nearly as common as lines, so the lower quarter tells, not the median.
    return steps[len(steps) // 4] if steps else 0.0


def _starts_block(above: Line, line: Line, pitch: float) -> bool:
    step = above.bottom - line.bottom
    if line.code != above.code:
        return abs(step) > 0.3 * max(line.size, 1)
    if line.code:
        return step < 0 or (pitch > 0 and step > 3 * pitch)
    if _BULLET.match(line.text) or abs(line.size - above.size) > 0.1 * max(above.size, 1):
        return abs(step) > 0.3 * max(line.size, 1)  # a raised mark on the same line starts nothing
    if step < -2 * max(line.size, 1):
        return bool(_SENTENCE_END.search(above.text))  # up again: the next column
    if pitch and step > 1.35 * pitch:
        return True
    return line.left - above.left > 0.9 * max(line.size, 1) and bool(_SENTENCE_END.search(above.text))


def _block(group: list[Line], levels: dict[float, int]) -> str:
    if all(line.code for line in group) and (len(group) > 1 or len(group[0].text) > 20):
        return _code(group)
    text = _flowing([line.text for line in group])
    level = levels.get(round(group[0].size * 2) / 2, 0)
    if level and len(text) < 200 and any(char.isalpha() for char in text):
        return f"{'#' * level} {escaped(text).strip()}"
    bullet = _BULLET.match(text)
    if bullet is not None:
        mark = bullet[0].strip()
        number = mark.strip("().")
        return f"{f'{number}.' if number.isdigit() else '-'} {escaped(text[bullet.end() :]).strip()}"
    return escaped_starts(escaped(text).strip())


def _code(group: list[Line]) -> str:
    """Lines in a font of fixed width, indented as they stand on the page."""
    edge = min(line.left for line in group)
    width = max(group[0].size * 0.6, 1.0)
    lines = [" " * min(round((line.left - edge) / width), 80) + line.text.strip() for line in group]
    fence = "`" * (3 if "```" not in "".join(lines) else 8)
    return "\n".join((fence, *lines, fence))


def _flowing(lines: list[str]) -> str:
    """Lines of one paragraph as one; words that were cut at a line's end are whole again."""
    out = ""
    for line in lines:
        if out.endswith("\xad") or (out.endswith("-") and out[-2:-1].isalpha() and line[:1].islower()):
            out = out[:-1] + line.lstrip()
        else:
            out = f"{out} {line.strip()}" if out else line.strip()
    return out.replace("\xad", "")


def _mended(blocks: list[str]) -> Iterator[str]:
    """Paragraphs cut by a page's end joined again."""
    held = ""
    for block in blocks:
        plain = not block.startswith(("#", "- ", "```")) and not block[:1].isdigit()
        if held and plain and block[:1].islower() and not _SENTENCE_END.search(held) and held[0] not in "#`":
            held = f"{held} {block}"
            continue
        if held:
            yield held
        held = block
    if held:
        yield held
