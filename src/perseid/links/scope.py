"""Which links belong to a crawl: one verdict per URL, the first rule that applies decides.

Batches and single URLs take the same path, and no verdict depends on what was judged before: answers are
remembered only because most links of a page stand on the pages before it as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from perseid.dom import url as urls
from perseid.links import trap as traps
from perseid.links.filetype import stopped_extension
from perseid.links.host import apex, authority, is_within, same_domain
from perseid.links.key import is_route, normalize_href, url_key
from perseid.links.patterns import Patterns, clipped
from perseid.links.similar import canonical_form
from perseid.links.social import social_network
from perseid.links.startpath import StartPath
from perseid.model.verdict import Candidate, Denial, DenialReason, Denied, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perseid.model.ids import UrlKey
    from perseid.model.options import ScopeRules

REMEMBERED = 20_000
"""Verdicts kept per scope, about 10 MB; then they are forgotten at once and asked anew."""

_WEB = ("https://", "http://")
_LONG = 4096
"""Characters of a URL that may be remembered; beyond, no more than `_CLIP` of it is reported either."""
_CLIP = 512


class RobotsVerdict(Protocol):
    """What a robots.txt says about one URL, and the line that decided."""

    @property
    def allowed(self) -> bool: ...
    @property
    def rule(self) -> str: ...


class Robots(Protocol):
    """A robots.txt as it applies to our agent (`perseid.links.robots.Robots` is one)."""

    def allows(self, url: str) -> RobotsVerdict: ...


class _Verdict(NamedTuple):
    """What is remembered of one URL: all that doesn't depend on the page the link stands on."""

    key: UrlKey
    candidate: Candidate | None
    denied: Denied | None
    external: bool = False


class _Place(NamedTuple):
    """What is remembered of one `scheme://authority`."""

    authority: str
    origin: str
    own: bool
    """Of the crawl's own site, its sub-domains included where they are asked for."""
    at_home: bool
    """On the very host of the start page."""
    refused: Denial | None


