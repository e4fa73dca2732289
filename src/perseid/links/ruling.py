"""The rules of one crawl made ready: what each URL is answered, by that URL alone.

Resolving links, what depends on the page they stand on, and remembering answers are `perseid.links.scope`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from perseid.dom import url as urls
from perseid.links import trap as traps
from perseid.links.filetype import stopped_extension
from perseid.links.host import apex, authority, is_within, same_domain
from perseid.links.key import normalize_href, url_key
from perseid.links.patterns import Patterns, clipped
from perseid.links.similar import canonical_form
from perseid.links.social import social_network
from perseid.links.startpath import StartPath
from perseid.model.verdict import Candidate, Denial, DenialReason, Denied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perseid.model.ids import UrlKey
    from perseid.model.options import ScopeRules

WEB = ("https://", "http://")
"""How a serialised URL that can be crawled begins."""
LONG = 4096
"""Characters beyond which no more than `CLIP` of a refused URL is reported."""
CLIP = 512
_MAX_PLACES = 10_000


class RobotsVerdict(Protocol):
    """What a robots.txt says about one URL, and the line that decided."""

    @property
    def allowed(self) -> bool: ...
    @property
    def rule(self) -> str: ...


class Robots(Protocol):
    """A robots.txt as it applies to our agent (`perseid.links.robots.Robots` is one)."""

    def allows(self, url: str) -> RobotsVerdict: ...


class Verdict(NamedTuple):
    """The answer on one URL, so far as it doesn't depend on the page the link stands on."""

    key: UrlKey
    candidate: Candidate | None
    denied: Denied | None
    external: bool = False
    """Not of the crawl's own site."""


class _Place(NamedTuple):
    """What is remembered of one `scheme://authority`."""

    authority: str
    origin: str
    own: bool
    """Of the crawl's own site, its sub-domains included where they are asked for."""
    at_home: bool
    """On the very host of the start page."""
    refused: Denial | None


class _BlockEntry(NamedTuple):
    """One line of a block list: `host`, `host:port`, or `*.domain` for a domain and all below it."""

    written: str
    name: str
    """As `politeness_host` writes it."""
    below: bool

    @classmethod
    def read(cls, entry: str) -> _BlockEntry:
        written = entry.strip()
        host = written.removeprefix("*.")
        parts = urls.parse(host if host.lower().startswith(WEB) else f"http://{host}")
        return cls(written, authority(parts) if parts else host.lower(), below=written != host)

    def covers(self, name: str, host: str) -> bool:
        if self.below:
            return is_within(host.removesuffix("."), self.name)
        return self.name in (name, apex(host))


