"""The operator's first questions about a store, answered in one go."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import apsw
import msgspec

from perseid.model.crawl import CrawlStatus
from perseid.store.sqlite.connection import SAFE_SQLITE, file_system, sqlite_version
from perseid.worker.enroll import host_identity, process_started

if TYPE_CHECKING:
    from perseid.runtime.engine import Engine

_LOW_DISK_BYTES = 500 * 1024 * 1024
_LARGE_WAL_BYTES = 256 * 1024 * 1024


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; `advice` says what to do where `ok` is false."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


async def examine(engine: Engine) -> list[Check]:
    checks = [_sqlite(), _disk(engine), _wal(engine)]
    findings = await engine.store.audit()
    checks.append(
        Check(
            name="audit",
            ok=not findings,
            detail="counters agree with rows" if not findings else "; ".join(finding.what for finding in findings[:5]),
            advice="" if not findings else "this is a bug: please report it with the line above",
        )
    )
    checks.append(await _backlog(engine))
    checks.append(await _workers(engine))
    checks.append(await _hosts(engine))
    return checks


def _sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    return Check(
        name="sqlite",
        ok=sqlite_version() >= SAFE_SQLITE,
        detail=f"SQLite {version} (apsw {apsw.apsw_version()})",
        advice="" if sqlite_version() >= SAFE_SQLITE else "upgrade apsw: older releases can corrupt a shared database",
    )


def _disk(engine: Engine) -> Check:
    free = shutil.disk_usage(engine.folder).free
    kind = file_system(engine.folder) or "unknown file system"
    return Check(
        name="disk",
        ok=free >= _LOW_DISK_BYTES,
        detail=f"{free / 1e9:.1f} GB free on {kind}",
        advice="" if free >= _LOW_DISK_BYTES else "free some space: a full disk pauses the crawl (it loses nothing)",
    )


def _wal(engine: Engine) -> Check:
    wal = engine.store.path.with_name(engine.store.path.name + "-wal")
    size = wal.stat().st_size if wal.exists() else 0
    ok = size < _LARGE_WAL_BYTES
    return Check(
        name="write-ahead log",
        ok=ok,
        detail=f"{size / 1e6:.1f} MB",
        advice="" if ok else "a reader keeps a snapshot open: look for a process that has the database open",
    )


async def _backlog(engine: Engine) -> Check:
    running = [crawl for crawl in await engine.store.crawls(limit=1000) if crawl.status is CrawlStatus.SCRAPING]
    waiting = sum(crawl.counts.open for crawl in running)
    return Check(name="backlog", ok=True, detail=f"{len(running)} running crawls, {waiting:,} jobs that have not ended")


async def _workers(engine: Engine) -> Check:
    workers = await engine.store.workers()
    here = host_identity()
    dead = [w.pid for w in workers if w.host == here and process_started(w.pid) not in (0, w.pid_started)]
    return Check(
        name="workers",
        ok=not dead,
        detail=f"{len(workers)} registered" + (f", of which {len(dead)} are dead: {dead}" if dead else ""),
        advice="" if not dead else "the next worker that starts here takes their pages over",
    )


async def _hosts(engine: Engine) -> Check:
    hosts = await engine.store.hosts(limit=1000)
    strained = [f"{host.name} ({host.backoffs} back-offs)" for host in hosts if host.backoffs]
    return Check(
        name="throttling",
        ok=not strained,
        detail=f"{len(strained)} hosts ask us to slow down" + (f": {', '.join(strained[:5])}" if strained else ""),
        advice="" if not strained else "the crawl waits as they ask; a lower concurrency or a delay may help",
    )
