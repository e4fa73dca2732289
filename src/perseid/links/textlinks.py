"""Links in bodies that are no HTML: markdown and plain text. One pass each, linear in the text."""

from __future__ import annotations

import re

from perseid.pattern import later

_BARE = r"(?:https?://|www\.)[^\s<>\"`|\\^{}\x00-\x1f\u3000-\u303f\uff00-\uffef]+"
"""Full-width punctuation ends an address: Chinese and Japanese text puts no space there."""
_BARE_IN_MARKDOWN = _BARE.replace(r"[^\s", r"[^\s\[\]")
_PLAIN = later(rf"(?<![A-Za-z0-9_@/.-]){_BARE}", re.IGNORECASE)
_TOKEN = later(
    r"\\[!-/:-@\[-`{-~]"
    r"|(?P<fence>^ {0,3}(?:`{3,}|~{3,}))"
    r"|(?P<ticks>`+)"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
    r"|<(?P<auto>https?://[^\s<>]+)>"
    r"|<a\s[^<>]{0,2000}?\bhref\s*=\s*(?:\"(?P<double>[^\"<>]*)\"|'(?P<single>[^'<>]*)')"
    rf"|(?<![A-Za-z0-9_@/.-])(?P<bare>{_BARE_IN_MARKDOWN})",
    re.IGNORECASE | re.MULTILINE,
)
_DESTINATION = later(
    r"\(\s{0,20}(?:<([^<>\n]*)>|((?:[^\s()\\<]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))(?:[^\s()\\]|\\.|"
    r"\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))*))"
)
_DEFINITION = later(r"^ {0,3}\[(?!\^)[^\]\n]{1,999}\]:[ \t]*\n?[ \t]*(?:<([^<>\n]*)>|(\S+))", re.MULTILINE)
_ESCAPED = later(r"\\([!-/:-@\[-`{-~])")
_LONGEST_SPAN = 10_000
_CLOSERS = {")": "(", "]": "["}


def discover_text(text: str, *, markdown: bool) -> list[str]:
    """The links in a text body, as written, each once, in order.

    In plain text those are addresses that begin with http://, https:// or www.; in markdown also inline and
    reference links and HTML anchors, while images, code spans and fenced code are left out.
    """
    found = _markdown(text) if markdown else [_absolute(_trimmed(bare[0])) for bare in _PLAIN.finditer(text)]
    return list(dict.fromkeys(link for link in found if link))


def _markdown(text: str) -> list[str]:
    reader = _Markdown(text)
    reader.read()
    return [link for _, link in sorted(reader.links, key=lambda pair: pair[0])]


class _Markdown:
    """One reading of a markdown text, token by token; `links` are (position, link)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.links: list[tuple[int, str]] = []
        self._images: list[bool] = []
        """For each bracket still open, whether it began an image."""
        self._code: list[tuple[int, int]] = []
        self._paragraph_end = -1

    def read(self) -> None:
        at = 0
        while match := _TOKEN.search(self._text, at):
            at = max(self._token(match), match.start() + 1)
        self._definitions()

    def _token(self, match: re.Match[str]) -> int:
        """Take one token; returns where to read on."""
        text, end, kind = self._text, match.end(), match.lastgroup
        if kind in ("fence", "ticks"):
            end = _after_fence(text, match) if kind == "fence" else self._after_span(match)
            self._code.append((match.start(), end))
        elif kind == "open":
            self._images.append(match[0][0] == "!")
        elif kind == "close":
            image = self._images.pop() if self._images else True
            if destination := _DESTINATION.match(text, end):
                if not image:
                    self.links.append((end, _unescaped(destination[1] or destination[2] or "")))
                end = destination.end()
        elif kind == "bare":
            link = _trimmed(match[0])
            self.links.append((match.start(), _absolute(link)))
            end = match.start() + len(link)
        elif kind is not None:
            self.links.append((match.start(), match[kind]))
        return end

    def _after_span(self, match: re.Match[str]) -> int:
        """Where a code span ends: at as many backticks, in the same paragraph; else it is none (6.1)."""
        end = match.end()
        if self._paragraph_end < end:
            found_at = self._text.find("\n\n", end)
            self._paragraph_end = len(self._text) if found_at < 0 else found_at
        limit = min(self._paragraph_end, end + _LONGEST_SPAN)
        found = re.compile(rf"(?<!`){match[0]}(?!`)").search(self._text, end, limit)
        return found.end() if found else end

    def _definitions(self) -> None:
        """Reference links count where they are defined."""
        code = iter([*self._code, (len(self._text), len(self._text))])
        start, end = next(code)
        for match in _DEFINITION.finditer(self._text):
            while match.start() >= end and end < len(self._text):
                start, end = next(code)
            if match.start() < start:
                self.links.append((match.start(), _unescaped(match[1] or match[2])))


def _after_fence(text: str, match: re.Match[str]) -> int:
    """Where a fenced block ends: after a fence as long as its first, or with the text (CommonMark 4.5)."""
    fence = match[0].strip()
    closing = re.compile(rf"^ {{0,3}}{re.escape(fence)}[{fence[0]}]*[ \t]*$", re.MULTILINE)
    found = closing.search(text, match.end())
    return found.end() if found else len(text)


def _trimmed(link: str) -> str:
    """Without the punctuation that belongs to the sentence (GFM 6.9)."""
    end = len(link)
    surplus = {closer: link.count(closer) - link.count(opener) for closer, opener in _CLOSERS.items()}
    while end:
        last = link[end - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in "?!.,:;*_~'":
            break
        end -= 1
    return link[:end]


def _absolute(link: str) -> str:
    return f"http://{link}" if link[:4].lower() == "www." else link


def _unescaped(link: str) -> str:
    return _ESCAPED.sub(r"\1", link) if "\\" in link else link
