"""Who we are to a site: an identity with its cookies, after its warm-up visit and its login."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from perseid.dom import url as urls
from perseid.fetch.cookies import ChainCookies
from perseid.links.foreign import for_strangers, trusted
from perseid.model.pool import Identity
from perseid.model.rule import LoginStep, Source
from perseid.pattern import later
from perseid.ports.fetch import FetchFailure, FetchRequest, Response
from perseid.rules import selecting
from perseid.rules.page import Page
from perseid.rules.selecting import Scope, SourceFault

Headers = tuple[tuple[str, str], ...]
Ask = Callable[[FetchRequest], Awaitable[Response | FetchFailure]]
"""Asks with the identity's own headers below those of the request, through the proxy of the moment."""

_MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TAKEN = later(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Opening(NamedTuple):
    """How a session begins. Secrets stand filled in: nothing of it may be shown."""

    warm_up: str | None
    login: tuple[LoginStep, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Addresses that the rule's author named: what the rule sends is meant for their hosts, too."""
        named = tuple([step.url for step in self.login])
        return named if self.warm_up is None else (self.warm_up, *named)

    @property
    def sign(self) -> Source | None:
        """What a page shows to who is logged in, as far as the rule says so."""
        return self.login[-1].expect if self.login else None


class Closed(Exception):
    """It could not be opened; the text says why and holds no secret."""


class Session:
    """One identity's standing at one site. `generation` grows each time it is opened."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.generation = 0
        self.is_open = False
        self.proxy: str | None = None
        """Behind which it was opened, where the site has a pool."""
        self.failures = 0
        """In a row, to open it."""
        self.retry_at = 0.0
        """Not tried before; of the monotonic clock."""
        self.unhelped = 0
        """In a row, how often another login brought no page that shows the sign."""
        self.doubted: set[int] = set()
        """Tasks that found the login lost, and come back after another one; as few as logins may be unhelpful."""
        self.lock = asyncio.Lock()
        self._jar = ChainCookies()
        self._cookies: bytes | None = b""
        self._taken: dict[str, str] = {}

    @property
    def cookies(self) -> bytes:
        """For `FetchRequest.chain`."""
        if self._cookies is None:
            self._cookies = self._jar.dump()
        return self._cookies

    def learn(self, answer: Response) -> None:
        """Take in the cookies that an answer sets."""
        if any(name == "set-cookie" for name, _value in answer.headers):
            self._jar.set_from(answer.url, answer.headers)
            self._cookies = None

    def filled(self, headers: Headers) -> Headers:
        """With what the login took; without those that wait for something that it hasn't."""
        if not any("${" in text for _name, text in headers):
            return headers
        told = [(name, _filled(text, self._taken)) for name, text in headers]
        return tuple([pair for pair in told if _TAKEN.search(pair[1]) is None])

    def lose(self, generation: int) -> None:
        """It is to be opened anew, unless that has been done since."""
        if generation == self.generation:
            self.is_open = False

    async def open(self, how: Opening, ask: Ask) -> None:
        """Warm up and log in. Raises `Closed`; the caller holds `lock`."""
        self._jar, self._cookies, self._taken = ChainCookies(), b"", {}
        if how.warm_up is not None:
            await self._visit(FetchRequest(url=how.warm_up), ask)
        for number, step in enumerate(how.login, start=1):
            await self._login(step, ask, f"step {number} of the login")
        self.generation += 1
        self.failures = 0
        self.is_open = True

    async def _login(self, step: LoginStep, ask: Ask, name: str) -> None:
        answer = await self._visit(_request(step, self._taken), ask)
        if isinstance(answer, FetchFailure):
            raise Closed(f"{name} got no answer: {answer.message}")
        if answer.status >= 400:
            raise Closed(f"{name} was answered {answer.status}")
        page = page_of(answer)
        for taken, source in step.take.items():
            value = _value(source, page)
            if value is None:
                raise Closed(f"{name} finds nothing to take as {taken!r}")
            self._taken[taken] = value
        if step.expect is not None and not shows(step.expect, page):
            raise Closed(f"{name} does not find what it expects; the site refused it, or has changed")

    async def _visit(self, request: FetchRequest, ask: Ask) -> Response | FetchFailure:
        """Follow redirects by hand, gathering cookies; strangers get neither headers nor body."""
        named = request.url
        answer: Response | FetchFailure
        for _ in range(_MAX_REDIRECTS + 1):
            answer = await ask(msgspec.structs.replace(request, chain=self.cookies))
            if isinstance(answer, FetchFailure):
                return answer
            self.learn(answer)
            target = _target(answer)
            if target is None:
                return answer
            kept = answer.status in (307, 308) and trusted(named, target)
            request = msgspec.structs.replace(
                request,
                url=target,
                method=request.method if kept else "GET",
                body=request.body if kept else b"",
                headers=request.headers if trusted(named, target) else for_strangers(request.headers),
            )
        return answer


def page_of(answer: Response) -> Page:
    return Page(answer.url, answer.body, headers=dict(reversed(answer.headers)))


def shows(source: Source, page: Page) -> bool:
    """Whether the source finds anything, be it an element without text."""
    try:
        if source.attr is not None:
            return _value(source, page) is not None
        return bool(selecting.scopes(source, page))
    except SourceFault:
        return False


def _value(source: Source, page: Page) -> str | None:
    try:
        return next((str(each) for each in selecting.values(source, Scope(page))), None)
    except SourceFault:
        return None


def _target(answer: Response) -> str | None:
    location = answer.header("location") if answer.status in _REDIRECTS else None
    target = None if location is None else urls.join(location, answer.url)
    if target is None or not target.startswith(("http://", "https://")):
        return None
    return target.partition("#")[0]


def _request(step: LoginStep, taken: Mapping[str, str]) -> FetchRequest:
    headers = [(name, _filled(text, taken)) for name, text in step.headers.items()]
    body = b""
    if step.json is not None:
        body = msgspec.json.encode(_mapped(step.json, taken))
        headers.insert(0, ("Content-Type", "application/json"))
    elif step.method == "POST":
        body = urlencode({name: _filled(text, taken) for name, text in step.form.items()}).encode()
        headers.insert(0, ("Content-Type", "application/x-www-form-urlencoded"))
    return FetchRequest(
        url=urls.serialize(_filled(step.url, taken)) or step.url, method=step.method, headers=tuple(headers), body=body
    )


def _filled(text: str, taken: Mapping[str, str]) -> str:
    def known(found: re.Match[str]) -> str:
        return taken.get(found[1], found[0])

    return _TAKEN.sub(known, text) if "${" in text else text


def _mapped(value: Any, taken: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _filled(value, taken)
    if isinstance(value, dict):
        return {name: _mapped(member, taken) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(member, taken) for member in value]
    return value
