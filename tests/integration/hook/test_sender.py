"""One delivery over real sockets: exact bytes, signed, no detours, and no way to an address that is not allowed."""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections.abc import AsyncIterator, Sequence

import pytest

from perseid.fetch.guard import Allowance, judge_for
from perseid.fetch.resolver import Resolver
from perseid.hook.sender import Sender
from perseid.ports.hook import Delivery, Reception
from perseid.testing import Answer, Site

SETTING = "PERSEID_WEBHOOK__ALLOW_PRIVATE"
BODY = '{"a":"ü \u2028","b":[1,2]}'.encode()


class Names:
    """A name server that gives the next of its answers each time it is asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def lookup(self, host: str) -> list[tuple[socket.AddressFamily, str]]:
        self.asked += 1
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET6 if ":" in address else socket.AF_INET, address) for address in found]


def sender(allowed: str = "", names: Names | None = None, **options: object) -> Sender:
    lookup = names.lookup if names else Resolver().lookup
    judge = judge_for(Allowance.parse(allowed), setting=SETTING)
    return Sender(judge=judge, lookup=lookup, **options)  # type: ignore[arg-type]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as site:
        site.respond("/hook", 204)
        yield site


async def post(sender: Sender, url: str, headers: dict[str, str] | None = None, *, trusted: bool = False) -> Reception:
    try:
        return await sender.post(Delivery(url, headers or {}, BODY, trusted))
    finally:
        await sender.close()


async def test_the_body_arrives_byte_for_byte(site: Site) -> None:
    reception = await post(sender("127.0.0.1"), site.url("/hook?key=a%2Fb"), {"X-Own": "1"})
    (request,) = site.requests
    assert (request.method, request.path, request.body) == ("POST", "/hook?key=a%2Fb", BODY)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-own"] == "1"
    assert "x-firecrawl-signature" not in request.headers
    assert reception.accepted


async def test_the_signature_is_that_of_the_body(site: Site) -> None:
    await post(sender("127.0.0.1", secret="s3"), site.url("/hook"), {"x-firecrawl-signature": "forged"})
    (request,) = site.requests
    expected = hmac.new(b"s3", request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-firecrawl-signature"] == f"sha256={expected}"


async def test_nobody_forges_a_signature_where_there_is_no_secret(site: Site) -> None:
    await post(sender("127.0.0.1"), site.url("/hook"), {"X-Firecrawl-Signature": "forged"})
    assert "x-firecrawl-signature" not in site.requests[0].headers


async def test_own_headers_change_nothing_about_the_framing(site: Site) -> None:
    await post(sender("127.0.0.1"), site.url("/hook"), {"Content-Length": "1", "Transfer-Encoding": "x", "Host": "y"})
    (request,) = site.requests
    assert request.body == BODY
    assert request.headers["host"] == site.origin.removeprefix("http://")


@pytest.mark.parametrize(
    ("status", "accepted", "away"), [(200, 1, 0), (299, 1, 0), (404, 0, 0), (429, 0, 1), (500, 0, 1)]
)
async def test_the_status_says_how_it_went(site: Site, status: int, accepted: int, away: int) -> None:
    site.respond("/hook", status, {"Retry-After": "7"})
    reception = await sender_post(site)
    assert (reception.status, reception.accepted, reception.away) == (status, bool(accepted), bool(away))
    assert reception.retry_after_s == 7.0


async def sender_post(site: Site, **options: object) -> Reception:
    return await post(sender("127.0.0.1", **options), site.url("/hook"))


async def test_redirects_are_not_followed(site: Site) -> None:
    site.redirect("/hook", site.url("/elsewhere"), 307)
    site.respond("/elsewhere", 200)
    reception = await sender_post(site)
    assert (reception.status, reception.accepted, reception.away) == (307, False, False)
    assert "redirect" in reception.error
    assert [request.path for request in site.requests] == ["/hook"]


async def test_a_receiver_that_says_nothing_is_left_in_time(site: Site) -> None:
    site.respond("/hook", hang=True)
    reception = await sender_post(site, timeout_s=0.2)
    assert (reception.status, reception.away) == (None, True)
    assert "0.2 s" in reception.error


@pytest.mark.parametrize("behaviour", [{"trickle_s": 0.05}, {"endless": True}])
async def test_an_answer_that_does_not_end_counts_by_its_time_or_its_status(
    site: Site, behaviour: dict[str, object]
) -> None:
    site.handle("/hook", lambda _request: Answer(body=b"x" * 70_000, **behaviour))  # type: ignore[arg-type]
    reception = await sender_post(site, timeout_s=0.3)
    assert reception.status in (None, 200)


async def test_nobody_at_the_port_is_a_failure_without_an_answer(site: Site) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://u:hunter2@127.0.0.1:{free.getsockname()[1]}/?key=hunter2"
        reception = await post(sender("127.0.0.1"), url)
    assert (reception.status, reception.away, reception.hopeless) == (None, True, False)
    assert "hunter2" not in reception.error


async def test_a_connection_that_the_receiver_closed_is_opened_anew(site: Site) -> None:
    site.sequence("/hook", [Answer(), Answer(reset=True), Answer()])
    one = sender("127.0.0.1")
    assert (await one.post(Delivery(site.url("/hook"), {}, BODY))).accepted
    assert (await one.post(Delivery(site.url("/hook"), {}, BODY))).accepted
    await one.close()
    assert len(site.requests) == 3


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "0x7f.1", "2130706433", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]",
        "169.254.169.254", "10.0.0.1", "192.168.1.1", "100.64.0.1", "[fd00::1]", "[64:ff9b::7f00:1]",
    ],
)  # fmt: skip
async def test_addresses_that_are_not_public_are_refused_however_they_are_written(site: Site, host: str) -> None:
    reception = await post(sender(), f"http://{host}:{site.port}/hook")
    assert (reception.status, reception.hopeless) == (None, True), reception.error
    assert site.requests == []


async def test_the_refusal_names_the_setting_that_allows_it(site: Site) -> None:
    reception = await post(sender(), site.url("/hook"))
    assert SETTING in reception.error


async def test_a_name_that_points_inside_is_refused(site: Site) -> None:
    reception = await post(sender(names=Names(["127.0.0.1"])), f"http://rebind.example:{site.port}/hook")
    assert reception.hopeless
    assert site.requests == []


async def test_a_name_that_moves_inside_between_two_looks_is_refused(site: Site) -> None:
    """Whoever asks first and connects by name later is led on; here the address connected to is what is judged."""
    names = Names(["93.184.215.14"], ["127.0.0.1"])
    await names.lookup("rebind.example")
    reception = await post(sender(names=names), f"http://rebind.example:{site.port}/hook")
    assert reception.hopeless
    assert names.asked == 2
    assert site.requests == []


async def test_an_allowed_network_is_open_and_no_other(site: Site) -> None:
    assert (await post(sender("127.0.0.0/8"), site.url("/hook"))).accepted
    assert (await post(sender("10.0.0.0/8"), site.url("/hook"))).hopeless


async def test_an_allowed_name_is_open(site: Site) -> None:
    names = Names(["127.0.0.1"])
    reception = await post(sender("inside.example", names), f"http://inside.example:{site.port}/hook")
    assert reception.accepted


async def test_the_operators_own_receiver_is_not_judged(site: Site) -> None:
    assert (await post(sender(), site.url("/hook"), trusted=True)).accepted


async def test_trust_is_not_inherited_through_an_open_connection(site: Site) -> None:
    one = sender()
    assert (await one.post(Delivery(site.url("/hook"), {}, BODY, trusted=True))).accepted
    assert (await one.post(Delivery(site.url("/hook"), {}, BODY))).hopeless
    await one.close()


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://receiver.example/", "http://"])
async def test_what_is_no_web_address_is_hopeless(url: str) -> None:
    assert (await post(sender(), url)).hopeless
