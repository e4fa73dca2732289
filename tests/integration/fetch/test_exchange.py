"""One exchange with a site that behaves, or nearly."""

from __future__ import annotations

import asyncio
import socket

import pytest

from perseid.fetch.guard import Allowance
from perseid.fetch.pool import PoolOptions
from perseid.fetch.resolver import Found, Resolver
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response


def field(head: bytes, name: str) -> str | None:
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return None


async def test_a_page_comes_back_whole(serve, page, fetcher):
    site = await serve(page(b"<p>hi</p>", "X-Twice: 1", "X-Twice: 2", 'ETag: "a"'))
    got = await fetcher.fetch(FetchRequest(url=f"{site.base}/a"))
    assert isinstance(got, Response)
    assert (got.status, got.body, got.wire_bytes, got.url) == (200, b"<p>hi</p>", 9, f"{site.base}/a")
    assert [value for name, value in got.headers if name == "x-twice"] == ["1", "2"]
    assert got.header("etag") == '"a"'
    assert got.private
    assert got.elapsed_us > 0


@pytest.mark.parametrize(
    "target",
    [
        "/", "/?", "/a?", "//a//b", "/%2F%7e%zz?q=a+b|[x]'&&=", "/a?b?c", "/a?b??", "/x^y`{}", "/a;b=c,d",
        "/?%", "/a/?=#".removesuffix("#"),
    ],
)  # fmt: skip
async def test_the_target_is_sent_byte_for_byte(serve, page, fetcher, target):
    site = await serve(page())
    got = await fetcher.fetch(FetchRequest(url=site.base + target))
    assert isinstance(got, Response)
    assert site.heads[0].split(b" ")[1].decode() == target
    assert got.url == site.base + target


async def test_the_fragment_is_not_sent(serve, page, fetcher):
    site = await serve(page())
    await fetcher.fetch(FetchRequest(url=f"{site.base}/a?#/route?x"))
    assert site.heads[0].startswith(b"GET /a? HTTP/1.1\r\n")


@pytest.mark.parametrize("status", [204, 400, 404, 410, 429, 500, 503, 999])
async def test_any_final_status_is_a_response(serve, page, fetcher, status):
    body = b"" if status == 204 else b"sorry"
    site = await serve(page(body, "Retry-After: 3", status=f"{status} X"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert (got.status, got.body, got.header("retry-after")) == (status, body, "3")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_returned_and_not_followed(serve, page, fetcher, status):
    site = await serve(page(b"moved", "Location: /b", status=f"{status} X"))
    got = await fetcher.fetch(FetchRequest(url=f"{site.base}/a"))
    assert isinstance(got, Response)
    assert (got.status, got.header("location"), got.body) == (status, "/b", b"")
    assert len(site.heads) == 1


async def test_a_redirect_counts_although_its_body_is_broken(serve, page, fetcher):
    async def respond(_head, writer):
        writer.write(page(b"cut", "Location: /b", status="302 Found", length=500))
        return False

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=f"{site.base}/a"))
    assert isinstance(got, Response)
    assert got.header("location") == "/b"


