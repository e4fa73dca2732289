"""SearXNG's JSON interface: pages of results until there are enough of them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import aiohttp
import msgspec
import orjson
from yarl import URL

from perseid.dom import url as urls
from perseid.errors import ConfigError, Unavailable
from perseid.ports.websearch import Hit, SearchQuery, Source

_MOST_PAGES = 10
_MOST_BYTES = 16 * 1024 * 1024
_CATEGORY: dict[Source, str] = {"web": "general", "images": "images", "news": "news"}
_SIZE = re.compile(r"(\d{1,6})\s*[x\u00d7]\s*(\d{1,6})", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{1,200}>")
_RANGES = frozenset({"day", "week", "month", "year"})


class SearxngOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is, and what it is to ask for the web; empty leaves the choice to it."""

    url: str
    engines: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    timeout_s: float = 10.0
    """For one page of results."""


class Searxng:
    """Implements `WebSearch`; one instance serves one event loop."""

    def __init__(self, options: SearxngOptions) -> None:
        try:
            address = URL(options.url.rstrip("/"))
        except ValueError:
            address = URL()
        if address.scheme not in ("http", "https") or not address.host:
            raise ConfigError("search.searxng_url must be a web address such as http://localhost:8888")
        self._url = address if address.path.endswith("/search") else address / "search"
        self.name = str(address.with_user(None))
        """For messages."""
        self._options = options
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def search(self, query: SearchQuery) -> list[Hit]:
        """See the port. Trouble after the first page of results ends the search, and loses none of them."""
        hits: dict[str, Hit] = {}
        try:
            async with asyncio.timeout(query.timeout_s):
                for number in range(1, _MOST_PAGES + 1):
                    known = len(hits)
                    for hit in _hits(await self._page(query, number), query.source):
                        hits.setdefault(hit.url, hit)
                    if len(hits) >= query.limit or len(hits) == known:
                        break
        except TimeoutError:
            if not hits:
                message = f"the search engine at {self.name} did not answer within {query.timeout_s:g} s"
                raise Unavailable(message, retryable=True) from None
        except Unavailable:
            if not hits:
                raise
        return list(hits.values())[: query.limit]

    async def _page(self, query: SearchQuery, number: int) -> dict[str, Any]:
        status, raw = await self._get(self._parameters(query, number))
        if status == 429:
            raise Unavailable(f"the search engine at {self.name} is asked too often (429); try later", retryable=True)
        if status == 403:
            raise Unavailable(
                f"the search engine at {self.name} refuses JSON (403); add json to search.formats in its settings.yml"
            )
        if status != 200:
            raise Unavailable(f"the search engine at {self.name} answered {status}", retryable=status >= 500)
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict) or not isinstance(body.get("results"), list):
            raise Unavailable(f"the search engine at {self.name} answered with no JSON of results", retryable=True)
        if number == 1 and not body["results"] and body.get("unresponsive_engines"):
            raise Unavailable(
                f"no engine of the search engine at {self.name} answered: {_names(body['unresponsive_engines'])}",
                retryable=True,
            )
        return body

    async def _get(self, parameters: dict[str, str]) -> tuple[int, bytes]:
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        timeout = aiohttp.ClientTimeout(total=self._options.timeout_s)
        headers = {"Accept": "application/json"}
        try:
            async with self._session.get(self._url, params=parameters, headers=headers, timeout=timeout) as answer:
                return answer.status, await _whole(answer)
        except TimeoutError:
            message = f"the search engine at {self.name} did not answer within {self._options.timeout_s:g} s"
            raise Unavailable(message, retryable=True) from None
        except (aiohttp.ClientError, OSError) as error:
            told = str(error) or type(error).__name__
            raise Unavailable(f"the search engine at {self.name} can't be reached: {told}", retryable=True) from None

    def _parameters(self, query: SearchQuery, number: int) -> dict[str, str]:
        web = query.source == "web"
        categories = self._options.categories if web and self._options.categories else (_CATEGORY[query.source],)
        found = {"q": query.query, "format": "json", "categories": ",".join(categories), "pageno": str(number)}
        if web and self._options.engines:
            found["engines"] = ",".join(self._options.engines)
        if query.language:
            country = f"-{query.country.upper()}" if query.country and "-" not in query.language else ""
            found["language"] = query.language + country
        if query.time_range in _RANGES:
            found["time_range"] = str(query.time_range)
        return found


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise aiohttp.ClientPayloadError(f"the answer is larger than {_MOST_BYTES >> 20} MB")
    return b"".join(parts)


def _hits(body: dict[str, Any], source: Source) -> list[Hit]:
    """The results that lead somewhere on the web."""
    found = []
    for result in body["results"]:
        url = urls.serialize(result["url"]) if isinstance(result, dict) and isinstance(result.get("url"), str) else None
        if url is not None and url.startswith(("http://", "https://")):
            found.append(_hit(url, result, source))
    return found


def _hit(url: str, result: dict[str, Any], source: Source) -> Hit:
    picture = ("img_src",) if source == "images" else ("img_src", "thumbnail", "thumbnail_src")
    image = next((text for name in picture if (text := _text(result, name))), "")
    size = _SIZE.search(_text(result, "resolution"))
    return Hit(
        url=url,
        title=_text(result, "title"),
        description=_text(result, "content"),
        image_url=f"https:{image}" if image.startswith("//") else image or None,
        date=_text(result, "publishedDate") or None,
        width=int(size[1]) if size else None,
        height=int(size[2]) if size else None,
    )


def _text(result: dict[str, Any], name: str) -> str:
    value = result.get(name)
    return " ".join(_TAG.sub("", value).split()) if isinstance(value, str) else ""


def _names(engines: Any) -> str:
    pairs = engines if isinstance(engines, list) else []
    return ", ".join(": ".join(str(part) for part in pair) if isinstance(pair, list) else str(pair) for pair in pairs)[
        :300
    ]
