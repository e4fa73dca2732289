"""Judges a finished document against its page and warns of damage that would otherwise stay silent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from perseid.content.fences import Blocks, blocks, prose_between
from perseid.content.inked import Inked, counted, holds, inked, letters
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perseid.dom.tree import Node, Tree

_KEPT = 0.9
"""Least share of the text of the chosen content that its markdown must hold."""
_DOUBTFUL = 0.95
"""The same for a share that is told from a sample: some four standard deviations above."""
_SAMPLE = 1024
"""Characters of such a sample at least."""
_SHORT = 200
"""Fewer characters than that say nothing about shares."""
_COUNTED_APART = frozenset({"pre", "select", "textarea", "button", "script", "style", "svg"})
_ITEM = re.compile(r"(?:(?:[-*+]|\d+[.)]) +)+(?=\|)")
"""Markers of list items whose first block is a table."""
_DELIMITER = re.compile(r"[ >]*\|(?:\s*:?-+:?\s*\|)+\s*$")
_ROWS = re.compile(r"\|(?<=^\|)[^\n]*+(?:\n\|[^\n]*+)*+", re.MULTILINE)
"""Lines one after another that begin with a pipe."""
# What is looked for first in these stands first, for speed.
_TARGET = later(r"\](?<!\\\])\(\s*(?!https?:|mailto:|tel:|ftp:|sms:|[a-z][a-z0-9+.-]*:)([^)\s]*)", re.IGNORECASE)
_IMAGE = later(
    r"!\[[^\]\n]*\]\((?:\)|<>|data:|[^)\s]*/(?:placeholder|spacer|blank|lazyload|1x1|transparent)\.(?:gif|png|svg|jpg)\b)",
    re.IGNORECASE,
)
_RAW_HTML = re.compile(
    r"<(?<!\\<)/?(?:div|span|table|tr|td|th|tbody|script|style|iframe|p|font|center|section|ul|ol|li)\b[^>\n]*>",
    re.IGNORECASE,
)
_TARGETS = re.compile(
    rb'\]\(((?:https?://|mailto:|tel:|ftp:|sms:)[^)\x00-\x20\x7f]*+(?: "[^"\\\n]*+(?:\\.[^"\\\n]*+)*+")?+)?'
)
"""What follows on the text of a link: its good target with its title, else nothing."""
_INSIDE_LINK = later(r'\]\([^)\s]*(?: "(?:[^"\\\n]|\\.)*")?')
_SPAN = later(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d{2,5});")
_LEADS = (b"\xc3", b"\xd0", b"\xe9", b"\xe7")
"""First bytes of the characters that what was decoded twice begins with."""
_FOLLOWED = later(b"\xc3[\x80-\xbf][\xc2\xc5\xc6\xcb\xe2]")
"""Such a character before one that windows-1252 has above ASCII: rare in good text, where vowels are alone."""
# UTF-8 that was read as windows-1252 (Latin, punctuation, Greek, Cyrillic) or windows-1251, and U+FFFD as GBK.
_HIGH = (
    "\x80-\xbf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u2022"
    "\u2026\u2030\u2039\u203a\u20ac\u2122"
)
_HIGH_1251 = (
    "\u0402\u0403\u0453\u0409\u040a\u040c\u040b\u040f\u0452\u0459\u045a\u045c\u045b\u045f\u040e\u045e\u0408"
    "\u0490\u0404\u0407\u0406\u0456\u0491\u0454\u0457\u0458\u0405\u0455\xb0\xb1\xb5\xb6\xb7\xbb\u2021\u20ac\u2030"
    "\u2039\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u2122\xa0"
)
_TWICE_DECODED = later(
    f"[\xc2-\xc5\xce-\xd1\xd7-\xd9][{_HIGH}]|\xe2[{_HIGH}]{{2}}|[\xe3-\xe9][{_HIGH}]{{2}}|\xf0\u0178"
    f"|[\u0420\u0421][{_HIGH_1251}]|\u951f\u65a4\u62f7|\u70eb\u70eb"
)


_NO_CODE = Blocks([])


class Source(NamedTuple):
    """What the chosen part of the page held before it was rendered."""

    size: int
    """Bytes of its letters and digits in UTF-8."""
    code_lines: int = 0
    code_indents: int = 0
    estimated_from: tuple[str, ...] = ()
    """The texts of which a sample was counted; none where `size` is exact."""
    aside: int = 0
    """Bytes of letters and digits in these texts that are no part of `size`."""

    def exact(self) -> int:
        """`size`, counted in full."""
        return sum(map(_size, self.estimated_from)) - self.aside if self.estimated_from else self.size


def source_of(tree: Tree, nodes: Sequence[Node], text: str | None = None) -> Source:
    """Counts over `nodes`, before they are rendered; `text` is all that stands in them, where that is at hand."""
    texts = [tree.text(node) for node in nodes] if text is None else [text]
    aside = lines = indents = 0
    for node in nodes:
        for tag, found in tree.by_tag(_COUNTED_APART, node).items():
            for part in found:
                inner = tree.text(part)
                if tag != "pre":
                    aside += letters(inner.encode("utf-8", "replace"))
                elif breaks := (code := inner.strip("\n")).count("\n"):
                    lines += breaks
                    indents += code.count("\n ") + code.count("\n\t")
    size = 0
    for whole in texts:
        # All letters are counted only where the sample leaves doubt: nearly all pages are whole.
        step = len(whole) // _SAMPLE or 1
        size += _size(whole[::step]) * step
    return Source(size - aside, lines, indents, tuple(texts), aside)


def _size(text: str) -> int:
    """Bytes of letters and digits, without those characters that no document keeps."""
    encoded = text.encode("utf-8", "replace")
    if b"\xad" in encoded or b"\x8b" in encoded:
        encoded = encoded.replace(b"\xc2\xad", b"").replace(b"\xe2\x80\x8b", b"")
    return letters(encoded)


def check(markdown: str | Inked, source: Source | None = None) -> list[str]:
    """Warnings about a page's markdown, each starting with a stable word and a colon."""
    subject = inked(markdown) if isinstance(markdown, str) else markdown
    if not subject.text or subject.text.isspace():
        return ["empty: no text was found on the page"]
    return list(_findings(subject, source))


