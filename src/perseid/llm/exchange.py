"""One exchange with a model's server: retries where they can help, within a deadline, and no secret in a message."""

from __future__ import annotations

import random
import re

import aiohttp
from yarl import URL

from perseid.errors import ConfigError, Unavailable
from perseid.llm.wire import detail_of
from perseid.model.retry_after import parse_retry_after
from perseid.ports.clock import Clock

_MOST_BYTES = 16 * 1024 * 1024
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_UNACCEPTABLE = frozenset({400, 413, 415, 422})
_MOST_RETRIES = 5
_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_CONNECT_S = 10.0
MASK = "***"
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/?#@]*@", re.IGNORECASE)


class Unacceptable(Exception):
    """The server refuses the request as such (400 and its like); the message is its own."""


class Exchange:
    """POSTs to one server; one instance serves one event loop."""

    def __init__(self, base_url: str, key: str, *, clock: Clock) -> None:
        try:
            address = URL(base_url.rstrip("/"))
        except ValueError:
            address = URL()
        if address.scheme not in ("http", "https") or not address.host:
            raise ConfigError(
                f"llm.base_url must be a web address such as http://localhost:11434/v1, not {_masked(base_url)!r}"
            )
        self._url = address / "chat/completions"
        self.name = str(address.with_user(None))
        """For messages."""
        self._key = key
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, body: bytes, *, until_s: float) -> bytes:
        """The body of a good answer, by the clock's monotonic `until_s`.

        Raises `Unacceptable` where another request might do better, `Unavailable` where none would.
        """
        tried = 0
        while True:
            status, patience, raw = await self._once(body)
            if status == 200:
                return raw
            detail = self._safe(detail_of(raw)) if raw else ""
            if status in _UNACCEPTABLE:
                raise Unacceptable(detail or f"it answered {status}")
            if status not in _BUSY or "insufficient_quota" in raw.decode("utf-8", "replace"):
                raise Unavailable(self._verdict(status, detail))
            pause_s = self._pause_s(patience, tried)
            if tried >= _MOST_RETRIES or self._clock.monotonic_s() + pause_s >= until_s:
                raise Unavailable(self._busy(status, detail, pause_s), retryable=True)
            await self._clock.sleep(pause_s)
            tried += 1

    async def _once(self, body: bytes) -> tuple[int, str | None, bytes]:
        """Status, Retry-After and body; where there was no answer it is a 503 with the reason as its body."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            async with self._opened().post(self._url, data=body, headers=headers, allow_redirects=False) as answer:
                return answer.status, answer.headers.get("Retry-After"), await _whole(answer)
        except (aiohttp.ClientError, OSError) as error:
            return 503, None, f"no answer: {str(error) or type(error).__name__}".encode()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S), cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    def _pause_s(self, asked: str | None, tried: int) -> float:
        asked_s = parse_retry_after(asked, now_us=self._clock.now_us())
        if asked_s is not None:
            return asked_s
        return min(_PAUSE_S * 2.0**tried, _LONGEST_PAUSE_S) * (1 + random.random() / 2)  # noqa: S311 - spreads retries

    def _safe(self, text: str) -> str:
        return _masked(text.replace(self._key, MASK) if self._key else text)

    def _verdict(self, status: int, detail: str) -> str:
        said = f": {detail}" if detail else ""
        if status in (401, 403):
            return f"the language model at {self.name} refuses our key ({status}{said}); check PERSEID_LLM__API_KEY"
        if status == 404:
            return (
                f"the language model at {self.name} knows no such model or path (404{said}); "
                "check PERSEID_LLM__BASE_URL and PERSEID_LLM__MODEL"
            )
        if 300 <= status < 400:
            return f"{self.name} redirects elsewhere ({status}); set PERSEID_LLM__BASE_URL to where the model really is"
        return f"the language model at {self.name} answered {status}{said}"

    def _busy(self, status: int, detail: str, pause_s: float) -> str:
        said = f": {detail}" if detail else ""
        return f"the language model at {self.name} is busy or in trouble ({status}{said}); try again in {pause_s:.0f} s"


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise Unavailable(f"the language model's answer is larger than {_MOST_BYTES >> 20} MB")
    return b"".join(parts)


def _masked(text: str) -> str:
    """Without the user and password of an address."""
    return _USERINFO.sub(rf"\1{MASK}@", text)
