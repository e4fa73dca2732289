"""When too many items of a site lack a field, its rule has probably broken: an alarm says so once, and may pause it."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import msgspec

from perseid.model.rule import Alert, Rule
from perseid.ports.clock import Clock
from perseid.ports.configs import ConfigKind, Configs, Version
from perseid.ports.items import Alarm, FieldRate, Items
from perseid.ports.seeds import Seeds, SiteRow
from perseid.ports.teams import Teams

_PAGE = 500
_LATE_US = 600_000_000
"""So long after its fetch a page may yet be written down, and be noticed."""
_MOST_OPEN = 10_000


class _Watched(NamedTuple):
    """A rule with alerts, as far as they are concerned."""

    team: int
    site: str
    version: int
    alerts: tuple[Alert, ...]
    core: tuple[str, ...]

    def fields(self, alert: Alert) -> tuple[str, ...]:
        return self.core if alert.field == "*" else (alert.field,)

    def alerts_of(self, field: str) -> list[Alert]:
        return [alert for alert in self.alerts if field in self.fields(alert)]


class _Trip(NamedTuple):
    rate: float
    n: int
    pause: bool


class Watch:
    """One a process; several see the same and raise each alarm once."""

    def __init__(self, items: Items, seeds: Seeds, configs: Configs, teams: Teams, *, clock: Clock) -> None:
        self._items = items
        self._seeds = seeds
        self._configs = configs
        self._teams = teams
        self._clock = clock
        self._changed: int | None = None
        self._looked_at = 0
        self._judge_all = True
        self._rules: list[_Watched] = []

    async def round(self) -> None:
        """Look at sites whose rules have alerts, where pages were fetched or an alarm is open. Raises `StoreError`."""
        await self._catch_up()
        now = self._clock.now_us()
        active = None if self._judge_all else set(await self._items.watched_sites(since=self._looked_at - _LATE_US))
        opened: dict[tuple[int, str], list[Alarm]] = defaultdict(list)
        for team in await self._teams.teams():
            for alarm in await self._items.alarms(team.id, limit=_MOST_OPEN):
                opened[alarm.team, alarm.site].append(alarm)
        sites = await self._sites()
        for watched in self._rules:
            row = sites.get((watched.team, watched.site))
            mine = opened.pop((watched.team, watched.site), [])
            if row is not None and (active is None or mine or row.id in active):
                await self._look(watched, row, mine)
        for nobodys in opened.values():  # no rule asks for them any more
            for alarm in nobodys:
                await self._items.clear_alarm(alarm.id)
        self._looked_at, self._judge_all = now, False

    async def _sites(self) -> dict[tuple[int, str], SiteRow]:
        """All sites of the teams whose rules are watched."""
        found: dict[tuple[int, str], SiteRow] = {}
        for team in sorted({watched.team for watched in self._rules}):
            after = ""
            while rows := await self._seeds.sites(team, after=after, limit=_PAGE):
                found.update({(row.team, row.name): row for row in rows})
                after = rows[-1].name
        return found

    async def _catch_up(self) -> None:
        """Know the rules with alerts as they are published now."""
        changed = await self._configs.changed()
        if changed == self._changed:
            return
        rules = []
        for team in await self._teams.teams():
            after = ""
            while heads := await self._configs.heads(team.id, ConfigKind.RULE, after=after, limit=_PAGE):
                rules += [watched for head in heads if (watched := _watched(head)) is not None]
                after = heads[-1].name
        self._rules, self._changed, self._judge_all = rules, changed, True

    async def _look(self, watched: _Watched, row: SiteRow, opened: list[Alarm]) -> None:
        rates = _Rates(self._items, row.id, watched.version)
        trips, sound = await self._judge(watched, rates)
        for alarm in opened:
            if alarm.rule_version < watched.version:
                over = await _mended(watched, alarm, rates)
            else:
                over = alarm.field in sound
            if over or not watched.alerts_of(alarm.field):
                await self._items.clear_alarm(alarm.id)
        current = {alarm.field: alarm for alarm in opened if alarm.rule_version == watched.version}
        for field, trip in trips.items():
            await self._raise(watched, row, field, trip, current.get(field))

    async def _judge(self, watched: _Watched, rates: _Rates) -> tuple[dict[str, _Trip], set[str]]:
        """Which fields are lacking, and which are seen often enough and are not."""
        now = self._clock.now_us()
        trips: dict[str, _Trip] = {}
        sound: set[str] = set()
        for alert in watched.alerts:
            for field in watched.fields(alert):
                rate = await rates.of(field, since=now - _us(alert.window_s))
                if rate.n < alert.min_items:
                    continue
                if _lacking(rate, alert):
                    pause = alert.pause or (field in trips and trips[field].pause)
                    trips[field] = _Trip(rate.empty / rate.n, rate.n, pause)
                else:
                    sound.add(field)
        return trips, sound - trips.keys()

    async def _raise(self, watched: _Watched, row: SiteRow, field: str, trip: _Trip, raised: Alarm | None) -> None:
        if raised is not None:
            if raised.paused or not trip.pause:
                return
            await self._items.clear_alarm(raised.id)  # it has become worse
        alarm = Alarm(
            id=0,
            team=watched.team,
            site=watched.site,
            rule_version=watched.version,
            field=field,
            rate=trip.rate,
            n=trip.n,
            at=self._clock.now_us(),
            paused=trip.pause,
        )
        if trip.pause and not row.paused:
            await self._seeds.pause_site(row.id, said(alarm))
        await self._items.raise_alarm(row.id, alarm)


class _Rates:
    """What a site's items lack under one version; read once for each span of time."""

    def __init__(self, items: Items, site: int, version: int) -> None:
        self._items = items
        self._site = site
        self._version = version
        self._known: dict[int, dict[str, FieldRate]] = {}

    async def of(self, field: str, *, since: int) -> FieldRate:
        if since not in self._known:
            found = await self._items.field_rates(self._site, since=since)
            self._known[since] = {rate.field: rate for rate in found if rate.rule_version == self._version}
        return self._known[since].get(field) or FieldRate(self._version, field, 0, 0)


async def _mended(watched: _Watched, alarm: Alarm, rates: _Rates) -> bool:
    """A newer version reads the field, on new pages or on those that were read again."""
    for alert in watched.alerts_of(alarm.field):
        rate = await rates.of(alarm.field, since=alarm.at - _us(alert.window_s))
        if rate.n < min(alert.min_items, alarm.n) or _lacking(rate, alert):
            return False
    return True


def _lacking(rate: FieldRate, alert: Alert) -> bool:
    return rate.empty >= alert.empty_rate * rate.n


def _us(seconds: float) -> int:
    return int(seconds * 1_000_000)


def said(alarm: Alarm) -> str:
    """For people, in a sentence."""
    return f"{alarm.rate:.0%} of {alarm.n:,} items lack {alarm.field!r} under version {alarm.rule_version} of the rule"


def _watched(head: Version) -> _Watched | None:
    """None without alerts, or where this release can't read it: tasks say so."""
    try:
        rule = msgspec.json.decode(head.body, type=Rule)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    if not rule.alerts:
        return None
    core = tuple(name for name, field in rule.fields.items() if field.required)
    return _Watched(head.team, head.name, head.version, rule.alerts, core)
