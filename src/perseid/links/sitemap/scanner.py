"""A forgiving reader of XML that is none: unescaped ampersands, unclosed elements, undefined entities.

It expands no entity but the five of XML, characters by number and the names of HTML, and never runs a
regular expression over what it reads. Its work is linear in the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.links.sitemap.plain import forgiving

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.links.sitemap.structure import Structure

_MAX_TOKEN = 256 * 1024
"""Characters; a tag, comment or CDATA section whose end is not found within is taken for text."""
_LONGEST_ENTITY = 32


class Scanner:
    """Tells a `Structure` about the elements in the text that it is fed."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._listener: Callable[[str], object] | None = None
        structure.lenient = True
        structure.listen = self._listen
        structure.mark = bool
        self._buffer = ""
        self._absent: dict[str, int] = {}
        """Up to which place of the buffer a terminator is known not to occur …"""
        self._next: dict[str, int] = {}
        """… and where it does: nothing is searched twice."""

    def feed(self, text: str) -> None:
        self._buffer += text
        self._scan(last=False)

    def close(self) -> None:
        self._scan(last=True)

    def _listen(self, listener: Callable[[str], object] | None) -> None:
        self._listener = listener

    def _scan(self, *, last: bool) -> None:
        buffer = self._buffer
        at = 0
        while self._structure.error is None:
            start = buffer.find("<", at)
            if start < 0:
                if self._listener is None or last or len(buffer) - at > _MAX_TOKEN:
                    self._text(buffer[at:])
                    at = len(buffer)
                break
            if self._structure.idle:
                at = self._plain(start)
                if at > start:
                    continue
            elif start > at and self._listener is not None:
                self._text(buffer[at:start])
            end = self._token(start, last=last)
            if end < 0:
                at = start
                break
            at = end
        self._buffer = buffer[at:]
        self._next.clear()
        self._absent = {terminator: place - at for terminator, place in self._absent.items() if place > at}

    def _plain(self, at: int) -> int:
        structure = self._structure
        entries, end = forgiving(self._buffer, at, structure.entry_name, structure.room, unescape)
        structure.take(entries)
        return end

    def _token(self, start: int, *, last: bool) -> int:
        """Handle what begins at `start`; the place behind it, or -1 where its end has not arrived."""
        buffer = self._buffer
        terminator, inside = ">", start + 1
        if buffer[inside : inside + 1] == "!":
            if len(buffer) - start < len("<![CDATA[") and not last:
                return -1
            if buffer.startswith("<!--", start):
                terminator, inside = "-->", start + 4
            elif buffer.startswith("<![CDATA[", start):
                terminator, inside = "]]>", start + 9
        end = self._find(terminator, inside)
        if end < 0:
            if last or len(buffer) - start > _MAX_TOKEN:
                return inside
            return -1
        if terminator == "]]>":
            self._text(buffer[inside:end], raw=True)
        elif terminator == ">":
            again = buffer.find("<", inside, end)
            if again >= 0:
                return again
            self._tag(buffer[inside:end])
        return end + len(terminator)

    def _find(self, terminator: str, at: int) -> int:
        known = self._next.get(terminator, -1)
        if known >= at:
            return known
        start = max(at, self._absent.get(terminator, 0))
        end = self._buffer.find(terminator, start)
        if end < 0:
            self._absent[terminator] = max(start, len(self._buffer) - len(terminator) + 1)
        else:
            self._next[terminator] = end
        return end

    def _tag(self, inside: str) -> None:
        if inside.isalnum():
            # Most tags are but a name, and most ends are.
            self._structure.start(inside, {})
        elif inside[:1] == "/":
            self._structure.end(inside[1:].strip())
        elif inside[:1] in {"!", "?"}:
            words = inside[:64].lower().split()
            if words[:2] == ["!doctype", "html"]:
                self._structure.start("html", {})
        else:
            closed = inside.endswith("/")
            name, _, rest = inside.removesuffix("/").replace("\n", " ").replace("\t", " ").partition(" ")
            if name and (name[0].isalpha() or name[0] == "_"):
                self._structure.start(name, attributes_of(rest) if "href" in rest else {})
                if closed:
                    self._structure.end(name)

    def _text(self, text: str, *, raw: bool = False) -> None:
        if self._listener is not None:
            self._listener(text if raw else unescape(text))


def attributes_of(text: str) -> dict[str, str]:
    """Name and value pairs of a tag, quoted or not."""
    found: dict[str, str] = {}
    while text:
        name, equals, text = text.partition("=")
        if not equals:
            break
        text = text.lstrip()
        if text[:1] in {'"', "'"}:
            value, _, text = text[1:].partition(text[0])
        else:
            value, _, text = text.partition(" ")
        if names := name.split():
            found.setdefault(names[-1], unescape(value))
    return found


def unescape(text: str) -> str:
    """Decode references that end in a semicolon; all other ampersands stay what they are."""
    if "&" not in text:
        return text
    first, *rest = text.split("&")
    parts = [first]
    for part in rest:
        end = part.find(";", 0, _LONGEST_ENTITY)
        value = _reference(part[:end]) if end > 0 else None
        parts.append("&" + part if value is None else value + part[end + 1 :])
    return "".join(parts)


def _reference(name: str) -> str | None:
    if not name.startswith("#"):
        from html.entities import html5  # noqa: PLC0415  start-up time, and few feeds need it

        return html5.get(name + ";")
    try:
        code = int(f"0{name[1:]}", 0) if name[1:2] in {"x", "X"} else int(name[1:])
        return None if code <= 0 or 0xD800 <= code < 0xE000 else chr(code)
    except (ValueError, OverflowError):
        return None
