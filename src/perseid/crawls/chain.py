"""One lease's way to an answer: robots, request, redirects by hand, each hop judged anew.

A hop onto another host, or any further request to a host that takes one at a time, does not happen under
this lease: the job goes back to waiting on that host's lane, with the state of its chain.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

import msgspec
from xxhash import xxh3_64_intdigest

from perseid.crawls import outcome
from perseid.crawls.context import Contexts, CrawlContext
from perseid.dom import url as urls
from perseid.links.foreign import for_strangers, trusted
from perseid.links.host import politeness_host
from perseid.links.robots import Robots
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.verdict import Denial, DenialReason, FailureCode
from perseid.ports.clock import Clock
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response, RobotsSource
from perseid.ports.work import Again, End, Failed, HostNote, Lease, Refused

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAME_METHOD = frozenset({307, 308})
_SITE_AWAY = frozenset(
    code.value
    for code in (
        FailureCode.DNS,
        FailureCode.CONNECTION,
        FailureCode.TLS,
        FailureCode.PROXY,
        FailureCode.BLOCKED_ADDRESS,
    )
)

_WAITED_FOR = frozenset({CrawlKind.SCRAPE, CrawlKind.MAP})


class FetchPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's bounds on fetching, as far as a job must know them."""

    max_html_bytes: int = 10 * 1024 * 1024
    max_document_bytes: int = 50 * 1024 * 1024
    max_redirects: int = 10
    max_crawl_delay_s: float = 60.0
    give_up_after: int = 8
    """Refusals by a host, for its load, after which a page is taken as it is."""
    proxy: str | None = None
    """For requests that name none themselves."""
    allow_named_host: bool = False
    """The caller is a person at this machine: the host they name may be a private one."""


class Hops(msgspec.Struct, array_like=True):
    """State of a redirect chain between two leases."""

    url: str
    seen: list[tuple[str, int]] = []
    """Each URL left behind, with the state of the cookies it was asked with."""
    chain: bytes = b""
    refused: int = 0
    """How often the host asked for patience instead of answering."""
    bare: bool = False
    """A redirect made a GET of the request, whatever it was (RFC 9110, 15.4)."""


class Arrival(NamedTuple):
    """The chain's end: an answer that is no redirect, with the context it is to be read in."""

    response: Response
    context: CrawlContext


