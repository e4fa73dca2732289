"""When a process has done enough: by the jobs it ran, or by the memory it holds, it finishes and is replaced."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from perseid.config.settings import WorkerSettings
from perseid.ports.telemetry import Run, Trouble
from perseid.ports.work import Lease
from perseid.worker.stop import Stop

_LOOK_S = 0.5
LEAST_LIFE_S = 30.0
"""A process is not replaced for its memory before: with a bound below what it needs it would only ever begin."""
_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Memory this process holds now; where the system doesn't tell, the most it ever held."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class Wear:
    """A `Telemetry` that counts runs. Processes started together reach their bounds one after the other."""

    def __init__(self, settings: WorkerSettings, *, least_life_s: float = LEAST_LIFE_S) -> None:
        early = os.getpid() % 16 / 160  # up to a tenth
        self._most_runs = int(settings.max_pages * (1 - early)) or settings.max_pages
        self._most_bytes = settings.max_memory_mb * 1024 * 1024
        self._memory_from = time.monotonic() + least_life_s
        self.runs = 0

    @property
    def bounded(self) -> bool:
        return self._most_runs > 0 or self._most_bytes > 0

    def reason(self) -> str:
        """Why it is enough, for people; empty while it is not."""
        if 0 < self._most_runs <= self.runs:
            return f"it ran {self.runs:,} jobs (worker.max_pages)"
        if self._most_bytes > 0 and time.monotonic() >= self._memory_from:
            held = resident_bytes()
            if held > self._most_bytes:
                return f"it holds {held / 1e6:,.0f} MB (worker.max_memory_mb)"
        return ""

    async def until_enough(self, stop: Stop) -> str:
        """The reason; empty where a stop was asked for before."""
        while not await stop.sleep(_LOOK_S):
            if why := self.reason():
                return why
        return ""

    def job_finished(self, run: Run) -> None:  # noqa: ARG002 - each counts the same
        self.runs += 1

    def internal_error(self, lease: Lease, error: BaseException) -> None:
        """Counted as a run by `job_finished`, if it was one."""

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        """Costs no wear of its own."""

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        """Costs no wear of its own."""

    def trouble(self, event: Trouble, message: str) -> None:
        """The log has it."""
