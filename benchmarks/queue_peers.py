"""Jobs a second and CPU per job of Perseid's queue and of five others, in one run: enqueued, and processed ten at once.

    python -m benchmarks.queue_peers [--scale 1.0] [--only pgqueuer,perseid] [--repeats 1] [--json FILE]

Each job calls an async task function that does nothing but count. Others are installed into a folder of their own
(`--cache`), the Python ones by pip and BullMQ by npm. One process enqueues (one job a call with ten calls under way,
then 500 a call where there is such a call) and processes. Client CPU is that of this process; server CPU is that of the
database's backends for these connections (without its checkpointer and writers) or of the private Redis. Both are read
from /proc while all of them still live, so the servers have to run here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg

from perseid.testing.brokers import RedisServer, own_vhost
from perseid.testing.child import cpu_s, descendants
from perseid.testing.postgres import give_back, take_database, url_of

HERE = Path(__file__).parent / "peers_queue"
CACHE = Path("~/.cache/perseid-bench/queue-peers").expanduser()
VENVS = {
    "py": ("procrastinate", "pgqueuer", "asyncpg", "arq", "psycopg[binary,pool]"),
    "py-taskiq": ("taskiq", "taskiq-redis"),
}
"""arq wants an older client of Redis than taskiq."""
ACTS = ("enqueue one", "enqueue 500", "process")
ONES = 1_000
"""Enqueued one a call, where there is another way for the rest: enough for connections to be warm."""


class Case(NamedTuple):
    """One queue on one server. `jobs` is for `--scale 1`."""

    name: str
    server: str
    script: str
    jobs: int
    durability: str
    acknowledged: str
    words: tuple[str, ...] = ()


ON, OFF, EVERYSEC = "commit on", "commit off", "everysec"
_STEP = "with the loop's steps"
CASES = (
    Case("perseid", "postgresql", "perseid_jobs.py", 10_000, OFF, _STEP, ("worker",)),
    Case("perseid, bound to a crawl", "postgresql", "perseid_jobs.py", 10_000, OFF, _STEP, ("bound",)),
    Case("perseid, single", "postgresql", "perseid_jobs.py", 1_000, OFF, "one by one", ("single",)),
    Case("procrastinate", "postgresql", "procrastinate_jobs.py", 600, OFF, "one by one"),
    Case("pgqueuer", "postgresql", "pgqueuer_jobs.py", 3_000, OFF, "buffered"),
    Case("perseid", "postgresql", "perseid_jobs.py", 10_000, ON, _STEP, ("worker", "--synced")),
    Case("perseid, bound to a crawl", "postgresql", "perseid_jobs.py", 10_000, ON, _STEP, ("bound", "--synced")),
    Case("perseid, single", "postgresql", "perseid_jobs.py", 500, ON, "one by one", ("single", "--synced")),
    Case("procrastinate", "postgresql", "procrastinate_jobs.py", 300, ON, "one by one"),
    Case("pgqueuer", "postgresql", "pgqueuer_jobs.py", 1_500, ON, "buffered"),
    Case("perseid over RabbitMQ", "postgresql", "perseid_jobs.py", 5_000, OFF, _STEP, ("worker", "--delivery", "amqp")),
    Case("perseid over Redis", "postgresql", "perseid_jobs.py", 5_000, OFF, _STEP, ("worker", "--delivery", "redis")),
    Case("perseid", "sqlite", "perseid_jobs.py", 10_000, "WAL, normal", _STEP, ("worker",)),
    Case("perseid, bound to a crawl", "sqlite", "perseid_jobs.py", 10_000, "WAL, normal", _STEP, ("bound",)),
    Case("perseid", "sqlite", "perseid_jobs.py", 10_000, "WAL, full", _STEP, ("worker", "--synced")),
    Case("arq", "redis", "arq_jobs.py", 2_000, EVERYSEC, "one by one"),
    Case("taskiq", "redis", "taskiq_jobs.py", 3_000, EVERYSEC, "one by one"),
    Case("BullMQ", "redis", "bullmq_jobs.mjs", 10_000, EVERYSEC, "one by one, with the next claim"),
)


class Row(NamedTuple):
    name: str
    server: str
    durability: str
    acknowledged: str
    act: str
    jobs: int
    per_s: float
    client_us: float
    server_us: float


def set_up(cache: Path) -> None:
    """What is missing; both installers keep to this folder."""
    for name, packages in VENVS.items():
        if not (done := cache / name / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", str(cache / name)], check=True)
            subprocess.run([str(cache / name / "bin/pip"), "install", "--quiet", *packages], check=True)
            done.touch()
    node = cache / "node"
    if shutil.which("node") and shutil.which("npm") and not (node / "node_modules" / "bullmq").exists():
        node.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund", "bullmq", "ioredis"], cwd=node, check=True
        )


def versions(cache: Path) -> list[str]:
    found = []
    for venv, packages in VENVS.items():
        names = [words.partition("[")[0] for words in packages]
        ask = f"from importlib.metadata import version\nfor name in {names!r}: print(name, version(name))"
        found += subprocess.run(
            [str(cache / venv / "bin/python"), "-c", ask], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    package = cache / "node/node_modules/bullmq/package.json"
    return [*found, f"bullmq {json.loads(package.read_text())['version']}"] if package.exists() else found


@contextmanager
def place(case: Case) -> Iterator[tuple[str, RedisServer | None, str | None]]:
    """The words for its script, a Redis of its own, and the database that it uses."""
    redis = RedisServer("--appendfsync", "everysec", keep=True) if "redis" in (case.server, *case.words) else None
    if redis is not None:
        asyncio.run(redis.start())
    try:
        if case.server == "postgresql":
            name = asyncio.run(database(case))
            try:
                yield url_of(name), redis, url_of(name, admin=True)
            finally:
                asyncio.run(drop(name))
        elif case.server == "sqlite":
            with tempfile.TemporaryDirectory(prefix="perseid-queue-") as folder:
                yield folder, None, None
        else:
            assert redis is not None
            yield str(redis.port), redis, None
    finally:
        if redis is not None:
            redis.dispose()


async def database(case: Case) -> str:
    name = await take_database()
    connection = await asyncpg.connect(url_of(name, admin=True))
    await connection.execute(
        f"ALTER DATABASE {name} SET synchronous_commit = {'on' if case.durability == ON else 'off'}"
    )
    await connection.close()
    return name


async def drop(name: str) -> None:
    """Others' tables are gone with it: what is given back must be Perseid's own or empty."""
    connection = await asyncpg.connect(url_of(name, admin=True))
    await connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION perseid_test")
    await connection.execute(f"ALTER DATABASE {name} RESET ALL")
    await connection.close()
    await give_back(name)


def server_pids(redis: RedisServer | None, url: str | None) -> list[int]:
    pids = [] if redis is None else [redis.pid]
    return pids if url is None else [*pids, *asyncio.run(_backends(url))]


async def _backends(url: str) -> list[int]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    await connection.close()
    return [pid for (pid,) in rows]


def run(case: Case, jobs: int, cache: Path) -> list[Row]:
    with place(case) as (where, redis, url):
        words = [url_for(word, redis) for word in case.words]
        ours, node = case.script.startswith("perseid"), case.script.endswith(".mjs")
        venv = "py-taskiq" if case.script == "taskiq_jobs.py" else "py"
        program = "node" if node else sys.executable if ours else str(cache / venv / "bin/python")
        process = subprocess.Popen(
            [program, str(HERE / case.script), where, *map(str, how_many(case, jobs)), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cache / "node" if node else None,
            env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "") if ours else ""},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        rows: list[Row] = []
        try:
            _ready(process.stdout, case)
            for act, some in acts(case, jobs).items():
                servers = {pid: cpu_s(pid) for pid in server_pids(redis, url)}
                client, began = sum(map(cpu_s, descendants(process.pid))), time.perf_counter()
                process.stdin.write("\n")
                process.stdin.flush()
                _ready(process.stdout, case)
                took = time.perf_counter() - began
                spent = sum(map(cpu_s, descendants(process.pid))) - client
                served = sum(cpu_s(pid) - servers.get(pid, 0.0) for pid in server_pids(redis, url))
                costs = (some / took, spent / some * 1e6, served / some * 1e6)
                rows.append(Row(case.name, case.server, case.durability, case.acknowledged, act, some, *costs))
            process.communicate("\n", timeout=60)
            if process.returncode:
                raise SystemExit(f"{case.name} on {case.server} ended with {process.returncode}; it said why above")
        finally:
            process.kill()
            process.wait()
        return rows


def how_many(case: Case, jobs: int) -> tuple[int, int]:
    """Enqueued one a call, and 500 a call."""
    return (jobs, 0) if case.script in ("arq_jobs.py", "taskiq_jobs.py") else (min(jobs, ONES), jobs)


def acts(case: Case, jobs: int) -> dict[str, int]:
    ones, bulk = how_many(case, jobs)
    return dict(zip(ACTS, (ones, bulk, ones + bulk), strict=True)) if bulk else {ACTS[0]: ones, ACTS[2]: ones}


def url_for(word: str, redis: RedisServer | None) -> str:
    if word == "amqp":
        return own_vhost()
    if word == "redis":
        assert redis is not None
        return redis.url
    return word


def _ready(stdout: Any, case: Case) -> None:
    while (line := stdout.readline()) != "ready\n":
        if not line:
            raise SystemExit(f"{case.name} on {case.server} ended; what it said is above")


def table(rows: list[Row]) -> None:
    print("| queue | server | durability | acknowledged | | jobs | jobs/s | client µs | server µs | both |")
    print("|---|---|---|---|---|---:|---:|---:|---:|---:|")
    for row in rows:
        print(
            f"| {row.name} | {row.server} | {row.durability} | {row.acknowledged} | {row.act} | {row.jobs:,} |"
            f" {row.per_s:,.0f} | {row.client_us:,.0f} | {row.server_us:,.0f} | {row.client_us + row.server_us:,.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="times the jobs")
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--repeats", type=int, default=1, help="rounds over all queues, in turns; the best is shown")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    set_up(asked.cache)
    print(f"{', '.join(versions(asked.cache))}; load {os.getloadavg()[0]:.1f} at the start")
    wanted = [case for case in CASES if any(part in case.name for part in asked.only.split(","))]
    if not shutil.which("node"):
        print("no node: BullMQ is left out")
        wanted = [case for case in wanted if not case.script.endswith(".mjs")]
    best: dict[tuple[str, ...], Row] = {}
    for _ in range(asked.repeats):
        for case in wanted:
            for row in run(case, max(10, int(case.jobs * asked.scale)), asked.cache):
                key = (row.name, row.server, row.durability, row.act)
                if key not in best or row.per_s > best[key].per_s:
                    best[key] = row
            table([row for key, row in best.items() if key[:3] == (case.name, case.server, case.durability)])
    print(f"\nload {os.getloadavg()[0]:.1f} at the end\n")
    table(list(best.values()))
    if asked.json:
        asked.json.write_text(json.dumps([row._asdict() for row in best.values()], indent=1))


if __name__ == "__main__":
    main()
