"""Child processes for slow and hostile pages: one question each, with memory, CPU and time limits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

import msgspec

from perseid.content.pipeline import Failed
from perseid.model.verdict import FailureCode


class ChildLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one conversion may use."""

    memory_bytes: int = 1024 * 1024 * 1024
    cpu_s: int = 30
    wall_s: float = 45.0
    most_at_once: int = 2
    answer_bytes: int = 128 * 1024 * 1024


class Child:
    """Starts one process a question, and holds the slots for them of one event loop.

    The process is a module that reads the question from stdin, sets its own limits, and answers on stdout.
    """

    def __init__(self, module: str, limits: ChildLimits) -> None:
        self._module = module
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.most_at_once)

    async def ask(self, head: bytes, body: bytes, what: str) -> bytes | Failed:
        """The answer to one question; the process is gone when this returns, however it returns.

        `what` is converted, as messages name it.
        """
        async with self._slots:
            return await self._ask(head, body, what)

    async def _ask(self, head: bytes, body: bytes, what: str) -> bytes | Failed:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._limits.wall_s):
                return await self._exchange(process, head, body)
        except TimeoutError:
            seconds = f"{self._limits.wall_s:g}"
            return Failed(FailureCode.CONVERSION, f"Converting {what} took over {seconds} s.")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    async def _exchange(self, process: asyncio.subprocess.Process, head: bytes, body: bytes) -> bytes | Failed:
        reading = asyncio.create_task(self._read(process))
        try:
            await _feed(process, head, body)
            answer = await reading
        finally:
            reading.cancel()
        if answer is None:
            return Failed(FailureCode.CONVERSION, "The converted document is larger than allowed.")
        code = await process.wait()
        if code == 0:
            return answer
        return Failed(FailureCode.CONVERSION, _ending(code, self._limits))

    async def _read(self, process: asyncio.subprocess.Process) -> bytes | None:
        """All that the child writes, None as soon as it is too much."""
        if process.stdout is None:
            return b""
        parts = []
        size = 0
        while chunk := await process.stdout.read(1 << 20):
            size += len(chunk)
            if size > self._limits.answer_bytes:
                return None
            parts.append(chunk)
        return b"".join(parts)


async def _feed(process: asyncio.subprocess.Process, head: bytes, body: bytes) -> None:
    if process.stdin is None:
        return
    # A child that died of its limits stops reading; its exit code says the rest.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(head)
        process.stdin.write(body)
        await process.stdin.drain()
    process.stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await process.stdin.wait_closed()


def _environment() -> dict[str, str]:
    """Nothing of ours but the way to our own modules: settings and secrets stay here."""
    kept = {
        name: value for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT") if (value := os.environ.get(name))
    }
    return kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONDONTWRITEBYTECODE": "1"}


def _ending(code: int, limits: ChildLimits) -> str:
    if code == 3:
        return f"Converting needed more than {limits.memory_bytes >> 20} MB of memory."
    if code < 0:
        return f"The converter was stopped by signal {-code}: the document is broken or too large for its limits."
    return f"The converter ended with code {code}: the document is broken or too large for its limits."
