"""What a crawl should find: a breadth-first walk that shares no code with the crawler, and only the standard library.

Good enough for well-formed documentation, and for nothing else: links are read by pattern, not by parsing.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from html import unescape
from http.client import HTTPConnection
from urllib.parse import quote, urldefrag, urljoin, urlsplit

_HIDDEN = re.compile(rb"<!--.*?-->|<script\b.*?</script\s*>|<style\b.*?</style\s*>", re.DOTALL | re.IGNORECASE)
_HREF = re.compile(rb"""<(a|area|base)\s[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_SAFE = "/%?=&~!$'()*+,;:@[]"


@dataclass
class Walk:
    """Distinct URLs without fragment, by what they are."""

    html: set[str] = field(default_factory=set)
    other: set[str] = field(default_factory=set)
    """Answered 200 with another type."""
    missing: set[str] = field(default_factory=set)
    """Answered neither 200 nor a redirect."""
    disallowed: set[str] = field(default_factory=set)


def walk(start: str) -> Walk:
    """All that is reachable from `start` on its host and port, obeying the Disallow lines of robots.txt."""
    host = urlsplit(start).netloc
    connection = HTTPConnection(host, timeout=30)
    robots = _get(connection, f"http://{host}/robots.txt")[3].decode("utf-8", "replace")
    disallowed = [line.split(":", 1)[1].strip() for line in robots.splitlines() if line.lower().startswith("disallow:")]
    found = Walk()
    seen = {start}
    waiting = deque(seen)
    while waiting:
        url = waiting.popleft()
        if any(rule and urlsplit(url).path.startswith(rule) for rule in disallowed):
            found.disallowed.add(url)
            continue
        status, kind, location, body = _get(connection, url)
        targets: set[str] = set()
        if status in {301, 302, 303, 307, 308}:
            targets = {urljoin(url, location)}
        elif status != 200:
            found.missing.add(url)
        elif "html" not in kind:
            found.other.add(url)
        else:
            found.html.add(url)
            targets = _links(url, body)
        for target in sorted({urldefrag(target)[0] for target in targets} - seen):
            parts = urlsplit(target)
            if parts.scheme in {"http", "https"} and parts.netloc == host:
                seen.add(target)
                waiting.append(target)
    connection.close()
    return found


def _get(connection: HTTPConnection, url: str) -> tuple[int, str, str, bytes]:
    parts = urlsplit(url)
    target = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    connection.request("GET", target, headers={"User-Agent": "walk"})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, answer.getheader("content-type") or "", answer.getheader("location") or "", body


def _links(url: str, body: bytes) -> set[str]:
    base = url
    found = set()
    for tag, *values in _HREF.findall(_HIDDEN.sub(b"", body)):
        href = unescape(b"".join(values).decode("utf-8", "replace")).strip()
        if tag.lower() == b"base":
            base = urljoin(url, href)
        elif href and not href.startswith("#"):
            try:
                found.add(urljoin(base, href))
            except ValueError:  # an address that can't be read, such as a broken IPv6 one
                continue
    return found
