"""A worker's identity: host, process and when that process began, so that a dead one can be told at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from perseid._version import __version__
from perseid.model.ids import WorkerId
from perseid.model.job import JobKind
from perseid.ports.store import Store, WorkerSeen


def host_identity() -> str:
    """Names the machine, its boot and the process namespace: pids mean nothing outside of them."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8])
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    except OSError:
        parts.append(str(os.uname().release))
    return "/".join(parts)


def process_started(pid: int) -> int:
    """When a process began, in the kernel's own unit; 0 where the system doesn't tell, -1 if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return -1
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return -1
        except PermissionError:
            return 0
        return 0
    except OSError:
        return 0
    fields = stat[stat.rindex(")") + 2 :].split()
    # A zombie has died already: only its parent has not looked yet.
    return -1 if fields[0] in "ZX" else int(fields[19])


async def enroll(store: Store, *, slots: int = 0, kinds: Sequence[JobKind] = tuple(JobKind)) -> WorkerId:
    """Register this process, and take over the leases of processes of this host that are no more.

    `slots` are the jobs it runs at once for whoever; without any it only runs what its own callers wait for.
    """
    await take_over_dead(store)
    pid = os.getpid()
    return await store.register(
        host_identity(), pid, process_started(pid), slots=slots, version=__version__, kinds=kinds
    )


async def take_over_dead(store: Store) -> int:
    """Return the leases of dead processes on this host to waiting, without the delay of a missed heartbeat."""
    dead = dead_here(await store.workers())
    return await store.reap(dead) if dead else 0


def dead_here(workers: Sequence[WorkerSeen]) -> list[WorkerId]:
    """Those whose process ran on this host and is no more."""
    here = host_identity()
    return [
        worker.id
        for worker in workers
        if worker.host == here and process_started(worker.pid) not in (0, worker.pid_started)
    ]
