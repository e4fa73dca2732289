"""What a process knows of a site: its newest rule made ready, the policies it names, who we are there."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeVar

import msgspec

from perseid.errors import ConfigError, NotFound
from perseid.model.pool import EVERYWHERE, BlockList, Identity, IdentityPool, ProxyPool, SiteLimits
from perseid.model.rule import LoginStep, Rate, Rule
from perseid.observe import log
from perseid.ports.configs import ConfigKind, Configs
from perseid.ports.seeds import Seeds
from perseid.rules import loading, secrets
from perseid.seeds.proxies import Proxies
from perseid.seeds.session import Headers, Opening, Session

T = TypeVar("T", bound=msgspec.Struct)

OWN_RULE = 0
"""The version of a rule that stands in the seed itself."""
_KEPT = 1_024
_TOLD_EVERY_S = 60.0
_PAGE = 1_000


class NoRule(NotFound):
    """Nobody has published a rule for the site, or it was retired."""

    code = "no_rule"


Lookup = Callable[[str], str | None]
"""A secret by its name; None where there is none."""


class Limits(NamedTuple):
    """What holds for the site: the rule's word, under the ceilings of the team."""

    concurrency: int
    rate: Rate | None


@dataclass(slots=True)
class Site:
    """One version of a site's rule with all that it names. Secrets stand filled in: never to be stored or shown."""

    id: int
    team: int
    name: str
    rule: Rule
    version: int
    limits: Limits
    headers: Headers
    cookies: str
    """As a Cookie header, without those of a session."""
    opening: Opening
    sessions: tuple[Session, ...]
    """One for each identity, at least one."""
    proxies: Proxies | None
    blocked_hosts: tuple[str, ...]
    blocked_patterns: tuple[str, ...]
    private_hosts: dict[str, bool] = field(default_factory=dict)
    """Hosts that turned out to be private or not, so that each is said once."""
    slow: bool = False
    """Reading a page of it took long: the next ones are read beside the loop."""

    @property
    def has_sessions(self) -> bool:
        """Cookies are kept from page to page."""
        return self.opening.warm_up is not None or bool(self.opening.login)


class _Name(NamedTuple):
    team: int
    site: str
    own: bytes
    """The rule that stands in the seed itself, else empty."""


