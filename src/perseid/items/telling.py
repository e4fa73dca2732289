"""Whoever should know is told of alarms: the log, the metrics, and the operator's receiver."""

from __future__ import annotations

import msgspec

from perseid.items.alarms import said
from perseid.ports.clock import Clock
from perseid.ports.hook import Delivery, Hook
from perseid.ports.items import Alarm, Items
from perseid.ports.telemetry import Telemetry

_LEASE_US = 60_000_000
"""What could not be told is tried again after this, by whichever process."""
_GIVE_UP_US = 86_400_000_000


class AlarmEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver is sent, as JSON. `type` is `alarm.raised` or `alarm.cleared`; `at` and `cleared_at` are µs."""

    type: str
    id: int
    team: int
    site: str
    rule_version: int
    field: str
    rate: float
    n: int
    paused: bool
    at: int
    cleared_at: int | None
    message: str


class Teller:
    """Tells each event at least once; one process has it at a time. Without `hook` or `url` nobody outside is told."""

    def __init__(
        self, items: Items, *, clock: Clock, telemetry: Telemetry, hook: Hook | None = None, url: str = ""
    ) -> None:
        self._items = items
        self._clock = clock
        self._telemetry = telemetry
        self._hook = hook
        self._url = url
        self._logged: set[tuple[int, int | None]] = set()

    async def round(self) -> None:
        """Tell what is to be told. Raises `StoreError`."""
        for alarm in await self._items.take_news(lease_us=_LEASE_US):
            key = (alarm.id, alarm.cleared_at)
            if key not in self._logged:
                self._log(alarm)
                self._logged.add(key)
            if await self._received(alarm):
                await self._items.told(alarm)
                self._logged.discard(key)

    def _log(self, alarm: Alarm) -> None:
        message = f"{alarm.site}: {said(alarm)}"
        if alarm.cleared_at is not None:
            self._telemetry.trouble("alarm.cleared", f"{message}: no more")
        else:
            paused = "; the site is paused until somebody resumes it" if alarm.paused else ""
            self._telemetry.trouble("alarm.raised", message + paused)

    async def _received(self, alarm: Alarm) -> bool:
        """True too where it would be no use to try again."""
        if self._hook is None or not self._url:
            return True
        cleared = alarm.cleared_at is not None
        event = AlarmEvent(
            type="alarm.cleared" if cleared else "alarm.raised",
            id=alarm.id,
            team=alarm.team,
            site=alarm.site,
            rule_version=alarm.rule_version,
            field=alarm.field,
            rate=alarm.rate,
            n=alarm.n,
            paused=alarm.paused,
            at=alarm.at,
            cleared_at=alarm.cleared_at,
            message=said(alarm),
        )
        reception = await self._hook.post(Delivery(self._url, {}, msgspec.json.encode(event), trusted=True))
        if reception.accepted:
            return True
        late = self._clock.now_us() - (alarm.cleared_at or alarm.at) > _GIVE_UP_US
        given_up = reception.hopeless or late
        self._telemetry.trouble(
            "webhook.given_up" if given_up else "webhook.unreachable", f"the receiver of alarms: {reception.error}"
        )
        return given_up
