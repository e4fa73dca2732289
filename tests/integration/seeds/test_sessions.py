"""Who we are to a site: logins, cookies, warm-up visits, identities; and what never leaves for anybody else."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import parse_qs

import pytest
from tests.integration.seeds.conftest import SHOP, Farm, OpenFarm, product, told

from perseid.model.ids import WorkerId
from perseid.ports.configs import ConfigKind
from perseid.ports.teams import Team
from perseid.runtime.collecting import Collecting
from perseid.testing import Answer, Request, Site

QUICK = {"base": 0.01, "max": 0.05}


class Members:
    """A site whose pages want a session; `tickets` are those that are valid."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.tickets: set[str] = set()
        self.logins: list[dict[str, list[str]]] = []
        site.handle("/login", self.login)
        site.otherwise(self.page)

    def login(self, request: Request) -> Answer:
        if request.method == "GET":
            return Answer(body="<form><input name=csrf value=c1></form>", headers={"Set-Cookie": "pre=1; Path=/"})
        form = parse_qs(request.body.decode())
        self.logins.append(form)
        if form != {"user": ["reader"], "password": ["hunter2"], "csrf": ["c1"]}:
            return Answer(body="<p>wrong</p>")
        ticket = f"t{len(self.logins)}"
        self.tickets = {ticket}
        return Answer(status=303, headers={"Set-Cookie": f"ticket={ticket}; Path=/; HttpOnly", "Location": "/home"})

    def page(self, request: Request) -> Answer:
        cookies = dict(pair.split("=", 1) for pair in request.headers.get("cookie", "").split("; ") if "=" in pair)
        if cookies.get("ticket") not in self.tickets:
            return Answer(body="<p>please log in</p>")
        number = request.path.rpartition("/")[2]
        return Answer(body=product(int(number) if number.isdigit() else 0) + "<a class=logout>bye</a>")


def members_rule(site: Site, **login: Any) -> dict[str, Any]:
    form = {"user": "reader", "password": "${secret:MEMBERS}", "csrf": "${csrf}", **login}
    return {
        "site_id": "shop",
        "fields": {"title": {"css": "h1", "required": True}},
        "fetch": {
            "concurrency": 2,
            "backoff": QUICK,
            "login": [
                {"url": site.url("/login"), "take": {"csrf": "input[name=csrf]::attr(value)"}},
                {"url": site.url("/login"), "method": "POST", "form": form, "expect": "a.logout"},
            ],
        },
    }


async def members_farm(open_farm: OpenFarm, password: str = "hunter2") -> Farm:
    farm: Farm = await open_farm()
    settings = farm.engine.settings
    settings.secrets.clear()
    settings.secrets["members"] = password
    return farm


async def test_a_login_is_done_once_and_again_when_it_is_lost(
    open_farm: OpenFarm, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="perseid")
    farm, members = await members_farm(open_farm), Members(site)
    await farm.publish(members_rule(site))
    await farm.put(urls=[site.url(f"/p/{number}") for number in range(1, 7)])
    found = await farm.collect()
    assert found.titles == [f"Product {number}" for number in range(1, 7)]
    assert len(members.logins) == 1
    # The site forgets us, in the middle of another run.
    members.tickets.clear()
    await farm.put("s2", urls=[site.url(f"/p/{number}") for number in range(7, 10)])
    found = await farm.collect()
    assert found.titles == [f"Product {number}" for number in range(1, 10)]
    assert found.exceptions == []
    assert len(members.logins) == 2
    told = " ".join(str(record.__dict__) for record in caplog.records)
    stored = [row.spec + crawl.options for row in await farm.sites.seeding.rows() for crawl in found.runs]
    head = await farm.sites.publishing.head(ConfigKind.RULE, "shop")
    assert "hunter2" not in told
    assert not any(b"hunter2" in text for text in [*stored, head.body])


async def test_a_token_that_a_login_gave_is_sent_with_each_page(open_farm: OpenFarm, site: Site) -> None:
    farm = await members_farm(open_farm)

    def token(request: Request) -> Answer:
        right = json.loads(request.body) == {"user": "reader", "key": "hunter2"}
        return Answer(headers={"Content-Type": "application/json"}, body='{"token": "tk7"}' if right else "{}")

    def page(request: Request) -> Answer:
        if request.headers.get("authorization") != "Bearer tk7":
            return Answer(status=401)
        return Answer(headers={"Content-Type": "application/json"}, body=json.dumps({"title": request.path}))

    site.handle("/token", token)
    site.handle("/api/1", page)
    site.handle("/api/2", page)
    step = {
        "url": site.url("/token"),
        "method": "POST",
        "json": {"user": "reader", "key": "${secret:MEMBERS}"},
        "take": {"token": "$.token"},
    }
    fetch = {"login": [step], "headers": {"Authorization": "Bearer ${token}"}, "backoff": QUICK}
    await farm.publish({"site_id": "shop", "fields": {"title": "$.title"}, "fetch": fetch})
    await farm.put(urls=[site.url("/api/1"), site.url("/api/2")])
    found = await farm.collect()
    assert found.titles == ["/api/1", "/api/2"]
    (login,) = [request for request in site.requests if request.path == "/token"]
    assert "authorization" not in login.headers


async def test_a_login_that_fails_is_not_hammered(open_farm: OpenFarm, site: Site) -> None:
    farm, members = await members_farm(open_farm, "wrong"), Members(site)
    await farm.publish(members_rule(site))
    await farm.put(urls=[site.url(f"/p/{number}") for number in range(1, 5)])
    found = await farm.collect()
    assert set(found.failures.values()) == {"login_failed"}
    assert found.items == []
    assert 2 <= len(members.logins) <= 4 * 3
    assert not any(path.startswith("/p/") for path in site.counts())