def _findings(subject: Inked, source: Source | None) -> Iterator[str]:
    """Cheap looks at the whole document; a thorough one, at prose only, where they find a reason."""
    markdown, encoded, kinds, lone = subject
    if lone:
        yield "control: the text holds lone surrogates"
    targets = _TARGETS.findall(encoded)
    aimed = b"".join(targets)
    if source is not None and source.size > _SHORT:
        size, kept = source.size, counted(kinds) - letters(aimed)
        if kept < _DOUBTFUL * size:
            size = source.exact()
        if kept < _KEPT * size and size > _SHORT:
            yield f"kept: only about {kept / size:.0%} of the text on the page is in the markdown"
    code = blocks(markdown) if b"`" in encoded else _NO_CODE
    if not code.closed:
        yield "fence: a code block is not closed"
    if source is not None and source.code_lines > 2 and (fault := _code(markdown, code, source)):
        yield fault
    markup = holds(encoded, b"</") or (b"&" in encoded and encoded.count(b"&") - aimed.count(b"&") > 2)
    yield from _in_prose(markdown, encoded, code, odd_address=b"" in targets, markup=markup)
    if subject.has_controls:
        yield "control: the text holds control characters"
    if len(encoded) != len(markdown):
        yield from _characters(markdown, encoded)