async def test_a_location_keeps_its_bytes(serve, page, fetcher):
    site = await serve(page(b"", "Location: /caf\xe9", status="302 Found"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert got.header("location") == "/caf%E9"


async def test_headers_hold_no_surrogates(serve, page, fetcher):
    site = await serve(page(b"", "X-Name: caf\xe9", "X-Utf: \xc3\xa9"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert (got.header("x-name"), got.header("x-utf")) == ("café", "é")


async def test_revalidation_asks_with_both_marks_and_takes_304(serve, fetcher):
    site = await serve(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n')
    got = await fetcher.fetch(FetchRequest(url=site.base, etag='"v1"', last_modified="Mon, 30 Nov 2026 12:00:00 GMT"))
    assert isinstance(got, Response)
    assert (got.status, got.body) == (304, b"")
    assert field(site.heads[0], "if-none-match") == '"v1"'
    assert field(site.heads[0], "if-modified-since") == "Mon, 30 Nov 2026 12:00:00 GMT"


async def test_we_say_who_we_are(serve, page, fetcher):
    site = await serve(page())
    await fetcher.fetch(FetchRequest(url=site.base))
    await fetcher.fetch(FetchRequest(url=site.base, user_agent="Other/1"))
    agents = [field(head, "user-agent") for head in site.heads]
    assert agents[0] is not None
    assert agents[0].startswith("Perseid/")
    assert agents[1] == "Other/1"
    assert field(site.heads[0], "accept-encoding") == "gzip, deflate, br, zstd"


async def test_given_headers_replace_ours_and_framing_stays_ours(serve, page, fetcher):
    site = await serve(page())
    given = (("accept", "text/plain"), ("Cookie", "a=1"), ("Content-Length", "5"), ("Connection", "close"))
    await fetcher.fetch(FetchRequest(url=site.base, headers=given))
    head = site.heads[0]
    assert field(head, "accept") == "text/plain"
    assert field(head, "cookie") == "a=1"
    assert head.lower().count(b"\r\naccept:") == 1
    assert field(head, "content-length") is None
    assert field(head, "connection") is None


async def test_a_header_that_would_split_the_request_is_refused(serve, page, fetcher):
    site = await serve(page())
    got = await fetcher.fetch(FetchRequest(url=site.base, headers=(("X", "a\r\nHost: other"),)))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable) == (FailureCode.INTERNAL, False)
    assert not site.heads


async def test_credentials_of_the_url_go_into_the_header(serve, page, fetcher):
    site = await serve(page())
    url = f"http://us%40er:p%3Aw@127.0.0.1:{site.port}/"
    got = await fetcher.fetch(FetchRequest(url=url, headers=(("Authorization", "Bearer x"),)))
    assert isinstance(got, Response)
    assert field(site.heads[0], "authorization") == "Basic dXNAZXI6cDp3"
    assert field(site.heads[0], "host") == f"127.0.0.1:{site.port}"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "file:///etc/passwd", "ws://127.0.0.1/", "nonsense", ""])
async def test_other_schemes_are_a_failure_and_no_exception(fetcher, url):
    got = await fetcher.fetch(FetchRequest(url=url))
    assert isinstance(got, FetchFailure)
    assert not got.retryable


async def test_connections_are_kept(serve, page, fetcher):
    site = await serve(page())
    for number in range(5):
        assert isinstance(await fetcher.fetch(FetchRequest(url=f"{site.base}/{number}")), Response)
    assert (site.connections, len(site.heads)) == (1, 5)


async def test_a_redirect_keeps_its_connection(serve, page, fetcher):
    site = await serve(page(b"moved", "Location: /b", status="302 Found"))
    for _ in range(3):
        await fetcher.fetch(FetchRequest(url=site.base))
    assert site.connections == 1


async def test_a_kept_connection_that_the_site_closed_is_replaced(serve, page, fetcher):
    async def respond(head, writer):
        if head.startswith(b"GET /2") and len(site.heads) == 2:
            return False  # as if the close had crossed the request
        writer.write(page())
        return True

    site = await serve(respond)
    await fetcher.fetch(FetchRequest(url=f"{site.base}/1"))
    got = await fetcher.fetch(FetchRequest(url=f"{site.base}/2"))
    assert isinstance(got, Response)
    assert (site.connections, len(site.heads)) == (2, 3)


async def test_a_site_that_hangs_up_is_asked_once(serve, fetcher):
    async def respond(_head, _writer):
        return False

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable, len(site.heads)) == (FailureCode.CONNECTION, True, 1)


async def test_cancelling_closes_the_connection(serve, fetcher):
    asked = asyncio.Event()

    async def respond(_head, writer):
        asked.set()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        await asyncio.Event().wait()
        return False

    site = await serve(respond)
    task = asyncio.create_task(fetcher.fetch(FetchRequest(url=site.base)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_many_at_once(serve, page, fetcher):
    site = await serve(page(b"x" * 5000))
    outcomes = await asyncio.gather(*(fetcher.fetch(FetchRequest(url=f"{site.base}/{number}")) for number in range(50)))
    assert all(isinstance(outcome, Response) and len(outcome.body) == 5000 for outcome in outcomes)


async def test_a_closed_fetcher_opens_anew(serve, page, fetcher):
    site = await serve(page())
    await fetcher.fetch(FetchRequest(url=site.base))
    await fetcher.close()
    assert isinstance(await fetcher.fetch(FetchRequest(url=site.base)), Response)


async def test_no_such_name_is_a_dns_failure(fetcher):
    got = await fetcher.fetch(FetchRequest(url="http://no-such-host.invalid/"))
    assert isinstance(got, FetchFailure)
    assert got.code is FailureCode.DNS
    assert "no-such-host.invalid" in got.message


async def test_a_closed_port_is_a_connection_failure(serve, page, fetcher):
    site = await serve(page())
    await site.stop()
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable) == (FailureCode.CONNECTION, True)


async def test_a_self_signed_certificate_is_refused(serve, page, fetcher, server_tls):
    site = await serve(page(), tls=server_tls)
    got = await fetcher.fetch(FetchRequest(url=f"https://localhost:{site.port}/"))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable) == (FailureCode.TLS, False)


async def test_tls_against_a_plain_port_is_a_tls_failure(fetcher):
    async def greet(_reader, writer):
        writer.write(b"220 mail ready\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        got = await fetcher.fetch(FetchRequest(url=f"https://localhost:{port}/"))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable) == (FailureCode.TLS, True)


async def test_tls_with_a_trusted_certificate(serve, page, make_fetcher, server_tls, trusting_tls):
    site = await serve(page(), tls=server_tls)
    fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(ssl_context=trusting_tls))
    got = await fetcher.fetch(FetchRequest(url=f"https://localhost:{site.port}/"))
    assert isinstance(got, Response)
    assert got.private


async def test_any_certificate_will_do_where_it_is_not_to_be_checked(serve, page, fetcher, server_tls):
    site = await serve(page(), tls=server_tls)
    got = await fetcher.fetch(FetchRequest(url=f"https://127.0.0.1:{site.port}/", verify_tls=False))
    assert isinstance(got, Response)
    assert got.body == b"<p>hello</p>"


async def test_an_unchecked_connection_is_not_used_for_a_checked_request(serve, page, fetcher, server_tls):
    site = await serve(page(), tls=server_tls)
    url = f"https://localhost:{site.port}/"
    unchecked = [await fetcher.fetch(FetchRequest(url=url, verify_tls=False)) for _ in range(2)]
    checked = await fetcher.fetch(FetchRequest(url=url))
    assert all(isinstance(got, Response) for got in unchecked)
    assert isinstance(checked, FetchFailure)
    assert (checked.code, len(site.heads)) == (FailureCode.TLS, 2)


async def test_a_site_that_never_accepts_is_a_timeout(make_fetcher):
    # A full backlog drops further connections in silence.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(connect_timeout_s=0.2))
            got = await fetcher.fetch(FetchRequest(url=f"http://127.0.0.1:{port}/", timeout_s=5))
        finally:
            for filler in fillers:
                filler.close()
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable) == (FailureCode.TIMEOUT, True)
    assert got.elapsed_us < 3_000_000


