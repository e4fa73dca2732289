"""robots.txt (RFC 9309): which group of rules is ours, and what it says about a URL.

How rules match lies in `perseid.links.robots_rules`. Fetching and caching are the caller's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Self

from perseid.links.robots_rules import RuleSet, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES = 1024 * 1024
"""RFC 9309 (2.5) asks for at least 500 KiB; what lies beyond is not read."""

_PARTIAL_BOMS = (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef")
_SPACE = " \t\v\f\0"
_TOKEN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz_-")

_KEYS = {
    "user-agent": "agent",
    "useragent": "agent",
    "user agent": "agent",
    "allow": "allow",
    "disallow": "disallow",
    "dissallow": "disallow",
    "dissalow": "disallow",
    "disalow": "disallow",
    "diasllow": "disallow",
    "disallaw": "disallow",
    "sitemap": "sitemap",
    "site-map": "sitemap",
    "crawl-delay": "delay",
    "crawldelay": "delay",
    "crawl delay": "delay",
}


class RobotsVerdict(NamedTuple):
    """`rule` is the line that decided, e.g. `Disallow: /private`; empty where none matched.

    A site whose robots.txt can't be had answers with `unreachable: …`.
    """

    allowed: bool
    rule: str = ""


_NO_RULE = RobotsVerdict(allowed=True)


class Robots:
    """What one robots.txt says to one crawler. Immutable once made.

    `crawl_delay_s` is that of our group, the longest if it names several; None where it names none, or only
    nonsense. `sitemaps` are those of the whole file, as written.
    """

    __slots__ = ("_rules", "_unreachable", "crawl_delay_s", "failure", "sitemaps")

    def __init__(
        self,
        rules: RuleSet | None = None,
        *,
        crawl_delay_s: float | None = None,
        sitemaps: tuple[str, ...] = (),
        unreachable: str | None = None,
        failure: str = "",
    ) -> None:
        self._rules = rules
        self._unreachable = None if unreachable is None else RobotsVerdict(allowed=False, rule=unreachable)
        self.failure = failure
        """Where no answer came at all: the code of what failed (`dns_error` …); pages of the site fail the same way."""
        self.crawl_delay_s = crawl_delay_s
        self.sitemaps = sitemaps

    @classmethod
    def parse(cls, body: bytes, *, agents: Sequence[str]) -> Self:
        """Read a robots.txt for the crawler that answers to `agents`, the preferred product token first.

        All groups that name the first of those tokens that is named at all are merged and apply; without
        any, those of `*` do (RFC 9309, 2.2.1). Never raises: what is no rule is skipped, as 2.2.4 asks.
        """
        reader = _Reader(agents)
        for line in _lines(body):
            reader.line(line)
        group = reader.chosen()
        return cls(
            RuleSet(group.rules) if group.rules else None,
            crawl_delay_s=group.delay_s,
            sitemaps=tuple(reader.sitemaps),
        )

    @classmethod
    def allow_all(cls) -> Self:
        """For an answer of 400 to 499 (RFC 9309, 2.3.1.3)."""
        return cls()

    @classmethod
    def disallow_all(cls, why: str, *, failure: str = "") -> Self:
        """For an answer of 500 and above, or none (RFC 9309, 2.3.1.4); `why` is told in the verdicts."""
        return cls(unreachable=f"unreachable: {why}" if why else "unreachable", failure=failure)

    def allows(self, url: str) -> RobotsVerdict:
        """Judge an absolute URL, or a path with its query. robots.txt itself is always allowed."""
        if self._rules is None and self._unreachable is None:
            return _NO_RULE
        path = path_of(url)
        if path == "/robots.txt":
            return _NO_RULE
        if self._rules is None:
            return self._unreachable or _NO_RULE
        rule = self._rules.decide(path)
        return _NO_RULE if rule is None else RobotsVerdict(rule.allow, rule.text)


class _Group:
    """The merged groups of one product token."""

    __slots__ = ("delay_s", "named", "rules")

    def __init__(self) -> None:
        self.named = False
        self.rules: list[tuple[bool, str]] = []
        self.delay_s: float | None = None


class _Reader:
    """Goes through the lines once and keeps what concerns our tokens.

    Only Allow and Disallow close the list of user-agent lines at the head of a group; Crawl-delay, Sitemap
    and unknown lines don't (RFC 9309, 2.1 and 2.2.4).
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self._groups: dict[str, _Group] = {}
        for agent in agents:
            if token := agent.strip().split("/")[0].lower():
                self._groups.setdefault(token, _Group())
        self._star = _Group()
        self._current: list[_Group] = []
        self._in_rules = False
        self.sitemaps: dict[str, None] = {}

    def line(self, line: str) -> None:
        key, value = _split(line)
        match key:
            case "agent":
                self._agent(value)
            case "allow" | "disallow":
                self._in_rules = True
                if value:
                    for group in self._current:
                        group.rules.append((key == "allow", value))
            case "delay":
                if (delay_s := _delay(value)) is not None:
                    for group in self._current:
                        group.delay_s = max(delay_s, group.delay_s or 0.0)
            case "sitemap":
                if value:
                    self.sitemaps[value] = None
            case _:
                pass

    def _agent(self, value: str) -> None:
        if self._in_rules:
            self._current = []
            self._in_rules = False
        for group in self._named_by(value.lower()):
            group.named = True
            if group not in self._current:
                self._current.append(group)

    def _named_by(self, value: str) -> list[_Group]:
        if value == "*" or (value.startswith("*") and value[1] in _SPACE):
            return [self._star]
        end = 0
        while end < len(value) and value[end] in _TOKEN_CHARACTERS:
            end += 1
        # The RFC's tokens hold letters, `_` and `-` only; names with digits are met all the same.
        word = value.split("/", 1)[0].split(None, 1)
        names = {value[:end], word[0] if word else ""}
        return [group for token, group in self._groups.items() if token in names]

    def chosen(self) -> _Group:
        for group in self._groups.values():
            if group.named:
                return group
        return self._star


def _lines(body: bytes) -> list[str]:
    if len(body) > MAX_BYTES:
        # The line that was cut is dropped: half a path would forbid more than the site meant.
        body = body[:MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = body.decode("utf-16", "replace")
    else:
        for bom in _PARTIAL_BOMS:
            if body.startswith(bom):
                body = body[len(bom) :]
                break
        text = body.decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _split(line: str) -> tuple[str, str]:
    line = line.split("#", 1)[0]
    key, colon, value = line.partition(":")
    if not colon:
        # "Disallow /x" without its colon is understood where exactly two words stand on the line.
        words = line.split()
        if len(words) != 2:
            return "", ""
        key, value = words
    return _key(key.strip(_SPACE).lower()), value.strip(_SPACE)


def _key(name: str) -> str:
    if known := _KEYS.get(name):
        return known
    for start in ("user-agent", "allow", "disallow", "sitemap"):
        if name.startswith(start):
            return _KEYS[start]
    return ""


def _delay(value: str) -> float | None:
    try:
        delay_s = float(value) if value.isascii() and "_" not in value else math.nan
    except ValueError:
        return None
    return delay_s if math.isfinite(delay_s) and delay_s >= 0 else None