class Ruling:
    """Pure but for what it remembers of hosts, and for the warnings of patterns that overran."""

    def __init__(
        self,
        rules: ScopeRules,
        start: urls.Url,
        *,
        key_seed: int,
        blocked_hosts: Sequence[str],
        robots: Mapping[str, Robots],
        agent: str,
        year: int,
    ) -> None:
        self.rules = rules
        self.site = authority(start)
        self.include = Patterns(rules.include)
        self.exclude = Patterns(rules.exclude)
        self._host = apex(start.host)
        self._path = None if rules.entire_domain else StartPath(start.path)
        self._seed = key_seed
        self._blocked = [_BlockEntry.read(entry) for entry in blocked_hosts if entry.strip()]
        self._robots = dict(robots)
        self._agent = agent
        self._year = year
        self._included = clipped(", ".join(self.include.sources))
        self._patterned = bool(self.include) or bool(self.exclude)
        self._places: dict[str, _Place] = {}

    def key(self, href: str) -> UrlKey:
        """The key of a serialised URL in this crawl."""
        normal = normalize_href(href, ignore_query=self.rules.ignore_query)
        if self.rules.deduplicate_similar:
            normal = canonical_form(normal)
        return url_key(normal, self._seed)

    def is_own(self, href: str) -> bool:
        """Whether a serialised URL is of the crawl's own site."""
        return href.startswith(WEB) and self._place(href).own

    def decide(self, href: str) -> Verdict:
        """The verdict on a serialised URL without section fragment."""
        key = self.key(href)
        if not href.startswith(WEB):
            denial = Denial(DenialReason.NON_WEB_PROTOCOL, value=f"{href.partition(':')[0]}:")
            return _refusal(href, key, denial)
        place = self._place(href)
        rest, _, route = href[href.index("/", 8) :].partition("#")
        path, _, query = rest.partition("?")
        found = (
            place.refused
            or self._refuse_path(path, place)
            or (self._refuse_pattern(href, path, own=place.own) if self._patterned else None)
            or (self._refuse_robots(href, place) if self._robots else None)
            or self._refuse_trap(path, query, route)
        )
        if found is not None:
            return _refusal(href, key, found, external=not place.own)
        return Verdict(key, Candidate(href, key, place.authority), None, not place.own)

    def _place(self, href: str) -> _Place:
        """The place of a serialised http(s) URL, remembered."""
        root = href[: href.index("/", 8)]
        found = self._places.get(root)
        if found is None:
            if len(self._places) >= _MAX_PLACES:
                self._places.clear()
            found = self._places[root] = self._find_place(root)
        return found

    def _find_place(self, root: str) -> _Place:
        parts = urls.parse(root)
        if parts is None:
            raise ValueError(f"{root!r} was taken for the beginning of a serialised URL")
        name, host = authority(parts), parts.host
        at_home = name == self.site
        own = at_home or (self.rules.subdomains and same_domain(host, self._host))
        refused = None
        if entry := next((entry.written for entry in self._blocked if entry.covers(name, host)), None):
            refused = Denial(DenialReason.BLOCKED_HOST, rule=entry, value=host)
        elif self.rules.block_social_media and not own and (entry := social_network(host)):
            refused = Denial(DenialReason.SOCIAL_MEDIA, rule=entry, value=host)
        return _Place(name, parts.origin, own, at_home, refused)

    def _refuse_path(self, path: str, place: _Place) -> Denial | None:
        """By depth of the path, file type, site and start path."""
        deepest = self.rules.max_depth
        if deepest is not None and (depth := path_depth(path)) > deepest:
            return Denial(DenialReason.DEPTH_LIMIT, rule=str(deepest), value=str(depth))
        if ending := stopped_extension(path):
            return Denial(DenialReason.FILE_TYPE, rule=ending, value=f".{ending}")
        if not place.own:
            if not self.rules.external:
                return Denial(DenialReason.EXTERNAL_LINK, rule=self.site, value=place.authority)
            if path == "/" and not self.rules.external_homes:
                return Denial(
                    DenialReason.EXTERNAL_LINK, rule=f"{self.site} and inner pages of others", value=place.authority
                )
        elif self._path is not None and place.at_home and not self._path.covers(path):
            return Denial(DenialReason.BACKWARD_CRAWLING, rule=self._path.rule, value=path)
        return None

    def _refuse_pattern(self, href: str, path: str, *, own: bool) -> Denial | None:
        """By the user's patterns. Include patterns describe the own site; on others exclude sees the URL."""
        subject = href if self.rules.regex_on_full_url or not own else path
        if self.exclude and (pattern := self.exclude.first_match(subject)):
            return Denial(DenialReason.EXCLUDE_PATTERN, rule=pattern, value=subject)
        if own and self.include and self.include.first_match(subject) is None:
            return Denial(DenialReason.INCLUDE_PATTERN, rule=self._included, value=subject)
        return None

    def _refuse_robots(self, href: str, place: _Place) -> Denial | None:
        robots = self._robots.get(place.origin)
        if robots is None:
            return None
        verdict = robots.allows(href)
        return None if verdict.allowed else Denial(DenialReason.ROBOTS_TXT, verdict.rule, self._agent)

    def _refuse_trap(self, path: str, query: str, route: str) -> Denial | None:
        found = traps.trap(path, query, year=self._year)
        if found is None and route:
            path, _, query = route.partition("?")
            found = traps.trap(path, query, year=self._year)
        return None if found is None else Denial(DenialReason.TRAP, rule=found.rule, value=found.value)


def _refusal(href: str, key: UrlKey, denial: Denial, *, external: bool = False) -> Verdict:
    if len(href) > LONG:
        href = href[:CLIP]
        denial = Denial(denial.reason, denial.rule[:CLIP], denial.value[:CLIP])
    return Verdict(key, None, Denied(href, key, denial), external)


def path_depth(path: str) -> int:
    """How many segments a path has; empty ones and a closing index.html or index.php don't count."""
    segments = [segment for segment in path.split("/") if segment]
    return len(segments) - (bool(segments) and segments[-1] in ("index.html", "index.php"))
