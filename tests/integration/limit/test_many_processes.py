"""Processes that share a team's slots through Redis are killed, and Redis is flushed, killed and cut: by their own
diaries they never held more at once than the team may have."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from redis.asyncio import Redis

from perseid.ports.limit import Gate, GateKind
from perseid.ports.store import HostDefaults
from perseid.ports.teams import Team
from perseid.store.postgres.store import PgStore
from perseid.testing.brokers import RedisServer, through
from perseid.testing.link import Link
from perseid.testing.postgres import give_back, take_database, url_of

pytestmark = pytest.mark.slow

MOST = 7
_HOLDER = Path(__file__).with_name("holder.py")
_PHASE_S = 2.5


class Diary(NamedTuple):
    moments: list[tuple[float, int]]
    held: int
    """Permits."""


def _read(files: list[Path]) -> Diary:
    """When somebody began (+1) and ended (-1); who was killed ended before anything was written elsewhere after that."""
    moments: list[tuple[float, int]] = []
    held = 0
    for file in files:
        begun: dict[str, float] = {}
        last = 0.0
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) != 3:  # cut off in the middle
                continue
            name, sign, at = words[0], words[1], float(words[2])
            last = max(last, at)
            if sign == "+":
                begun[name] = at
                held += 1
                moments.append((at, 1))
            else:
                del begun[name]
                moments.append((at, -1))
        moments += [(last, -1)] * len(begun)
    return Diary(sorted(moments), held)


def _most_at_once(diary: Diary) -> int:
    now = most = 0
    for _at, change in diary.moments:
        now += change
        most = max(most, now)
    return most


async def test_no_more_are_held_at_once_whatever_dies(tmp_path: Path) -> None:
    database = await take_database()
    server = RedisServer(keep=True)
    await server.start()
    link = Link("127.0.0.1", server.port)
    await link.open()
    store = await PgStore.open(url_of(database), defaults=HostDefaults())
    holders: list[subprocess.Popen[bytes]] = []
    files: list[Path] = []
    try:
        team = await store.put_team(Team(id=0, name="few", max_active=MOST))
        gate = Gate(GateKind.TEAM, str(team.id))

        async def begin() -> None:
            worker = await store.register("here", 1 + len(files), 1)
            files.append(tmp_path / f"{len(files)}.log")
            words = [url_of(database), through(server.url, link.port), str(worker), gate.name, str(files[-1])]
            command = [sys.executable, str(_HOLDER), *words]
            holders.append(await asyncio.to_thread(subprocess.Popen, command))

        await begin()
        await begin()
        async with asyncio.timeout(30):
            while not all(file.exists() and file.stat().st_size for file in files):  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(0.05)
        await asyncio.sleep(_PHASE_S)
        async with Redis.from_url(server.url) as client:
            for _ in range(8):
                await client.flushall()
                await asyncio.sleep(_PHASE_S / 4)
        holders[0].kill()
        await begin()
        await asyncio.sleep(_PHASE_S)
        server.kill()
        await server.start()
        await asyncio.sleep(_PHASE_S)
        await link.cut()
        await asyncio.sleep(_PHASE_S)
        await link.mend()
        holders[1].kill()
        await asyncio.sleep(_PHASE_S)
        assert (await store.load(team.id)).active <= MOST
        assert await store.audit() == []
    finally:
        for holder in holders:
            holder.kill()
            await asyncio.to_thread(holder.wait)
        await store.close()
        await link.close()
        server.dispose()
        await give_back(database)
    diary = _read(files)
    assert diary.held > 50, "it was worth looking"
    assert MOST - 2 <= _most_at_once(diary) <= MOST
