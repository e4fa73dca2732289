"""Blocks of slots that are handed out beside the database, and buckets of those who ask too often."""

from __future__ import annotations

from collections.abc import Mapping

from perseid.model.ids import WorkerId
from perseid.ports.limit import Block, Gate, GateKind
from perseid.store.postgres.base import PgBase
from perseid.store.postgres.start import know_team
from perseid.store.postgres.tx import PgTx


class PgBlocks(PgBase):
    """The part of the store that leases slots in blocks."""

    async def lease_block(self, worker: WorkerId, gate: Gate, want: int, *, lease_us: int) -> Block | None:
        if gate.kind is GateKind.HOST:

            async def of_host(tx: PgTx, hosts: Mapping[str, int]) -> Block | None:
                row = await tx.one(
                    "SELECT * FROM lease_host_block_v1($1, $2, $3, $4, $5, $6)",
                    worker, hosts[gate.name], want, lease_us, tx.now, tx.settings,
                )  # fmt: skip
                return None if row is None else Block(row[0], row[1], row[2])

            return await self._write_at((gate.name,), of_host)
        team = int(gate.name)

        async def of_team(tx: PgTx) -> Block | None:
            await know_team(tx, team)
            row = await tx.one(
                "SELECT * FROM lease_team_block_v1($1, $2, $3, $4, $5)", worker, team, want, lease_us, tx.now
            )
            return None if row is None else Block(row[0], row[1], once=False)

        return await self._write(of_team)

    async def keep_block(self, block: int, size: int, *, lease_us: int) -> bool:
        async def work(tx: PgTx) -> bool:
            freed = int(await tx.value("SELECT keep_block_v1($1, $2, $3, $4)", block, size, lease_us, tx.now))
            tx.stirred = freed > 0
            return freed >= 0

        return await self._write(work)

    async def _reap_blocks(self) -> None:
        async def work(tx: PgTx) -> None:
            tx.stirred = int(await tx.value("SELECT reap_blocks_v1($1)", tx.now)) > 0

        await self._write(work)

    async def take_token(self, key: str, interval_us: int, burst: int, *, empty_for_us: int | None = None) -> int:
        # By default it has been empty for so long that it is full again.
        empty_for = burst * interval_us if empty_for_us is None else empty_for_us

        async def work(tx: PgTx) -> int:
            return int(
                await tx.value("SELECT take_token_v1($1, $2, $3, $4, $5)", key, interval_us, burst, empty_for, tx.now)
            )

        return await self._write(work)
