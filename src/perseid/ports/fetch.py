"""Getting bytes: one HTTP exchange a call. Redirects, robots and politeness are decided by the caller."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from perseid.links.robots import Robots
from perseid.model.options import CachePolicy
from perseid.model.verdict import FailureCode


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request, a GET unless it says otherwise."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    """Of a POST; its Content-Type is among the headers."""
    headers: tuple[tuple[str, str], ...] = ()
    user_agent: str | None = None
    proxy: str | None = None
    strange_proxy: bool = False
    """The proxy is not the operator's own: its addresses are judged as those of pages are."""
    timeout_s: float = 30.0
    """For the whole exchange, so that a trickling body can't hold a slot."""
    max_html_bytes: int = 10 * 1024 * 1024
    max_document_bytes: int = 50 * 1024 * 1024
    etag: str | None = None
    last_modified: str | None = None
    revalidate: bool = False
    """Ask with the validators of the last answer, where the caller's fetcher remembers it."""
    cut_at_cap: bool = False
    """Give the first part of a body over its cap instead of `TOO_LARGE` (robots.txt: RFC 9309, 2.5)."""
    verify_tls: bool = True
    """False takes any certificate of the site; that of a proxy is checked all the same."""
    cache: CachePolicy = CachePolicy()
    realm: bytes = b""
    """Whose cache: answers are never shared between realms."""
    chain: bytes = b""
    """Cookies that earlier answers of the same redirect chain set: `Response.chain`, passed on as it came."""
    named_host: str | None = None
    """Host that the user of the CLI or the library named: its private addresses are allowed."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: any status, body decompressed and complete."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in order of arrival, duplicates kept."""
    body: bytes
    private: bool = False
    """The address connected to is loopback or private: no throttling is due."""
    elapsed_us: int = 0
    wire_bytes: int = 0
    retry_after_s: float | None = None
    """What a usable Retry-After header asks for (RFC 9110, 10.2.3)."""
    cached_at: int | None = None
    """When the site gave this answer (µs), where it comes from the cache."""
    chain: bytes = b""
    """For the next request of this redirect chain."""

    def header(self, name: str) -> str | None:
        """First value of a header, by lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class FetchFailure(msgspec.Struct, frozen=True, kw_only=True):
    """No usable answer. `status` and `private` are given where they were known by then."""

    url: str
    code: FailureCode
    message: str
    retryable: bool
    status: int | None = None
    private: bool = False
    elapsed_us: int = 0


class Fetcher(Protocol):
    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        """Do one exchange; expected trouble comes back as a value, never as an exception."""
        ...

    async def close(self) -> None: ...


class RobotsSource(Protocol):
    """Robots.txt by origin, cached 24 h (RFC 9309, 2.4)."""

    async def cached(self, origin: str, *, agent: str | None = None) -> Robots | None:
        """The rules if they are known and fresh; asks nothing of the network. `agent` replaces our product token."""
        ...

    async def fetch(self, origin: str, *, request: FetchRequest, agent: str | None = None) -> Robots:
        """Ask the site, following up to five redirects; the caller holds the host's slot.

        4xx gives rules that allow all; 5xx and no answer, after three tries within a minute, rules that
        forbid all (RFC 9309, 2.3.1.3 and 2.3.1.4). `request` supplies everything but the URL; rules that
        were not to be had for a certificate are asked for again by a request that takes any.
        """
        ...