class Sites:
    """The sites in use, the least recently used forgotten; what was published since is taken up by `current`."""

    def __init__(
        self,
        seeds: Seeds,
        configs: Configs,
        *,
        secrets_of: Callable[[int], Awaitable[Lookup]],
        now_s: Callable[[], float],
    ) -> None:
        """`secrets_of` tells a team's secrets; `now_s` is the monotonic clock."""
        self._seeds = seeds
        self._configs = configs
        self._secrets_of = secrets_of
        self._now_s = now_s
        self._known: OrderedDict[_Name, Site] = OrderedDict()
        self._numbers: dict[tuple[int, str], int] = {}
        self._pools: dict[tuple[int, str], tuple[bytes, Proxies]] = {}
        self._sessions: OrderedDict[tuple[int, bytes], tuple[Session, ...]] = OrderedDict()
        self._told: dict[_Name, float] = {}
        """When it was last said that a site can't be worked on; of the monotonic clock."""
        self._changed: int | None = None
        self._lock = asyncio.Lock()

    async def number(self, team: int, name: str) -> int:
        """Of the site, made where it isn't there."""
        known = self._numbers.get((team, name))
        if known is None:
            known = self._numbers[team, name] = (await self._seeds.put_site(team, name)).id
        return known

    async def current(self, team: int, name: str, *, changed: int | None = None, own: bytes = b"") -> Site:
        """The site by its newest rule, or by the seed's `own` one (JSON).

        `changed` is `Configs.changed` as it was read just now; None asks. Raises `NoRule`, `ConfigError`.
        """
        if changed is None:
            changed = await self._configs.changed()
        if self._changed is None or changed > self._changed:
            async with self._lock:
                await self._catch_up(changed)
        key = _Name(team, name, own)
        site = self._known.get(key)
        if site is None:
            async with self._lock:
                site = self._known.get(key) or await self._loaded(key)
        self._known[key] = site
        self._known.move_to_end(key)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return site

    async def _catch_up(self, changed: int) -> None:
        """Forget what somebody changed. What is being loaded meanwhile is as new as the read that loads it."""
        if self._changed is None:
            self._changed = changed
            return
        while self._changed < changed:
            reached, objects = await self._configs.changed_since(self._changed)
            for team, kind, name, _version in objects:
                for key in [each for each in self._known if each.team == team]:
                    if kind is not ConfigKind.RULE or key.site == name:
                        del self._known[key]
            if reached <= self._changed:
                return
            self._changed = reached

    async def _loaded(self, key: _Name) -> Site:
        try:
            return await self._load(key)
        except ConfigError as error:
            now = self._now_s()
            if now >= self._told.get(key, -inf) + _TOLD_EVERY_S:
                self._told[key] = now
                log.event("seed.put_off", site=key.site, message=f"tasks of {key.site!r} wait: {error}")
            raise

    async def _load(self, key: _Name) -> Site:
        rule, version = await self._rule(key)
        fetch = rule.fetch
        identities: tuple[Identity, ...] = (Identity(),)
        if fetch.identities:
            identities = (
                await self._named(key.team, ConfigKind.IDENTITY_POOL, fetch.identities, IdentityPool)
            ).identities
        blocks = await self._blocks(key.team)
        lookup = await self._secrets_of(key.team)
        cookies = secrets.filled(fetch.cookies, lookup)
        opening = Opening(fetch.warm_up, tuple([_step(step, lookup) for step in fetch.login]))
        number = await self.number(key.team, key.site)
        return Site(
            id=number,
            team=key.team,
            name=key.site,
            rule=rule,
            version=version,
            limits=await self._limits(key, rule),
            headers=_pairs(secrets.filled(fetch.headers, lookup)),
            cookies="; ".join(f"{name}={value}" for name, value in cookies.items()),
            opening=opening,
            sessions=self._standing(number, identities, opening, lookup),
            proxies=await self._proxies(key.team, fetch.proxies, lookup),
            blocked_hosts=tuple([host for each in blocks for host in each.hosts]),
            blocked_patterns=(*fetch.block, *[pattern for each in blocks for pattern in each.patterns]),
        )

    async def _rule(self, key: _Name) -> tuple[Rule, int]:
        if key.own:
            return loading.load(key.own, "parse_rule", is_json=True).rule, OWN_RULE
        head = await self._configs.head(key.team, ConfigKind.RULE, key.site)
        if head is None:
            raise NoRule(f"nobody has published a rule for the site {key.site!r}")
        return _read(head.body, Rule, f"the rule of {key.site!r}"), head.version

    async def _named(self, team: int, kind: ConfigKind, name: str, shape: type[T]) -> T:
        head = await self._configs.head(team, kind, name)
        if head is None:
            raise ConfigError(f"the {kind.value.replace('_', ' ')} {name!r} that the rule names is not published")
        return _read(head.body, shape, f"{kind.value} {name!r}")

    async def _proxies(self, team: int, name: str | None, lookup: Lookup) -> Proxies | None:
        """Their health outlives whatever else is published, as long as the pool itself is the same."""
        if name is None:
            return None
        pool = await self._named(team, ConfigKind.PROXY_POOL, name, ProxyPool)
        body = msgspec.json.encode(pool)
        known = self._pools.get((team, name))
        if known is None or known[0] != body:
            urls = secrets.filled(list(pool.proxies), lookup)
            proxies = Proxies(urls, failures=pool.failures, rest_s=pool.rest_s, now_s=self._now_s)
            known = self._pools[team, name] = (body, proxies)
        return known[1]

    async def _limits(self, key: _Name, rule: Rule) -> Limits:
        concurrency, rates = rule.fetch.concurrency, [rule.fetch.rate]
        for name in {key.site, EVERYWHERE}:
            head = await self._configs.head(key.team, ConfigKind.LIMITS, name)
            if head is not None:
                ceiling = _read(head.body, SiteLimits, f"limits {name!r}")
                concurrency = min(concurrency, ceiling.concurrency or concurrency)
                rates.append(ceiling.rate)
        given = [rate for rate in rates if rate is not None]
        return Limits(concurrency, min(given, key=lambda rate: rate.per_s, default=None))

    async def _blocks(self, team: int) -> list[BlockList]:
        heads = await self._configs.heads(team, ConfigKind.BLOCK_LIST, limit=_PAGE)
        return [_read(head.body, BlockList, f"block list {head.name!r}") for head in heads]

    def _standing(
        self, site: int, identities: tuple[Identity, ...], opening: Opening, lookup: Lookup
    ) -> tuple[Session, ...]:
        """Sessions go on under a rule that opens them in the same way."""
        filled = tuple(
            [msgspec.structs.replace(each, headers=secrets.filled(each.headers, lookup)) for each in identities]
        )
        key = (site, msgspec.msgpack.encode((filled, opening)))
        known = self._sessions.pop(key, None) or tuple([Session(identity) for identity in filled])
        self._sessions[key] = known
        while len(self._sessions) > _KEPT:
            self._sessions.popitem(last=False)
        return known


def _step(step: LoginStep, lookup: Lookup) -> LoginStep:
    return msgspec.structs.replace(
        step,
        url=secrets.filled(step.url, lookup),
        form=secrets.filled(step.form, lookup),
        json=secrets.filled(step.json, lookup),
        headers=secrets.filled(step.headers, lookup),
    )


def _pairs(headers: Mapping[str, str]) -> Headers:
    return tuple(headers.items())


def _read(body: bytes, shape: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{what} can't be read by this release: {error}") from None
