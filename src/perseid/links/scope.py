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
from perseid.links.patterns import Patterns
from perseid.links.similar import canonical
from perseid.links.social import social_network
from perseid.links.startpath import StartPath
from perseid.model.verdict import Candidate, Denial, DenialReason, Denied, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perseid.model.ids import UrlKey
    from perseid.model.options import ScopeRules

REMEMBERED = 20_000
"""Verdicts kept per scope, about 10 MB; then they are forgotten at once and asked anew."""

_CLIP = 512
"""Characters of a `data:` or `javascript:` link that are reported."""


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
        self._exclude = Patterns(rules.exclude)
        self._known: dict[str, _Verdict] = {}

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
        outside = self._outside(page)
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
                denial = Denial(
                    DenialReason.EXTERNAL_LINK, rule=f"{self.site} and one hop", value=candidate.host
                )
                refused.setdefault(verdict.key, Denied(candidate.url, verdict.key, denial))
            elif verdict.key not in accepted:
                accepted[verdict.key] = candidate
        deepest = self.rules.max_discovery_depth
        cut = deepest is not None and page_depth + 1 > deepest
        return Judged(list(accepted.values()), [d for k, d in refused.items() if k not in accepted], cut)

    def _key(self, href: str) -> UrlKey:
        normal = normalize_href(href, ignore_query=self.rules.ignore_query)
        if self.rules.deduplicate_similar:
            normal = canonical(normal)
        return url_key(normal, self._seed)

    def _unreadable(self, raw: str) -> Denied:
        denial = Denial(DenialReason.URL_PARSE_ERROR, value=raw[:_CLIP])
        return Denied(raw[:_CLIP], url_key(raw, self._seed), denial)

    def _section(self, href: str, at: int) -> Denied:
        # Its key holds the fragment: the page itself may well be accepted beside it.
        denial = Denial(DenialReason.SECTION_LINK, value=href[at : at + _CLIP])
        return Denied(href, url_key(href, self._seed), denial)

    def _outside(self, page: str) -> bool:
        parts = urls.parse(page)
        return parts is not None and not self._is_own(parts)

    def _verdict(self, href: str) -> _Verdict:
        """The verdict on a serialised URL without section fragment, remembered."""
        found = self._known.get(href)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._known[href] = self._decide(href)
        return found

    def _decide(self, href: str) -> _Verdict:
        key = self._key(href)
        parts = urls.parse(href)
        if parts is None:
            return _Verdict(key, None, Denied(href, key, Denial(DenialReason.URL_PARSE_ERROR, value=href)))
        if not parts.is_web:
            denial = Denial(DenialReason.NON_WEB_PROTOCOL, value=f"{parts.scheme}:"[:_CLIP])
            return _Verdict(key, None, Denied(href[:_CLIP], key, denial))
        own = self._is_own(parts)
        found = self._refuse_place(parts, own=own) or self._refuse_rule(parts, own=own)
        if found is not None:
            return _Verdict(key, None, Denied(href, key, found), external=not own)
        return _Verdict(key, Candidate(href, key, authority(parts)), None, external=not own)

    def _is_own(self, parts: urls.Url) -> bool:
        """Whether a URL is of the crawl's own site, its sub-domains included where they are asked for."""
        return authority(parts) == self.site or (
            self.rules.subdomains and same_domain(apex(parts.host), self._host)
        )

    def _refuse_place(self, parts: urls.Url, *, own: bool) -> Denial | None:
        """Where the URL lies: hosts, depth of the path, file type, site, start path."""
        host, rules = parts.host, self.rules
        if entry := self._blocked_by(host):
            return Denial(DenialReason.BLOCKED_HOST, rule=entry, value=host)
        if rules.block_social_media and not own and (entry := social_network(host)):
            return Denial(DenialReason.SOCIAL_MEDIA, rule=entry, value=host)
        if rules.max_depth is not None and (depth := path_depth(parts.path)) > rules.max_depth:
            return Denial(DenialReason.DEPTH_LIMIT, rule=str(rules.max_depth), value=str(depth))
        if ending := stopped_extension(parts.path):
            return Denial(DenialReason.FILE_TYPE, rule=ending, value=f".{ending}")
        if not own:
            return None if rules.external else Denial(DenialReason.EXTERNAL_LINK, self.site, authority(parts))
        if self._path is not None and authority(parts) == self.site and not self._path.covers(parts.path):
            return Denial(DenialReason.BACKWARD_CRAWLING, rule=self._path.rule, value=parts.path)
        return None

    def _refuse_rule(self, parts: urls.Url, *, own: bool) -> Denial | None:
        """What the user's patterns, robots.txt and the trap rules say."""
        full = parts.href
        subject = full if self.rules.regex_on_full_url else parts.path
        if self._exclude and (pattern := self._exclude.first_match(subject if own else full)):
            return Denial(DenialReason.EXCLUDE_PATTERN, rule=pattern, value=subject if own else full)
        if own and self._include and self._include.first_match(subject) is None:
            return Denial(DenialReason.INCLUDE_PATTERN, rule=", ".join(self._include.sources), value=subject)
        if (robots := self._robots.get(parts.origin)) is not None:
            verdict = robots.allows(full)
            if not verdict.allowed:
                return Denial(DenialReason.ROBOTS_TXT, rule=verdict.rule, value=self._agent)
        if found := traps.trap(parts.path, parts.query, year=self._year):
            return Denial(DenialReason.TRAP, rule=found.rule, value=found.value)
        return None

    def _blocked_by(self, host: str) -> str | None:
        host = host.removesuffix(".")
        for entry in self._blocked:
            if entry.startswith("*."):
                if is_within(host, entry[2:]):
                    return entry
            elif apex(host) == apex(entry):
                return entry
        return None


def path_depth(path: str) -> int:
    """How many segments a path has; empty ones and a closing index.html or index.php don't count."""
    segments = [segment for segment in path.split("/") if segment]
    return len(segments) - (bool(segments) and segments[-1] in ("index.html", "index.php"))