class Chain:
    """Follows one lease."""

    def __init__(
        self,
        lease: Lease,
        context: CrawlContext,
        *,
        fetcher: Fetcher,
        robots: RobotsSource,
        contexts: Contexts,
        policy: FetchPolicy,
        clock: Clock,
    ) -> None:
        self.lease = lease
        self.context = context
        self._notes: list[HostNote] = []
        self.hops = msgspec.msgpack.decode(lease.hops, type=Hops) if lease.hops else Hops(lease.url)
        self._fetcher = fetcher
        self._robots = robots
        self._contexts = contexts
        self.policy = policy
        self._clock = clock
        self._gap_us = lease.gap_us
        self._requested_at: float | None = None
        self._began_s = clock.monotonic_s()

    @property
    def spent_s(self) -> float:
        """Since the work under this lease began."""
        return self._clock.monotonic_s() - self._began_s

    @property
    def is_waited_for(self) -> bool:
        return self.context.crawl.kind is CrawlKind.SCRAPE

    @property
    def redirected(self) -> bool:
        return bool(self.hops.seen)

    @property
    def learnt(self) -> tuple[HostNote, ...]:
        """What is known of the lease's host by now, however the lease ends, and when it was last asked."""
        if self._gap_us == 0 or self._requested_at is None:
            return tuple(self._notes)
        age_us = int((self._clock.monotonic_s() - self._requested_at) * 1_000_000)
        return (*self._notes, HostNote(host=self.lease.host, request_age_us=age_us))

    async def follow(self) -> Arrival | End:
        """Go on until there is an answer, or a reason to stop here."""
        while True:
            blocked = self.blocked(self.hops.url)
            refusal = await self._obey_robots() if blocked is None else Refused(denial=blocked)
            refusal = await self.ready() if refusal is None else refusal
            if refusal is not None:
                return refusal
            answer = await self._request()
            if isinstance(answer, FetchFailure):
                end = self.failed(answer)
                if end is not None:
                    return end
                continue
            if answer.cached_at is None:
                self._learn(answer)
            reached = await self._read(answer)
            if reached is not None:
                return reached

    async def _read(self, answer: Response) -> Arrival | End | None:
        """What the status says; None where the next hop is to be taken."""
        if answer.status in _REDIRECTS and (location := answer.header("location")) is not None:
            return await self._redirect(answer, location)
        if answer.status == 304 or (answer.status in _REDIRECTS and not answer.body):
            return self.failed(_nothing_sent(answer))
        if answer.status >= 400:
            # Who waits for the answer gets it, whatever it is.
            result = None if self.is_waited_for else self.refused(answer)
            if result is not None:
                return result
            note = outcome.throttling(answer, self.lease.host)
            self._notes += [note] if note is not None else []
        return Arrival(answer, self.context)

    def blocked(self, url: str) -> Denial | None:
        """Whether the operator lets nobody go there."""
        return self.context.blocked(url)

    async def ready(self) -> End | None:
        """Asked before each request; an end, where it is not to be made now."""
        return None

    def refused(self, answer: Response) -> End | None:
        """What follows from a status of 400 and above; None where the answer is to be taken as it is."""
        result = outcome.of_status(
            self.lease,
            answer,
            host=self.lease.host,
            patience=outcome.Patience(self.context.options.scrape.max_attempts, self.policy.give_up_after),
            refused=self.hops.refused,
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
        )
        if result is None:
            return None
        self.hops.refused += result.note is not None
        return self.noted(result)

    async def _obey_robots(self) -> End | None:
        """Sitemaps are exempt; a site that asks for a pause between requests gets it before the next one."""
        url = self.hops.url
        rules = None
        if self.context.obey_robots and self.lease.kind is not JobKind.SITEMAP and not self.context.cache.offline:
            origin = urls.origin(url) or ""
            scrape = self.context.options.scrape
            rules = await self._robots.cached(origin, agent=scrape.robots_agent)
            if rules is None or (rules.failure == FailureCode.TLS and not scrape.verify_tls):
                self._requested_at = self._clock.monotonic_s()
                rules = await self._robots.fetch(origin, request=self.asking(url), agent=scrape.robots_agent)
                # It may have been asked for several times: what counts is the last time.
                self._requested_at = self._clock.monotonic_s()
                self._take_delay(rules)
                if self._gap_us > 0:
                    return self.wait()
            elif self._delay_us(rules) > self._gap_us:
                self._take_delay(rules)
                if self.lease.gap_us == 0:
                    # Claimed before the pause was known: others may be asking this host right now.
                    return self.wait()
        if self.lease.kind is JobKind.KICKOFF:
            self.context = await self._contexts.rebase(self.context, url)
        if rules is None:
            return None
        verdict = rules.allows(url)
        if verdict.allowed:
            return None
        if rules.failure in _SITE_AWAY:
            # Nobody forbade anything: the site itself can't be reached, and that is what people need to know.
            return Failed(code=rules.failure, message=verdict.rule.removeprefix("unreachable: "))
        return Refused(denial=Denial(DenialReason.ROBOTS_TXT, verdict.rule, url))

    def _delay_us(self, rules: Robots) -> int:
        return int(min(rules.crawl_delay_s or 0.0, self.policy.max_crawl_delay_s) * 1_000_000)

    def _take_delay(self, rules: Robots) -> None:
        gap_us = self._delay_us(rules)
        if gap_us != self._gap_us:
            self._gap_us = gap_us
            self._notes.append(HostNote(host=self.lease.host, gap_us=gap_us))

    def asking(self, url: str) -> FetchRequest:
        """The next request."""
        options = self.context.options.scrape
        return FetchRequest(
            url=url,
            headers=self._headers(url),
            user_agent=options.user_agent,
            proxy=options.proxy or self.policy.proxy,
            timeout_s=options.timeout_s,
            max_html_bytes=(
                self.policy.max_document_bytes if self.lease.kind is JobKind.SITEMAP else self.policy.max_html_bytes
            ),
            max_document_bytes=self.policy.max_document_bytes,
            chain=self.hops.chain,
            revalidate=self.context.revalidate,
            cache=self.context.cache,
            realm=self.context.realm,
            verify_tls=options.verify_tls,
            named_host=host_of(self.named_url) if self.policy.allow_named_host else None,
        )

    def _headers(self, url: str) -> tuple[tuple[str, str], ...]:
        """What the user set for the host they named; the rest of the world sees the harmless part of it."""
        options = self.context.options.scrape
        if not (options.headers or options.cookies):
            return ()
        if not trusted(self.named_url, url):
            return for_strangers(options.headers)
        if not options.cookies:
            return options.headers
        return (*options.headers, ("Cookie", "; ".join(f"{name}={value}" for name, value in options.cookies)))

    @property
    def named_url(self) -> str:
        """The URL that somebody named: credentials are meant for its host, and it may be a private one."""
        return self.context.crawl.url if self.context.crawl.kind.follows_links else self.lease.url

    async def _request(self) -> Response | FetchFailure:
        before, self._requested_at = self._requested_at, self._clock.monotonic_s()
        answer = await self._fetcher.fetch(self.asking(self.hops.url))
        if self.context.cache.offline or (isinstance(answer, Response) and answer.cached_at is not None):
            self._requested_at = before  # the site was not asked
        else:
            # The pause counts from the answer: when the site got the request, only the site knows.
            self._requested_at = self._clock.monotonic_s()
        return answer

    def _learn(self, answer: Response) -> None:
        host = self.lease.host
        if self.lease.throttled == answer.private and self.context.private_hosts.get(host) != answer.private:
            self.context.private_hosts[host] = answer.private
            self._notes.append(HostNote(host=host, private=answer.private))
        if self.lease.strained and answer.status not in (429, 503):
            self._notes.append(HostNote(host=host, answered=True))

    def failed(self, failure: FetchFailure) -> End | None:
        """What follows from no answer; None to ask again at once."""
        return self.noted(
            outcome.of_failure(
                self.lease,
                failure,
                host=self.lease.host,
                max_attempts=self.context.options.scrape.max_attempts,
                jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
            )
        )

    def noted(self, result: outcome.Outcome) -> End:
        # Who waits tries again soon or learns that the host is down: no reason to keep the next one waiting.
        if result.note is not None and self.context.crawl.kind not in _WAITED_FOR:
            self._notes.append(result.note)
        if isinstance(result.end, Again):
            return msgspec.structs.replace(result.end, hops=self._state())
        return result.end

    async def _redirect(self, answer: Response, location: str) -> End | None:
        """Take the next hop, or say why not."""
        hops = self.hops
        target = urls.join(location, hops.url)
        if target is None:
            message = f"redirects to {location[:200]!r}, which is not a URL"
            return Failed(code=FailureCode.BAD_RESPONSE.value, message=message, status=answer.status)
        bare = target.partition("#")[0]
        seen = [*hops.seen, (hops.url, xxh3_64_intdigest(hops.chain))]
        # The same URL once more is fair when a cookie was set on the way.
        circle = (bare, xxh3_64_intdigest(answer.chain)) in seen
        if circle or len(hops.seen) >= self.policy.max_redirects:
            circle = circle or any(bare == url for url, _cookies in seen)
            return self._too_many(bare, circle=circle, status=answer.status)
        denial = self._judge(bare)
        if denial is not None:
            return Refused(denial=denial)
        self.hops = Hops(bare, seen, answer.chain, bare=hops.bare or answer.status not in _SAME_METHOD)
        host = politeness_host(bare)
        if host != self.lease.host:
            return Again(host=host, hops=self._state())
        return self.wait() if self._gap_us > 0 and answer.cached_at is None else None

    def _too_many(self, target: str, *, circle: bool, status: int) -> Failed:
        if circle:
            message = f"redirects in a circle over {target}"
            return Failed(code=FailureCode.REDIRECT_LOOP.value, message=message, status=status)
        message = f"more than {self.policy.max_redirects} redirects, the last to {target}"
        return Failed(code=FailureCode.TOO_MANY_REDIRECTS.value, message=message, status=status)

    def _judge(self, target: str) -> Denial | None:
        scope = self.context.scope
        if self.lease.kind is JobKind.SITEMAP or scope is None:
            return None
        denial = scope.judge_url(target)
        if denial is None:
            return None
        if self.lease.kind is JobKind.KICKOFF and denial.reason not in (
            DenialReason.NON_WEB_PROTOCOL,
            DenialReason.BLOCKED_HOST,
            DenialReason.URL_PARSE_ERROR,
        ):
            return None
        return denial

    def wait(self) -> Again:
        """Its host takes one request at a time: the next one under a lease of its own."""
        return Again(hops=self._state())

    def _state(self) -> bytes:
        hops = self.hops
        moved = hops.seen or hops.chain or hops.refused or hops.url != self.lease.url
        return msgspec.msgpack.encode(hops) if moved else b""


@lru_cache(maxsize=256)
def host_of(url: str) -> str | None:
    named = urls.parse(url)
    return named.host if named else None


def _nothing_sent(answer: Response) -> FetchFailure:
    message = f"the site answered {answer.status} and sent nothing with it"
    return FetchFailure(
        url=answer.url, code=FailureCode.BAD_RESPONSE, message=message, retryable=True, status=answer.status
    )
