"""The operator's settings, as far as they stand in rows."""

from __future__ import annotations

from perseid.store.postgres.tx import PgTx

_OTHER = (
    "(interval <> $1 AND own_interval IS NULL) OR burst <> $2"
    " OR (max_active <> $3 AND gap = 0 AND shy = 0 AND private = 0 AND own_max IS NULL)"
)


async def take_settings(tx: PgTx) -> None:
    """The operator's rates and limits hold for hosts known from earlier, too."""
    wanted = (tx.defaults.interval_us, tx.defaults.burst, tx.defaults.max_active)
    if await tx.one(f"SELECT 1 FROM host WHERE {_OTHER} LIMIT 1", *wanted) is None:  # noqa: S608 - a constant
        return
    await tx.execute(
        f"WITH h AS (SELECT id FROM host WHERE {_OTHER} ORDER BY id FOR NO KEY UPDATE)"  # noqa: S608 - a constant
        " UPDATE host SET interval = coalesce(own_interval, $1), burst = $2, max_active = CASE"
        " WHEN gap > 0 OR shy = 1 THEN 1 WHEN own_max IS NOT NULL OR private = 1 THEN max_active ELSE $3 END"
        " FROM h WHERE host.id = h.id",
        *wanted,
    )