@pytest.mark.parametrize("robots", ["", "User-agent: *\nCrawl-delay: 0.02\n"])
async def test_pages_that_never_show_the_sign_bring_no_endless_logins(
    open_farm: OpenFarm, site: Site, robots: str
) -> None:
    farm, members = await members_farm(open_farm), Members(site)
    site.robots(robots)
    for number in range(8):
        site.page(f"/open/{number}", product(number))
    await farm.publish(members_rule(site))
    await farm.put(urls=[site.url(f"/open/{number}") for number in range(8)])
    found = await farm.collect()
    assert len(found.items) == 8
    assert len(members.logins) <= 8


async def test_a_login_that_is_blocked_tells_no_secret(
    open_farm: OpenFarm, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="perseid")
    farm, members = await members_farm(open_farm), Members(site)
    rule = members_rule(site)
    login = [{"url": site.url("/login?key=${secret:MEMBERS}")}]
    await farm.publish({**rule, "fetch": {"backoff": QUICK, "login": login, "block": ["/login"]}})
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    assert set(found.failures.values()) == {"login_failed"}
    (run,) = found.runs
    (failed,) = await farm.store.failures(run.id)
    assert failed.message.startswith("step 1 of the login")
    assert "hunter2" not in failed.message + " ".join(str(record.__dict__) for record in caplog.records)
    assert members.logins == []


async def test_a_missing_secret_keeps_a_run_waiting(
    open_farm: OpenFarm, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    farm = await members_farm(open_farm)
    farm.engine.settings.secrets.clear()
    await farm.publish(members_rule(site))
    await farm.put(urls=[site.url("/p/1")])
    async with await farm.working():
        await farm.lab.until(lambda: told(caplog, "the secret 'MEMBERS' is not defined"))
    assert site.counts() == {}


async def test_a_page_is_visited_first_for_its_cookies(farm: Farm, site: Site) -> None:
    site.respond("/", headers={"Set-Cookie": "seen=yes; Path=/"}, body="<p>welcome</p>")
    site.handle("/p/1", lambda r: Answer(body=product(1) if "seen=yes" in r.headers.get("cookie", "") else "no"))
    rule = {**SHOP, "start": "detail", "fetch": {"warm_up": site.url("/"), "cookies": {"lang": "de"}}}
    await farm.publish(rule)
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    assert found.titles == ["Product 1"]
    assert site.requests[-1].headers["cookie"] == "lang=de; seen=yes"


async def test_who_is_refused_comes_back_as_somebody_else(farm: Farm, site: Site) -> None:
    def answer(request: Request) -> Answer:
        if request.headers["user-agent"] == "Second/1":
            return Answer(body=product(1))
        return Answer(status=403 if request.path == "/p/1" else 429, headers={"Retry-After": "0"})

    site.handle("/p/1", answer)
    site.handle("/p/2", answer)
    pool = {"identities": [{"user_agent": "First/1"}, {"user_agent": "Second/1", "headers": {"X-Who": "second"}}]}
    await farm.config(ConfigKind.IDENTITY_POOL, "two", pool)
    await farm.publish({**SHOP, "start": "detail", "fetch": {"identities": "two", "backoff": QUICK}})
    await farm.put(urls=[site.url("/p/1"), site.url("/p/2")])
    found = await farm.collect()
    assert len(found.items) == 2
    agents = [request.headers["user-agent"] for request in site.requests if request.path == "/p/1"]
    assert agents == ["First/1", "Second/1"]
    assert site.requests[-1].headers["x-who"] == "second"


async def test_what_is_meant_for_a_site_is_not_sent_to_strangers(open_farm: OpenFarm, site: Site) -> None:
    farm = await members_farm(open_farm)
    other, third = site.host("other"), site.host("third")
    site.page("/list", f'<h2><a href="{other.url("/p/1")}">x</a></h2><h2><a href="/p/2">x</a></h2>')
    other.page("/p/1", product(1))
    site.redirect("/p/2", third.url("/p/2"))
    third.page("/p/2", product(2))
    fetch = {"headers": {"Authorization": "Bearer ${secret:MEMBERS}", "Accept-Language": "de"}, "cookies": {"a": "b"}}
    await farm.publish({**SHOP, "fetch": fetch})
    await farm.put(urls=[site.url("/list")])
    found = await farm.collect()
    assert found.titles == ["Product 1", "Product 2"]
    asked = {(request.host, request.path): request.headers for request in site.requests}
    assert asked["site", "/list"]["authorization"] == "Bearer hunter2"
    assert asked["site", "/p/2"]["authorization"] == "Bearer hunter2"
    for stranger in (("other", "/p/1"), ("third", "/p/2"), ("other", "/robots.txt")):
        assert not {"authorization", "cookie"} & asked[stranger].keys()
        assert asked[stranger]["accept-language"] == "de"


async def test_each_team_has_secrets_of_its_own(open_farm: OpenFarm) -> None:
    farm = await members_farm(open_farm, "ours")
    farm.engine.settings.secrets["acme__members"] = "theirs"
    acme = await farm.store.put_team(Team(id=0, name="Acme", max_active=5))
    collecting = Collecting(farm.engine, whose=lambda: WorkerId(0))
    own, other = await collecting._secrets_of(1), await collecting._secrets_of(acme.id)
    assert (own("MEMBERS"), other("MEMBERS")) == ("ours", "theirs")
    assert own("ACME__MEMBERS") is other("ACME__MEMBERS") is None
    await collecting.aclose()
