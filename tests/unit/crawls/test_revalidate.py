"""What a remembered answer may be vouched for by."""

from __future__ import annotations

import pytest

from perseid.crawls.revalidate import RevalidatingFetcher, storable
from perseid.ports.fetch import FetchFailure, FetchRequest, Response
from perseid.ports.pages import KnownPage

URL = "https://e.test/"


class Memory:
    def __init__(self) -> None:
        self.pages: dict[bytes, KnownPage] = {}

    async def get(self, key: bytes) -> KnownPage | None:
        return self.pages.get(key)

    async def put(self, key: bytes, page: KnownPage) -> None:
        self.pages[key] = page

    async def drop(self, key: bytes) -> None:
        self.pages.pop(key, None)

    async def expire(self, before_us: int) -> int:
        raise NotImplementedError


class Origin:
    """Has one version, and says so to who asks about it."""

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        if request.etag is not None:
            return Response(url=request.url, status=304, headers=(), body=b"")
        forged = not request.verify_tls or request.proxy is not None
        body = b"forged" if forged else b"true"
        return Response(url=request.url, status=200, headers=(("etag", '"1"'),), body=body)

    async def close(self) -> None: ...


@pytest.mark.parametrize("way", [{"verify_tls": False}, {"proxy": "http://p.test:1"}])
async def test_a_site_does_not_vouch_for_what_came_another_way(way: dict[str, object]) -> None:
    fetcher = RevalidatingFetcher(Origin(), Memory())
    await fetcher.fetch(FetchRequest(url=URL, revalidate=True, **way))  # type: ignore[arg-type]
    answer = await fetcher.fetch(FetchRequest(url=URL, revalidate=True))
    assert isinstance(answer, Response)
    assert answer.body == b"true"


@pytest.mark.parametrize("vary", [["*"], ["accept, *"], ["accept", "*"]])
def test_what_varies_with_everything_is_not_kept(vary: list[str]) -> None:
    headers = tuple(("vary", value) for value in vary)
    assert not storable(Response(url=URL, status=200, headers=headers, body=b""))
