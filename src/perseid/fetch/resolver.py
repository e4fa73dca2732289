"""Names to addresses, by the system's resolver in threads of our own: slow names hold up nobody else."""

from __future__ import annotations

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

TTL_S = 60.0
_ENTRIES = 4096
_THREADS = 32


class Found(NamedTuple):
    family: socket.AddressFamily
    address: str


class Resolver:
    """Answers are kept for a minute; the guard judges them at every use."""

    def __init__(
        self, *, ask: Callable[[str], list[Found]] | None = None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask or ask_system
        self._now_s = now_s
        self._threads: ThreadPoolExecutor | None = None
        self._known: dict[str, tuple[float, list[Found]]] = {}

    async def lookup(self, host: str) -> list[Found]:
        """All addresses in the system's order of preference. Raises `socket.gaierror`."""
        now = self._now_s()
        known = self._known.get(host)
        if known is not None and known[0] > now:
            return known[1]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="perseid-dns")
        found = await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, host)
        if len(self._known) >= _ENTRIES:
            self._known = {name: entry for name, entry in self._known.items() if entry[0] > now}
            if len(self._known) >= _ENTRIES:
                self._known.clear()
        self._known[host] = (now + TTL_S, found)
        return found

    async def close(self) -> None:
        self._known.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


def ask_system(host: str) -> list[Found]:
    """Block until the system has answered. Raises `socket.gaierror`, for what is no name too."""
    try:
        # As bytes, for the name is in ASCII already and must not pass through the IDNA codec again.
        name = host.encode("ascii")
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except (UnicodeError, ValueError):
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
    return list(dict.fromkeys(Found(info[0], str(info[4][0])) for info in infos))
