"""Which links belong to a crawl: one verdict per URL, the first rule that applies decides.

Batches and single URLs take the same path, and no verdict depends on what was judged before: answers are
remembered only because most links of a page stood on the pages before it as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perseid.dom import url as urls
from perseid.links.key import is_route, url_key
from perseid.links.ruling import CLIP, LONG, WEB, Robots, Ruling, Verdict, path_depth
from perseid.links.trap import THIS_YEAR
from perseid.model.verdict import Candidate, Denial, DenialReason, Denied, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perseid.model.ids import UrlKey
    from perseid.model.options import ScopeRules

__all__ = ["Robots", "Scope", "path_depth"]

REMEMBERED = 20_000
"""Verdicts, and links as written, kept per scope: some 15 MB; then they are forgotten and asked anew."""
_SHORT = 512
"""Characters of a link as written that is remembered."""


class _Link(NamedTuple):
    """What a link as written comes to."""

    href: str
    """Absolute, without section fragment; as written where it can't be resolved."""
    section: str
    """The fragment that was cut off, with its hash sign."""
    verdict: Verdict


class Scope:
    """The rules of one crawl, applied to the site of its start page.

    `start_url` is the final URL of the start page, since a redirect moves the crawl to its target. `robots`
    maps origins to their rules; an origin without entry is left to whoever fetches from it. `year` is the
    one the crawl began in, for `perseid.links.trap`. Raises ConfigError on an invalid pattern and ValueError
    on a start URL that is none.
    """

    def __init__(
        self,
        rules: ScopeRules,
        start_url: str,
        *,
        key_seed: int,
        blocked_hosts: Sequence[str] = (),
        robots: Mapping[str, Robots] | None = None,
        agents: Sequence[str] = ("perseid",),
        year: int = THIS_YEAR,
    ) -> None:
        start = urls.parse(start_url)
        if start is None or not start.is_web:
            raise ValueError(f"{start_url!r} is not an http(s) URL to start from")
        self.rules = rules
        self.start_url = start_url
        self._seed = key_seed
        self._ruling = Ruling(
            rules,
            start,
            key_seed=key_seed,
            blocked_hosts=blocked_hosts,
            robots=robots or {},
            agent=agents[0] if agents else "",
            year=year,
        )
        self._known: dict[str, Verdict] = {}
        self._links: dict[str, dict[str, _Link]] = {}
        """By what a link's meaning depends on: the site, or the folder, of its base URL."""
        self._room = REMEMBERED

    @property
    def site(self) -> str:
        """The crawl's own site as `politeness_host` writes it: scheme, www and default ports don't count."""
        return self._ruling.site

    @property
    def warnings(self) -> list[str]:
        """What went wrong with patterns so far, a sentence each."""
        return self._ruling.exclude.warnings + self._ruling.include.warnings

    def key(self, url: str) -> UrlKey:
        """The key of `url` in this crawl: `ignore_query` and `deduplicate_similar` are honoured."""
        return self._ruling.key(urls.serialize(url) or url)

    def judge_url(self, url: str) -> Denial | None:
        """Why an absolute URL (redirect target, sitemap entry, start page) is refused, or None."""
        denied = self._link(url, urls.serialize(url)).verdict.denied
        return None if denied is None else denied.denial

    def judge(self, hrefs: Iterable[str], *, base: str, page_url: str, page_depth: int) -> Judged:
        """Resolve `hrefs` against `base`, judge them as links of `page_url`, and drop repeats.

        Of links with one key the first counts, and an accepted one before any refused; where similar URLs are
        folded, other spellings of an accepted one stand at the end, to be tried if the first is gone. Links
        on a page of another site lead back into this one only.
        """
        resolver = urls.base_of(base)
        found_at = resolver.href if base == page_url else urls.serialize(page_url)
        page = (found_at or page_url).partition("#")[0]
        outside = not self._ruling.is_own(page) and page.startswith(WEB)
        accepted: dict[int, Candidate] = {}
        spellings: dict[str, Candidate] = {}
        refused: dict[int, Denied] = {}
        of_site, of_folder = self._memory(resolver.href)
        for raw in hrefs:
            link = of_site.get(raw) or of_folder.get(raw)
            if link is None:
                link = self._link(raw, resolver.join(raw))
                self._remember(raw, link, of_site, of_folder)
            href, section, (key, candidate, denied, external) = link
            if section and href == page:
                denied = self._section(href, section)
                refused.setdefault(denied.key, denied)
            elif denied is not None:
                refused.setdefault(key, denied)
            elif candidate is None:
                continue
            elif key in accepted:
                if self.rules.deduplicate_similar and candidate.url != accepted[key].url:
                    spellings[candidate.url] = candidate
            elif outside and external:
                denial = Denial(DenialReason.EXTERNAL_LINK, rule=f"{self.site} and one hop", value=candidate.host)
                refused.setdefault(key, Denied(href, key, denial))
            else:
                accepted[key] = candidate
        deepest = self.rules.max_discovery_depth
        cut = deepest is not None and page_depth + 1 > deepest
        found = [*accepted.values(), *spellings.values()]
        return Judged(found, [d for k, d in refused.items() if k not in accepted], cut)

    def _link(self, raw: str, href: str | None) -> _Link:
        if href is None:
            denial = Denial(DenialReason.URL_PARSE_ERROR, value=raw[:CLIP])
            key = url_key(raw, self._seed)
            return _Link(raw, "", Verdict(key, None, Denied(raw[:CLIP], key, denial)))
        at = href.find("#")
        if at < 0 or is_route(href, at):
            return _Link(href, "", self._verdict(href))
        return _Link(href[:at], href[at:], self._verdict(href[:at]))

    def _verdict(self, href: str) -> Verdict:
        """The verdict on a serialised URL without section fragment, remembered."""
        found = self._known.get(href)
        if found is None:
            found = self._ruling.decide(href)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            if len(href) <= LONG:
                self._known[href] = found
        return found

    def _section(self, href: str, section: str) -> Denied:
        # Its key holds the fragment: the page itself may well be accepted beside it.
        key = url_key(href + section, self._seed)
        return Denied((href + section)[:LONG], key, Denial(DenialReason.SECTION_LINK, value=section[:CLIP]))

    def _memory(self, base: str | None) -> tuple[dict[str, _Link], dict[str, _Link]]:
        """The remembered links that mean the same on every page of the site, and of the folder, of `base`."""
        if base is None or not base.startswith(WEB):
            return {}, {}
        if self._room <= 0:
            self._links.clear()
            self._room = REMEMBERED
        folder = base.partition("#")[0].partition("?")[0].rpartition("/")[0]
        self._room -= 1
        return self._links.setdefault(base[: base.index("/", 8)], {}), self._links.setdefault(f"{folder}/", {})

    def _remember(self, raw: str, link: _Link, of_site: dict[str, _Link], of_folder: dict[str, _Link]) -> None:
        """Remember what `raw` comes to, where that doesn't depend on the last segment or query of the base.

        With a colon it may hold a scheme, and `https:?x` is relative to all of an https base.
        """
        if self._room <= 0 or len(raw) > _SHORT:
            return
        first = raw[:1]
        if first == "/" or raw.startswith(WEB):
            of_site[raw] = link
        elif (first.isalnum() or first in ("_", ".", "-", "%")) and ":" not in raw:
            of_folder[raw] = link
        else:
            return
        self._room -= 1
