"""A task's way to an answer: as of any page, with the proxy, the session, the pauses and the patience of its rule."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from perseid.crawls import outcome
from perseid.crawls.chain import Chain, Hops, host_of
from perseid.crawls.chain import FetchPolicy as Bounds
from perseid.crawls.context import Contexts, CrawlContext
from perseid.crawls.outcome import Outcome
from perseid.links.foreign import for_strangers, trusted
from perseid.model.verdict import Denial, DenialReason, FailureCode
from perseid.ports.clock import Clock
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response, RobotsSource
from perseid.ports.work import Again, End, Failed, Lease
from perseid.rules import regexes
from perseid.rules.regexes import Overrun
from perseid.seeds.proxies import Proxies
from perseid.seeds.run import TaskPayload
from perseid.seeds.session import Closed, Headers, Session
from perseid.seeds.site import Site

Token = Callable[[Site], Awaitable[float]]
"""0 if a request to the site may go out now, else for how many seconds it is to be put off."""

LONGEST_DELAY_S = 60.0
_LONGEST_RETRY_AFTER_S = 3_600.0


class Gear(NamedTuple):
    """What all tasks of a process go by."""

    fetcher: Fetcher
    robots: RobotsSource
    contexts: Contexts
    bounds: Bounds
    clock: Clock
    token: Token


class TaskChain(Chain):
    """Follows one lease of a task."""

    def __init__(self, lease: Lease, context: CrawlContext, site: Site, payload: TaskPayload, gear: Gear) -> None:
        super().__init__(
            lease,
            context,
            fetcher=gear.fetcher,
            robots=gear.robots,
            contexts=gear.contexts,
            policy=gear.bounds,
            clock=gear.clock,
        )
        self._gear = gear
        self._site = site
        self._payload = payload
        self._proxy: str | None = None
        self._asked_at: float | None = None
        """When the page was first asked for: its redirects share the time that the rule gives."""
        self._failovers = 0
        self.session = site.sessions[(lease.attempts + self.hops.refused) % len(site.sessions)]
        self.generation = 0
        """Of the session as the answer was asked for."""

    @property
    def named_url(self) -> str:
        return self._payload.home or self.lease.url

    def blocked(self, url: str) -> Denial | None:
        denial = super().blocked(url)
        if denial is not None:
            return denial
        for pattern in self._site.blocked_patterns:
            try:
                if regexes.search(pattern, url):
                    return Denial(DenialReason.EXCLUDE_PATTERN, pattern, url)
            except Overrun:
                # Whether it is blocked can't be told: then it is.
                return Denial(DenialReason.EXCLUDE_PATTERN, pattern, url)
        return None

    async def ready(self) -> End | None:
        """Proxy, session, pause, token: in this order, and each time anew."""
        end = self._choose_proxy()
        end = await self._open_session() if end is None else end
        return await self._take_token() if end is None else end

    def _choose_proxy(self) -> End | None:
        proxies = self._site.proxies
        if proxies is None:
            return None
        if self._proxy is None or not proxies.usable(self._proxy):
            self._proxy = self._held_proxy(proxies) if self._site.has_sessions else proxies.next()
        if self._proxy is not None:
            return None
        wait_s = proxies.wait_s + random.random()  # noqa: S311 - spreads retries, guards nothing
        message = f"all proxies of the pool {self._site.rule.fetch.proxies!r} rest after failing"
        return self._later(wait_s, FailureCode.PROXY.value, message)

    def _held_proxy(self, proxies: Proxies) -> str | None:
        """A session stays behind one proxy: from another address, its cookies may be worth nothing."""
        session = self.session
        if session.proxy is None or not proxies.usable(session.proxy):
            session.proxy = proxies.next()
            session.lose(session.generation)
        return session.proxy

    async def _open_session(self) -> End | None:
        """Opened by one task, while others of the same session wait for it."""
        session = self.session
        if not self._site.has_sessions:
            return None
        generation = session.generation
        if not session.is_open:
            async with session.lock:
                end = await self._opened(session)
                if end is not None:
                    return end
        self.generation = session.generation
        if self.generation != generation and self._gap_us > 0:
            self._requested_at = self._gear.clock.monotonic_s()
            return self.wait()
        return None

    async def _opened(self, session: Session) -> End | None:
        if session.is_open:
            return None
        now = self._gear.clock.monotonic_s()
        if now < session.retry_at:
            return self._shut_out(session, "the login failed a moment ago")
        try:
            await session.open(self._site.opening, self._ask)
        except Closed as closed:
            session.retry_at = self._gear.clock.monotonic_s() + self._pause_s(session.failures)
            session.failures += 1
            return self._shut_out(session, str(closed))
        return None

    def _shut_out(self, session: Session, message: str) -> End:
        """One task at a time tries the login; that it failed counts for all that need it."""
        if self.lease.attempts + 1 >= self._attempts:
            return Failed(code=FailureCode.LOGIN.value, message=message)
        wait_s = session.retry_at - self._gear.clock.monotonic_s()
        return self._later(wait_s, FailureCode.LOGIN.value, message, attempted=True)

    async def _take_token(self) -> End | None:
        shortest, longest = self._site.rule.fetch.delay_s
        if longest > 0 and self._asked_at is None:
            pause_s = min(random.uniform(shortest, longest), LONGEST_DELAY_S)  # noqa: S311 - spreads requests
            await self._gear.clock.sleep(pause_s)
        if self._site.limits.rate is not None:
            wait_s = await self._gear.token(self._site)
            if wait_s > 0:
                return self._later(wait_s, "", "")
        if self._asked_at is None:
            self._asked_at = self._gear.clock.monotonic_s()
        return None

    def asking(self, url: str) -> FetchRequest:
        site, gear, session = self._site, self._gear, self.session
        spent_s = 0.0 if self._asked_at is None else gear.clock.monotonic_s() - self._asked_at
        whole = not self.hops.bare
        return FetchRequest(
            url=url,
            method=self._payload.method if whole else "GET",
            body=self._payload.body.encode() if whole else b"",
            headers=self._sent_to(url),
            user_agent=session.identity.user_agent,
            proxy=self._proxy or self.policy.proxy,
            strange_proxy=self._proxy is not None,
            timeout_s=max(0.1, site.rule.fetch.timeout_s - spent_s),
            max_html_bytes=gear.bounds.max_html_bytes,
            max_document_bytes=gear.bounds.max_html_bytes,
            chain=self.hops.chain or (session.cookies if site.has_sessions else b""),
            named_host=host_of(self.named_url) if gear.bounds.allow_named_host else None,
        )

    def _sent_to(self, url: str) -> Headers:
        site, session = self._site, self.session
        own = self.context.options.scrape.headers
        if self._payload.method == "POST" and not any(name.lower() == "content-type" for name, _ in own):
            own = (("Content-Type", "application/x-www-form-urlencoded"), *own)
        headers = (*session.identity.headers.items(), *session.filled(site.headers), *own)
        if not any(trusted(named, url) for named in (self.named_url, *site.opening.hosts)):
            return for_strangers(headers)
        return (*headers, ("Cookie", site.cookies)) if site.cookies else headers

    async def _ask(self, request: FetchRequest) -> Response | FetchFailure:
        """A request of the session: at the site, but none for the page."""
        site, gear = self._site, self._gear
        if (denial := self.blocked(request.url)) is not None:
            # Without the address, which may hold a secret.
            message = denial._replace(value="its address").message
            return FetchFailure(url=request.url, code=FailureCode.BLOCKED_ADDRESS, message=message, retryable=False)
        named = any(trusted(each, request.url) for each in (self.named_url, *site.opening.hosts))
        base = (*self.session.identity.headers.items(), *self.session.filled(site.headers))
        return await gear.fetcher.fetch(
            msgspec.structs.replace(
                request,
                headers=(*(base if named else for_strangers(base)), *request.headers),
                user_agent=self.session.identity.user_agent,
                proxy=self._proxy or self.policy.proxy,
                strange_proxy=self._proxy is not None,
                timeout_s=site.rule.fetch.timeout_s,
                max_html_bytes=gear.bounds.max_html_bytes,
                max_document_bytes=gear.bounds.max_html_bytes,
                named_host=host_of(request.url) if named and gear.bounds.allow_named_host else None,
            )
        )

    def refused(self, answer: Response) -> End | None:
        """Refusals for load wait without counting as tries; others that may pass count; the rest is the answer."""
        self._worked(answer)
        status, asked_s = answer.status, answer.retry_after_s
        load = status == 429 or (status == 503 and asked_s is not None)
        if not (load or status == 403 or status >= 500):
            return None
        before = self.hops.refused if load else self.lease.attempts
        most = max(self._attempts, self.policy.give_up_after) if load else self._attempts
        if before + 1 >= most:
            return None
        if status in (403, 429) and self._site.opening.warm_up is not None:
            # Other cookies may be what it takes; a login isn't repeated for a page that is forbidden to it.
            self.session.lose(self.generation)
        self.hops.refused += load
        delay_s = max(self._pause_s(before), min(asked_s or 0.0, _LONGEST_RETRY_AFTER_S))
        message = f"answered {status}; asking again as somebody else" if self._changes else f"answered {status}"
        again = self._later(delay_s, f"http_{status}", message, attempted=not load)
        # Behind a proxy it is that one which was refused, not all of us.
        return self.noted(Outcome(again, None if self._proxy else outcome.throttling(answer, self.lease.host)))

    def failed(self, failure: FetchFailure) -> End | None:
        """A proxy that failed is replaced at once by the next one, with a token of its own."""
        if self._proxy is not None and self._site.proxies is not None and failure.code is FailureCode.PROXY:
            self._site.proxies.failed(self._proxy)
            if self.session.proxy == self._proxy:
                self.session.proxy = None
            self._proxy = None
            self._failovers += 1
            if self._failovers < self._attempts and self._gap_us == 0:
                return None
        result = outcome.of_failure(
            self.lease,
            failure,
            host=self.lease.host,
            max_attempts=self._attempts,
            jitter=random.random(),  # noqa: S311
        )
        if isinstance(result.end, Again):
            delay_us = int(self._pause_s(self.lease.attempts) * 1_000_000)
            result = result._replace(end=msgspec.structs.replace(result.end, delay_us=delay_us))
        return self.noted(result._replace(note=None) if self._site.proxies is not None else result)

    def start_over(self) -> None:
        """Ask for the page anew, from its own address on."""
        self.hops = Hops(self.lease.url, refused=self.hops.refused)
        self._asked_at = None

    def arrived(self, answer: Response) -> None:
        """The answer is here, and no redirect."""
        self._worked(answer)

    def _worked(self, answer: Response) -> None:
        if self._proxy is not None and self._site.proxies is not None:
            self._site.proxies.worked(self._proxy)
        if self._site.has_sessions:
            self.session.learn(answer)

    @property
    def _changes(self) -> bool:
        proxies = self._site.proxies
        return len(self._site.sessions) > 1 or (proxies is not None and len(proxies) > 1)

    @property
    def _attempts(self) -> int:
        return self._site.rule.fetch.backoff.attempts

    def _pause_s(self, before: int) -> float:
        """base, 2 base, 4 base … seconds, up to the rule's bound, and up to half of it more by chance."""
        backoff = self._site.rule.fetch.backoff
        chance = 1 + random.random() / 2  # noqa: S311 - spreads retries, guards nothing
        return min(backoff.base_s * 2.0 ** min(before, 30), backoff.max_s) * chance

    def _later(self, seconds: float, code: str, message: str, *, attempted: bool = False) -> Again:
        return Again(
            delay_us=max(1, int(seconds * 1_000_000)),
            attempted=attempted,
            code=code,
            message=message,
            hops=self._state(),
        )
