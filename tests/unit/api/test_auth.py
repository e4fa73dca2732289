import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from starlette.exceptions import HTTPException

from perseid.api.auth import Caller, Gate, token_of
from perseid.limit.memory import MemoryShelf
from perseid.limit.shelved import ShelvedLimits
from perseid.model.ids import WorkerId
from perseid.ports.limit import Blocks
from perseid.ports.teams import Key, Load, Team, Teams, Usage
from perseid.runtime.clock import SystemClock
from perseid.runtime.keys import digest, hint, new_key


class FewTeams:
    """Two teams and the keys it is given; counts how often it is asked for one."""

    def __init__(self, *keys: Key) -> None:
        self._keys = {key.digest: key for key in keys}
        self.asked = 0
        self.touched: list[int] = []

    async def team(self, team: int) -> Team:
        return Team(id=team, name=f"t{team}", requests_per_minute=2 if team == 2 else None)

    async def keys(self, team: int | None = None) -> list[Key]:
        return [key for key in self._keys.values() if team in (None, key.team)]

    async def key(self, digest: bytes) -> Key | None:
        self.asked += 1
        return self._keys.get(digest)

    async def touch_keys(self, used: Sequence[tuple[int, int]]) -> None:
        self.touched += [key for key, _at in used]

    async def put_team(self, team: Team) -> Team:
        raise NotImplementedError

    async def teams(self) -> list[Team]:
        raise NotImplementedError

    async def add_key(self, team: int, *, name: str, hint: str, digest: bytes) -> Key:
        raise NotImplementedError

    async def revoke(self, key: int) -> bool:
        raise NotImplementedError

    async def usage(self, team: int, *, periods: int = 12) -> list[Usage]:
        raise NotImplementedError

    async def load(self, team: int) -> Load:
        raise NotImplementedError


def _gate(teams: Teams, configured: tuple[str, ...], *, open_to_all: bool) -> Gate:
    clock = SystemClock()
    shelf = MemoryShelf(lambda: int(clock.monotonic_s() * 1_000_000))
    # Nobody asks for slots here, so nothing is leased.
    limits = ShelvedLimits("local", shelf, cast("Blocks", None), whose=lambda: WorkerId(1), clock=clock)
    return Gate(teams, configured, limits, open_to_all=open_to_all)


def _key(secret: str, number: int = 7, team: int = 2, *, revoked: bool = False) -> Key:
    return Key(number, team, "", hint(secret), digest(secret), 1, 2 if revoked else None, None)


async def _refusal(gate: Gate, token: str | None) -> HTTPException:
    with pytest.raises(HTTPException) as refused:
        await gate.caller(token)
    return refused.value


@pytest.mark.parametrize("token", [None, "", "fc-anything"])
async def test_without_any_key_everybody_is_the_default_team(token: str | None) -> None:
    assert await _gate(FewTeams(), (), open_to_all=False).caller(token) == Caller(1, team_name="t1")


class SlowTeams(FewTeams):
    async def keys(self, team: int | None = None) -> list[Key]:
        await asyncio.sleep(0.01)
        return await super().keys(team)


@pytest.mark.parametrize("token", [None, "", "fc-anything"])
async def test_nobody_gets_in_while_it_is_looked_whether_there_is_a_key(token: str | None) -> None:
    gate = _gate(SlowTeams(_key(new_key())), (), open_to_all=False)
    refused = await asyncio.gather(*[gate.caller(token) for _ in range(5)], return_exceptions=True)
    assert [each.status_code for each in refused if isinstance(each, HTTPException)] == [401] * 5


async def test_a_key_of_the_store_opens_for_its_team() -> None:
    secret = new_key()
    teams = FewTeams(_key(secret))
    gate = _gate(teams, (), open_to_all=False)
    assert await gate.caller(secret) == Caller(2, 7, team_name="t2")
    assert teams.touched == [7]


async def test_a_key_of_the_settings_opens_for_the_default_team() -> None:
    gate = _gate(FewTeams(), ("mine", "yours"), open_to_all=False)
    assert await gate.caller("yours") == Caller(1, team_name="t1")


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        (None, "Unauthorized"),
        ("", "Unauthorized: Token missing"),
        ("fc-wrong", "Unauthorized: Invalid token"),
        ("\udcff", "Unauthorized: Invalid token"),
    ],
)
async def test_what_is_no_key_is_refused(token: str | None, sentence: str) -> None:
    refused = await _refusal(_gate(FewTeams(_key(new_key())), (), open_to_all=False), token)
    assert (refused.status_code, refused.detail) == (401, sentence)
    assert "WWW-Authenticate" in (refused.headers or {})


async def test_a_revoked_key_is_refused_and_does_not_open_the_door_to_all() -> None:
    secret = new_key()
    gate = _gate(FewTeams(_key(secret, revoked=True)), (), open_to_all=False)
    assert (await _refusal(gate, secret)).status_code == 401
    assert (await _refusal(gate, None)).status_code == 401


async def test_the_store_is_not_asked_for_every_request() -> None:
    secret = new_key()
    teams = FewTeams(_key(secret, team=1))
    gate = _gate(teams, (), open_to_all=False)
    for _ in range(50):
        await gate.caller(secret)
    assert teams.asked == 1


async def test_a_team_that_asks_too_often_is_told_when_to_come_back() -> None:
    secret = new_key()
    gate = _gate(FewTeams(_key(secret)), (), open_to_all=False)
    await gate.caller(secret)
    await gate.caller(secret)
    refused = await _refusal(gate, secret)
    assert refused.status_code == 429
    assert int((refused.headers or {})["Retry-After"]) >= 1


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({}, None),
        ({"authorization": ""}, ""),
        ({"authorization": "Bearer"}, ""),
        ({"authorization": "Bearer fc-1"}, "fc-1"),
        ({"authorization": "whatever  fc-1 "}, "fc-1"),
    ],
)
def test_the_token_is_the_second_word(headers: dict[str, str], token: str | None) -> None:
    assert token_of(headers) == token
