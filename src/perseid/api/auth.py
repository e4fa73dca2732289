"""Who is asking: the team behind a bearer token. Until a key exists, everybody on loopback is the default team."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response

from perseid.api.errors import retry_after
from perseid.model.terms import DEFAULT_TEAM
from perseid.ports.limit import Limits
from perseid.ports.teams import Key, Team, Teams
from perseid.runtime.keys import digest

_REMEMBERED_S = 2.0
_TOUCHED_EVERY_S = 60.0
_MOST_REMEMBERED = 10_000


class Caller(NamedTuple):
    """`key` is None for a key of the settings, and where none is needed; `name` says what the key is for."""

    team: int
    key: int | None = None
    name: str = ""
    team_name: str = ""


class Gate:
    """Checks tokens. What the store says of a key is remembered for two seconds."""

    def __init__(self, teams: Teams, configured: tuple[str, ...], limits: Limits, *, open_to_all: bool) -> None:
        self._teams = teams
        self._limits = limits
        self._configured = [digest(key) for key in configured]
        self._open_to_all = open_to_all
        self._known: dict[bytes, tuple[float, Key | None]] = {}
        self._team_of: dict[int, tuple[float, Team]] = {}
        self._locked = bool(configured)
        self._looked_at = -_REMEMBERED_S
        self._looking = asyncio.Lock()
        self._touched: dict[int, float] = {}

    async def caller(self, token: str | None) -> Caller:
        """Raises `HTTPException` 401, or 429 when the team asks too often."""
        caller = await self._who(token)
        team = await self._team(caller.team)
        if team.requests_per_minute:
            await self._count(team.id, team.requests_per_minute)
        return caller._replace(team_name=team.name)

    async def _count(self, team: int, per_minute: int) -> None:
        """A minute's worth may come at once, then they come evenly."""
        wait_s = await self._limits.take(f"team:{team}", interval_s=60 / per_minute, burst=per_minute)
        if wait_s > 0:
            sentence = f"Rate limit exceeded: {per_minute} requests a minute; ask again in {wait_s:.0f} s"
            raise HTTPException(429, sentence, retry_after(wait_s))

    async def _who(self, token: str | None) -> Caller:
        if not await self._needs_key():
            return Caller(DEFAULT_TEAM)
        if token is None:
            raise HTTPException(401, "Unauthorized", {"WWW-Authenticate": "Bearer"})
        if not token:
            raise HTTPException(401, "Unauthorized: Token missing", {"WWW-Authenticate": "Bearer"})
        given = digest(token)
        # All are compared, so that the time taken tells nothing.
        if sum(hmac.compare_digest(given, known) for known in self._configured):
            return Caller(DEFAULT_TEAM)
        key = await self._key(given)
        if key is None or key.revoked_at is not None:
            raise HTTPException(
                401, "Unauthorized: Invalid token", {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            )
        await self._touch(key)
        return Caller(key.team, key.id, key.name)

    async def _needs_key(self) -> bool:
        if self._open_to_all:
            return False
        if self._is_to_look():
            # Whoever comes while somebody looks waits for what is seen: until then nobody knows of a lock.
            async with self._looking:
                if self._is_to_look():
                    began = time.monotonic()
                    # Once there was a key there is a lock, though all were revoked.
                    self._locked = bool(await self._teams.keys())
                    self._looked_at = began
        return self._locked

    def _is_to_look(self) -> bool:
        return not self._locked and time.monotonic() - self._looked_at >= _REMEMBERED_S

    async def _key(self, given: bytes) -> Key | None:
        now = time.monotonic()
        seen_at, key = self._known.get(given, (-_REMEMBERED_S, None))
        if now - seen_at >= _REMEMBERED_S:
            key = await self._teams.key(given)
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[given] = (now, key)
        return key

    async def _team(self, number: int) -> Team:
        now = time.monotonic()
        known = self._team_of.get(number)
        if known is None or now - known[0] >= _REMEMBERED_S:
            known = self._team_of[number] = (now, await self._teams.team(number))
        return known[1]

    async def _touch(self, key: Key) -> None:
        now = time.monotonic()
        if now - self._touched.get(key.id, -_TOUCHED_EVERY_S) >= _TOUCHED_EVERY_S:
            self._touched[key.id] = now
            await self._teams.touch_keys([(key.id, time.time_ns() // 1_000)])


def token_of(headers: Mapping[str, str]) -> str | None:
    """The second word of Authorization, whatever the first; None without the header, empty without the word."""
    header = headers.get("authorization")
    if header is None:
        return None
    _scheme, _, token = header.strip().partition(" ")
    return token.strip()


async def caller(request: Request) -> Caller:
    """Asked several times for one request, it is counted once."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is None:
        gate: Gate = request.app.state.gate
        known = request.state.caller = await gate.caller(token_of(request.headers))
    return known


class KeyFirst(APIRoute):
    """A route that looks for the key before it reads the body; by itself the framework does it the other way round."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            await caller(request)
            return await handler(request)

        return handle


async def ws_caller(connection: HTTPConnection) -> Caller:
    """A WebSocket client of a browser can set no header: its token is its sub-protocol."""
    gate: Gate = connection.app.state.gate
    token = token_of(connection.headers)
    if token is None:
        offered = connection.headers.get("sec-websocket-protocol", "")
        token = offered.partition(",")[0].strip() or None
    return await gate.caller(token)


Called = Annotated[Caller, Depends(caller)]
