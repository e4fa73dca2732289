"""The guard at work: judged when connecting, and no permission travels with a kept connection."""

from __future__ import annotations

import socket

import pytest

from perseid.fetch.guard import SETTING, Allowance
from perseid.fetch.resolver import Found, Resolver
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response


def blocked(got: object) -> FetchFailure:
    assert isinstance(got, FetchFailure), got
    assert (got.code, got.retryable) == (FailureCode.BLOCKED_ADDRESS, False), got
    return got


@pytest.fixture
def resolve(monkeypatch):
    """Let names resolve to what the test says."""

    def fake(**names: list[str]) -> None:
        async def lookup(_self, host):
            return [
                Found(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
                for address in names[host.replace(".", "_")]
            ]

        monkeypatch.setattr(Resolver, "lookup", lookup)

    return fake


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"])
async def test_loopback_is_refused_however_it_is_written(serve, page, make_fetcher, host):
    site = await serve(page())
    got = blocked(await make_fetcher().fetch(FetchRequest(url=f"http://{host}:{site.port}/")))
    assert SETTING in got.message
    assert got.private
    assert site.connections == 0


@pytest.mark.parametrize("host", ["0x7f.1", "2130706433", "127.1", "0177.0.0.1", "127.0.0.1."])
async def test_literals_no_url_parser_folded_reach_nothing(serve, page, make_fetcher, host):
    site = await serve(page())
    got = await make_fetcher().fetch(FetchRequest(url=f"http://{host}:{site.port}/"))
    assert isinstance(got, FetchFailure)
    assert not got.retryable
    assert site.connections == 0


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "224.0.0.1"])
async def test_refusal_names_the_address_and_needs_no_connection(make_fetcher, host):
    got = blocked(await make_fetcher().fetch(FetchRequest(url=f"http://{host}/", timeout_s=2)))
    assert host.strip("[]") in got.message


async def test_a_name_is_judged_by_what_it_resolves_to(serve, page, make_fetcher, resolve):
    site = await serve(page())
    resolve(rebound_test=["127.0.0.1"])
    got = blocked(await make_fetcher().fetch(FetchRequest(url=f"http://rebound.test:{site.port}/")))
    assert "rebound.test" in got.message
    assert "127.0.0.1" in got.message
    assert site.connections == 0


async def test_all_addresses_of_a_name_are_judged(serve, page, make_fetcher, resolve):
    site = await serve(page())
    resolve(mixed_test=["169.254.169.254", "10.1.2.3", "127.0.0.1"])
    blocked(await make_fetcher().fetch(FetchRequest(url=f"http://mixed.test:{site.port}/")))
    assert site.connections == 0


async def test_a_forbidden_address_does_not_hide_an_allowed_one(serve, page, make_fetcher, resolve):
    site = await serve(page())
    resolve(mixed_test=["169.254.169.254", "127.0.0.1"])
    fetcher = make_fetcher(allowance=Allowance(allow_private=True))
    got = await fetcher.fetch(FetchRequest(url=f"http://mixed.test:{site.port}/"))
    assert isinstance(got, Response)


async def test_the_named_host_is_open(serve, page, make_fetcher):
    site = await serve(page())
    got = await make_fetcher().fetch(FetchRequest(url=site.base, named_host="127.0.0.1"))
    assert isinstance(got, Response)
    assert got.private


async def test_www_and_apex_of_the_named_host_are_one(serve, page, make_fetcher, resolve):
    site = await serve(page())
    resolve(www_site_test=["127.0.0.1"], site_test=["127.0.0.1"])
    fetcher = make_fetcher()
    for host, named in (("www.site.test", "site.test"), ("site.test", "WWW.Site.test.")):
        got = await fetcher.fetch(FetchRequest(url=f"http://{host}:{site.port}/", named_host=named))
        assert isinstance(got, Response)


async def test_naming_one_host_opens_no_other(serve, page, make_fetcher, resolve):
    site = await serve(page())
    resolve(site_test=["127.0.0.1"], sub_site_test=["127.0.0.1"], evilsite_test=["127.0.0.1"])
    fetcher = make_fetcher()
    for host in ("localhost", "127.0.0.1", "sub.site.test", "evilsite.test", "[::1]"):
        if host == "localhost":
            resolve(localhost=["127.0.0.1"], sub_site_test=["127.0.0.1"], evilsite_test=["127.0.0.1"])
        blocked(await fetcher.fetch(FetchRequest(url=f"http://{host}:{site.port}/", named_host="site.test")))
    assert site.connections == 0


async def test_a_permission_does_not_leak_through_a_kept_connection(serve, page, make_fetcher):
    site = await serve(page())
    fetcher = make_fetcher()
    assert isinstance(await fetcher.fetch(FetchRequest(url=site.base, named_host="127.0.0.1")), Response)
    blocked(await fetcher.fetch(FetchRequest(url=site.base)))
    blocked(await fetcher.fetch(FetchRequest(url=site.base, named_host="localhost")))
    assert isinstance(await fetcher.fetch(FetchRequest(url=site.base, named_host="127.0.0.1")), Response)
    assert site.connections == 1


async def test_a_named_name_may_not_be_pointed_at_a_metadata_service(make_fetcher, resolve):
    resolve(cloud_test=["169.254.169.254"])
    blocked(await make_fetcher().fetch(FetchRequest(url="http://cloud.test/", named_host="cloud.test")))


async def test_the_operators_list_opens_hosts_and_networks(serve, page, make_fetcher, resolve):
    site = await serve(page())
    resolve(site_test=["127.0.0.1"], other_test=["127.0.0.1"])
    by_host = make_fetcher(allowance=Allowance.parse("site.test"))
    assert isinstance(await by_host.fetch(FetchRequest(url=f"http://site.test:{site.port}/")), Response)
    blocked(await by_host.fetch(FetchRequest(url=f"http://other.test:{site.port}/")))
    by_network = make_fetcher(allowance=Allowance.parse("127.0.0.0/8"))
    assert isinstance(await by_network.fetch(FetchRequest(url=f"http://other.test:{site.port}/")), Response)


async def test_a_port_of_another_service_is_refused(make_fetcher, resolve):
    resolve(public_test=["93.184.215.14"])
    got = blocked(await make_fetcher().fetch(FetchRequest(url="http://public.test:25/", timeout_s=2)))
    assert "port 25" in got.message
    assert not got.private
