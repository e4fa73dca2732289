"""What an operator should know of the server: version, connections, old snapshots, rows that wait for the vacuum."""

from __future__ import annotations

from perseid.ports.truth import Check
from perseid.store.reading.rows import Rows

_FULL = 0.8
_OLD_SNAPSHOT_S = 600
_DEAD_ROWS = 500_000
_DEAD_SHARE = 0.5


async def checks(rows: Rows) -> list[Check]:
    return [await _server(rows), await _connections(rows), await _snapshots(rows), await _vacuum(rows)]


async def _server(rows: Rows) -> Check:
    ((version, size, schema, standby, sync),) = await rows.all(
        "SELECT current_setting('server_version'), pg_size_pretty(pg_database_size(current_database())),"
        " (SELECT max(version) FROM perseid_schema), pg_is_in_recovery(), current_setting('fsync')"
    )
    wrong = ["it is a standby, which takes no writes"] if standby else []
    wrong += ["fsync is off: a power cut loses the store"] if sync == "off" else []
    return Check(
        name="postgresql",
        ok=not wrong,
        detail=f"PostgreSQL {version}, {rows.place}, {size}, schema {schema}" + "".join(f"; {what}" for what in wrong),
        advice="" if not wrong else "name the primary in store.url, and leave fsync on",
    )


async def _connections(rows: Rows) -> Check:
    ((used, most, ours),) = await rows.all(
        "SELECT count(*), current_setting('max_connections')::int,"
        " count(*) FILTER (WHERE application_name = 'perseid') FROM pg_stat_activity"
        " WHERE backend_type = 'client backend'"
    )
    ok = used < _FULL * most
    return Check(
        name="connections",
        ok=ok,
        detail=f"{used} of {most} are taken, {ours} by Perseid",
        advice="" if ok else "lower store.connections, raise max_connections, or put a pooler between (?pooled=1)",
    )


async def _snapshots(rows: Rows) -> Check:
    found = await rows.all(
        "SELECT pid, application_name, extract(epoch FROM now() - xact_start)::bigint FROM pg_stat_activity"
        " WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()"
        " AND now() - xact_start > make_interval(secs => $1) ORDER BY xact_start LIMIT 3",
        float(_OLD_SNAPSHOT_S),
    )
    told = ", ".join(f"pid {pid} ({name or 'unnamed'}, {age:,} s)" for pid, name, age in found)
    return Check(
        name="old snapshots",
        ok=not found,
        detail=told or "none",
        advice="" if not found else "rows that are gone can't be cleared while it is open: end that transaction",
    )


async def _vacuum(rows: Rows) -> Check:
    found = await rows.all(
        "SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables"
        " WHERE n_dead_tup > $1 AND n_dead_tup > $2 * n_live_tup ORDER BY n_dead_tup DESC LIMIT 3",
        _DEAD_ROWS,
        _DEAD_SHARE,
    )
    told = ", ".join(f"{name}: {dead:,} dead beside {live:,}" for name, dead, live in found)
    ((on,),) = await rows.all("SELECT current_setting('autovacuum')")
    ok = not found and on == "on"
    return Check(
        name="vacuum",
        ok=ok,
        detail=(told or "keeps up") + ("" if on == "on" else "; autovacuum is off"),
        advice=""
        if ok
        else "turn autovacuum on, give it more room (autovacuum_vacuum_cost_limit), look for old snapshots",
    )