def _in_prose(markdown: str, encoded: bytes, code: Blocks, *, odd_address: bool, markup: bool) -> Iterator[str]:
    pipes = b"|" in encoded
    image = holds(encoded, b"![")
    if pipes or odd_address or image or markup:
        prose = "\n".join(prose_between(markdown, code.spans))
        table = pipes and "|" in prose and (b"\n|" in encoded or b"| -" in encoded or encoded.startswith(b"|"))
        if table and not _even_tables(prose):
            yield from _tables(prose)
        if (odd_address and _TARGET.search(prose)) or (image and _IMAGE.search(prose)):
            yield from _addresses(_SPAN.sub("`", prose))  # what is in code spans is meant
        if markup and (_RAW_HTML.search(prose) or len(_ENTITY.findall(prose)) > 2):
            yield from _markup(_SPAN.sub("`", prose))


def _addresses(prose: str) -> Iterator[str]:
    if _TARGET.search(prose):
        yield "links: a link or image has no absolute address"
    if _IMAGE.search(prose):
        yield "images: an image is a placeholder or has no source"


def _markup(prose: str) -> Iterator[str]:
    text = _INSIDE_LINK.sub("](", prose)
    if _RAW_HTML.search(text):
        yield "markup: HTML tags are left in the text"
    if len(_ENTITY.findall(text)) > 2:
        yield "entities: the text shows HTML entities; the page may be escaped twice"


def _code(markdown: str, code: Blocks, source: Source) -> str:
    """Whether line breaks or indentation of the page's code are gone; code in table cells has breaks instead."""
    count, spans = markdown.count, code.spans
    lines = sum([count("\n", start, end) - 2 for start, end in spans])
    if source.code_lines - lines > 4 and lines < 0.8 * source.code_lines:
        lines += count("`<br>")
        if source.code_lines - lines > 4 and lines < 0.8 * source.code_lines:
            return "code: line breaks in code blocks were lost"
    if source.code_indents > 3:
        wanted = 0.5 * source.code_indents
        for sign in ("\n ", "\n\t", "\n>  "):
            wanted -= sum([count(sign, start, end) for start, end in spans])
            if wanted <= 0:
                return ""
        if "`<br>" not in markdown:
            return "code: indentation in code blocks was lost"
    return ""


def _even_tables(prose: str) -> bool:
    """Whether all that looks like tables in `prose` is tables as they mostly are: the quick way to say so."""
    pipes = 0
    for table in _ROWS.findall(prose):
        rows = table.split("\n")
        columns = rows[0].count("|")
        if len(rows) < 2 or _DELIMITER.match(rows[1]) is None or {row.count("|") for row in rows} != {columns}:
            return False
        pipes += columns * len(rows)
    return pipes == prose.count("|") and "\\|" not in prose


def _tables(prose: str) -> Iterator[str]:
    table: list[int] = []
    last = -2
    for number, line in enumerate(prose.split("\n")):
        if "|" not in line:
            continue
        row = line.lstrip(" >")
        item = None
        if row[0] != "|" and (item := _ITEM.match(row)) is None:
            continue
        if number != last + 1 or item is not None:
            if fault := _uneven(table):
                yield fault
                return
            table = []
        pipes = line.count("|") - line.count("\\|")
        table.append(-pipes if len(table) == 1 and _DELIMITER.match(line) else pipes)
        last = number
    if fault := _uneven(table):
        yield fault


def _uneven(table: list[int]) -> str:
    """What is wrong with the rows of one table, given their numbers of pipes, the dashes' negative."""
    if len(table) < 2:
        return ""
    if table[1] > 0:
        return "table: a table has no row of dashes below its head"
    if any(abs(count) != table[0] for count in table):
        return "table: the rows of a table differ in their number of columns"
    return ""


def _characters(markdown: str, encoded: bytes) -> Iterator[str]:
    lost = markdown.count("\ufffd") if b"\xef" in encoded else 0
    if lost > 2 or lost * 200 > len(markdown):
        yield f"charset: {lost} characters could not be decoded"
    latin, *others = [lead in encoded for lead in _LEADS]
    if not any(others) and not (latin and _FOLLOWED.search(encoded)):
        return
    broken = sum(1 for _ in _TWICE_DECODED.finditer(markdown))
    if broken > 2 or broken * 100 > len(markdown):
        yield f"mojibake: the text seems decoded twice ({broken} places)"
