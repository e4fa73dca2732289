"""What steps of an expansion may ask, over answers that a test lays down."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from perseid.errors import SourceFailed
from perseid.model.seed import Payload
from perseid.ports.fetch import Response
from perseid.ports.source import Chunk, Query, Rows
from perseid.seeds.expanding import Expander
from perseid.seeds.expansion import MAX_URLS, Stepped
from perseid.source.folders import NamedFolders
from perseid.source.tables import NamedTables


class World:
    """`Asks`, with all that was asked."""

    def __init__(self, folder: Path) -> None:
        self.today = date(2025, 3, 5)
        self.answers: dict[str, Response] = {}
        self.asked: list[str] = []
        self.folder = folder
        self._tables = NamedTables({"db": f"sqlite://{folder}/shop.db"})
        self._folders = NamedFolders({"in": str(folder)})

    def lay(
        self,
        url: str,
        body: str | bytes,
        *,
        status: int = 200,
        kind: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        found = {"content-type": kind, **(headers or {})} if kind else dict(headers or {})
        data = body.encode() if isinstance(body, str) else body
        self.answers[url] = Response(url=url, status=status, headers=tuple(found.items()), body=data)

    async def fetch(self, url: str) -> Response:
        self.asked.append(url)
        if url not in self.answers:
            raise SourceFailed(f"{url} can't be reached", retryable=True)
        return self.answers[url]

    async def rows(self, query: Query) -> Rows:
        return await self._tables.rows(query)

    async def read(self, folder: str, file: str, *, offset: int, size: int) -> Chunk:
        return await self._folders.read(folder, file, offset=offset, size=size)


class Run:
    """All steps of an expansion, each process of its own where `forgetful`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.steps: list[Stepped] = []

    async def of(self, payload: Payload, *, forgetful: bool = False, most: int = 1_000) -> list[str]:
        expander, cursor = Expander(), None
        self.steps = []
        for _ in range(most):
            asked = len(self.world.asked)
            step = await (Expander() if forgetful else expander).step(payload, cursor, self.world)
            assert len(step.urls) <= MAX_URLS
            assert len(self.world.asked) - asked <= 1
            self.steps.append(step)
            cursor = step.cursor
            if cursor is None:
                return self.urls
        raise AssertionError(f"no end after {most} steps")

    @property
    def urls(self) -> list[str]:
        return [url for step in self.steps for url in step.urls]

    @property
    def skipped(self) -> int:
        return sum(step.skipped for step in self.steps)

    @property
    def notes(self) -> list[str]:
        return [note for step in self.steps for note in step.notes]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def run(world: World) -> Run:
    return Run(world)