async def test_cookies_travel_along_a_chain_and_no_further(serve, page, fetcher):
    site = await serve(page(b"", "Location: /b", "Set-Cookie: s=1; Path=/", "Set-Cookie: t=2", status="302 X"))
    first = await fetcher.fetch(FetchRequest(url=f"{site.base}/a/x", headers=(("Cookie", "s=0; own=3"),)))
    assert isinstance(first, Response)
    assert first.chain
    second = await fetcher.fetch(
        FetchRequest(url=f"{site.base}/b", headers=(("Cookie", "s=0; own=3"),), chain=first.chain)
    )
    assert isinstance(second, Response)
    await fetcher.fetch(FetchRequest(url=f"http://localhost:{site.port}/a/b", chain=first.chain))
    await fetcher.fetch(FetchRequest(url=f"{site.base}/a/x"))
    sent = [field(head, "cookie") for head in site.heads]
    assert sent == ["s=0; own=3", "own=3; s=1", None, None]


async def test_a_chain_passes_through_a_redirect_that_sets_nothing(serve, page, fetcher):
    site = await serve(page(b"", "Location: /b", status="302 X"))
    got = await fetcher.fetch(FetchRequest(url=site.base, chain=b"whatever"))
    assert isinstance(got, Response)
    assert got.chain == b"whatever"


@pytest.mark.parametrize(("header", "seconds"), [("2", 2.0), ("-5", None), ("soon", None), ("999999", 3600.0)])
async def test_retry_after_is_read(serve, page, fetcher, header, seconds):
    site = await serve(page(b"", f"Retry-After: {header}", status="429 Slow"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert got.retry_after_s == seconds


async def test_idle_connections_to_many_hosts_are_bounded(serve, page, make_fetcher, monkeypatch):
    async def lookup(_self, _host):
        return [Found(socket.AF_INET, "127.0.0.1")]

    monkeypatch.setattr(Resolver, "lookup", lookup)
    site = await serve(page())
    fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(max_idle_hosts=3))
    for number in [*range(10), 9, 8, 7]:
        await fetcher.fetch(FetchRequest(url=f"http://h{number}.test:{site.port}/"))
    assert site.connections == 10  # the last three were still there
    async with asyncio.timeout(5):
        for _ in range(6):
            await site.ended.get()


@pytest.mark.parametrize(
    "tail", ["a\r\nX-Evil: 1", "a b", "a\tb", "\0", "caf\xe9", "\ud800", "?q=\n", "#\r\n\r\nGET /x"]
)
async def test_a_url_that_is_not_serialised_is_not_sent(serve, page, fetcher, tail):
    site = await serve(page())
    got = await fetcher.fetch(FetchRequest(url=f"{site.base}/{tail}"))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.retryable, site.connections) == (FailureCode.INTERNAL, False, 0)


@pytest.mark.parametrize(
    "headers", [(("X", "\ud800"),), (("X\r\nY", "1"),), (("", "1"),), (("X Y", "1"),), (("X", "a\0b"),)]
)
async def test_headers_that_cannot_be_sent_raise_nothing(serve, page, fetcher, headers):
    site = await serve(page())
    got = await fetcher.fetch(FetchRequest(url=site.base, headers=headers))
    assert isinstance(got, Response | FetchFailure)
    assert not any(b"\r\nY" in head for head in site.heads)