class Scope:
    """The rules of one crawl, applied to the site of its start page.

    `start_url` is the final URL of the start page, since a redirect moves the crawl to its target. `robots`
    maps origins to their rules; an origin without entry is left to whoever fetches from it. `year` is the
    one the crawl began in, for `perseid.links.trap`. Raises ConfigError on an invalid pattern and ValueError
    on a start URL that is none.
    """

    def __init__(  # noqa: PLR0913  # each is independent, and all but two have a default
        self,
        rules: ScopeRules,
        start_url: str,
        *,
        key_seed: int,
        blocked_hosts: Sequence[str] = (),
        robots: Mapping[str, Robots] | None = None,
        agents: Sequence[str] = ("perseid",),
        limit: int | None = None,
        year: int = traps.THIS_YEAR,
    ) -> None:
        start = urls.parse(start_url)
        if start is None or not start.is_web:
            raise ValueError(f"{start_url!r} is not an http(s) URL to start from")
        self.rules = rules
        self.start_url = start_url
        self.site = authority(start)
        """The crawl's own site as `politeness_host` writes it: scheme, www and default ports don't count."""
        self.over_limit = Denial(DenialReason.LIMIT_REACHED, rule=str(limit))
        """The verdict for what the store has no room for."""
        self._host = apex(start.host)
        self._path = None if rules.entire_domain else StartPath(start.path)
        self._seed = key_seed
        self._blocked = [entry.strip().lower() for entry in blocked_hosts if entry.strip()]
        self._robots = dict(robots or {})
        self._agent = agents[0] if agents else ""
        self._year = year
        self._include = Patterns(rules.include)
        self._include_rule = clipped(", ".join(self._include.sources))
        self._exclude = Patterns(rules.exclude)
        self._known: dict[str, _Verdict] = {}
        self._places: dict[str, _Place] = {}

    @property
    def warnings(self) -> list[str]:
        """What went wrong with patterns so far, a sentence each."""
        return self._exclude.warnings + self._include.warnings

    def key(self, url: str) -> UrlKey:
        """The key of `url` in this crawl: `ignore_query` and `deduplicate_similar` are honoured."""
        return self._key(urls.serialize(url) or url)

    def judge_url(self, url: str) -> Denial | None:
        """Why an absolute URL (redirect target, sitemap entry, start page) is refused, or None."""
        href = urls.serialize(url)
        if href is None:
            return Denial(DenialReason.URL_PARSE_ERROR, value=url[:_CLIP])
        at = href.find("#")
        denied = self._verdict(href if at < 0 or is_route(href, at) else href[:at]).denied
        return None if denied is None else denied.denial

    def judge(self, hrefs: Iterable[str], *, base: str, page_url: str, page_depth: int) -> Judged:
        """Resolve `hrefs` against `base`, judge them as links of `page_url`, and drop repeats.

        Of links with one key the first counts, and an accepted one before any refused. Links on a page of
        another site lead back into this one only.
        """
        page = (urls.serialize(page_url) or page_url).partition("#")[0]
        outside = page.startswith(_WEB) and not self._place(page).own
        accepted: dict[int, Candidate] = {}
        refused: dict[int, Denied] = {}
        join = urls.Base(base).join
        known = self._known
        for raw in hrefs:
            href = join(raw)
            if href is None:
                denied = self._unreadable(raw)
                refused.setdefault(denied.key, denied)
                continue
            at = href.find("#")
            if at >= 0 and not is_route(href, at):
                if at == len(page) and href.startswith(page):
                    denied = self._section(href, at)
                    refused.setdefault(denied.key, denied)
                    continue
                href = href[:at]
            verdict = known.get(href) or self._verdict(href)
            candidate = verdict.candidate
            if candidate is None:
                if verdict.denied is not None:
                    refused.setdefault(verdict.key, verdict.denied)
            elif outside and verdict.external:
                denial = Denial(DenialReason.EXTERNAL_LINK, rule=f"{self.site} and one hop", value=candidate.host)
                refused.setdefault(verdict.key, Denied(candidate.url, verdict.key, denial))
            elif verdict.key not in accepted:
                accepted[verdict.key] = candidate
        deepest = self.rules.max_discovery_depth
        cut = deepest is not None and page_depth + 1 > deepest
        return Judged(list(accepted.values()), [d for k, d in refused.items() if k not in accepted], cut)

    def _key(self, href: str) -> UrlKey:
        normal = normalize_href(href, ignore_query=self.rules.ignore_query)
        if self.rules.deduplicate_similar:
            normal = canonical_form(normal)
        return url_key(normal, self._seed)

    def _unreadable(self, raw: str) -> Denied:
        denial = Denial(DenialReason.URL_PARSE_ERROR, value=raw[:_CLIP])
        return Denied(raw[:_CLIP], url_key(raw, self._seed), denial)

    def _section(self, href: str, at: int) -> Denied:
        # Its key holds the fragment: the page itself may well be accepted beside it.
        denial = Denial(DenialReason.SECTION_LINK, value=href[at : at + _CLIP])
        return Denied(href[:_LONG], url_key(href, self._seed), denial)

    def _verdict(self, href: str) -> _Verdict:
        """The verdict on a serialised URL without section fragment, remembered."""
        found = self._known.get(href)
        if found is None:
            found = self._decide(href)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            if len(href) <= _LONG:
                self._known[href] = found
        return found

    def _decide(self, href: str) -> _Verdict:
        key = self._key(href)
        if not href.startswith(_WEB):
            denial = Denial(DenialReason.NON_WEB_PROTOCOL, value=f"{href.partition(':')[0]}:")
            return _refusal(href, key, denial)
        place = self._place(href)
        rest, _, route = href[href.index("/", 8) :].partition("#")
        path, _, query = rest.partition("?")
        found = (
            place.refused
            or self._refuse_path(path, place)
            or self._refuse_pattern(href, path, own=place.own)
            or self._refuse_robots(href, place)
            or self._refuse_trap(path, query, route)
        )
        if found is not None:
            return _refusal(href, key, found, external=not place.own)
        return _Verdict(key, Candidate(href, key, place.authority), None, not place.own)

    def _place(self, href: str) -> _Place:
        """The place of a serialised http(s) URL, remembered."""
        root = href[: href.index("/", 8)]
        found = self._places.get(root)
        if found is None:
            if len(self._places) >= REMEMBERED:
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
        if entry := self._blocked_by(host):
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
        elif self._path is not None and place.at_home and not self._path.covers(path):
            return Denial(DenialReason.BACKWARD_CRAWLING, rule=self._path.rule, value=path)
        return None

    def _refuse_pattern(self, href: str, path: str, *, own: bool) -> Denial | None:
        """By the user's patterns. Include patterns describe the own site; on others exclude sees the URL."""
        subject = href if self.rules.regex_on_full_url or not own else path
        if self._exclude and (pattern := self._exclude.first_match(subject)):
            return Denial(DenialReason.EXCLUDE_PATTERN, rule=pattern, value=subject)
        if own and self._include and self._include.first_match(subject) is None:
            return Denial(DenialReason.INCLUDE_PATTERN, rule=self._include_rule, value=subject)
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

    def _blocked_by(self, host: str) -> str | None:
        host = host.removesuffix(".")
        for entry in self._blocked:
            if entry.startswith("*."):
                if is_within(host, entry[2:]):
                    return entry
            elif apex(host) == apex(entry):
                return entry
        return None


def _refusal(href: str, key: UrlKey, denial: Denial, *, external: bool = False) -> _Verdict:
    if len(href) > _LONG:
        href = href[:_CLIP]
        denial = Denial(denial.reason, denial.rule[:_CLIP], denial.value[:_CLIP])
    return _Verdict(key, None, Denied(href, key, denial), external)


def path_depth(path: str) -> int:
    """How many segments a path has; empty ones and a closing index.html or index.php don't count."""
    segments = [segment for segment in path.split("/") if segment]
    return len(segments) - (bool(segments) and segments[-1] in ("index.html", "index.php"))
