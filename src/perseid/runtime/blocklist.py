"""The operator's list of hosts never to be fetched: settings and a file that is read again when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perseid.errors import ConfigError


class BlockList:
    """One host a line; `#` begins a comment; `*.example.org` covers sub-domains."""

    def __init__(self, path: str, hosts: Sequence[str]) -> None:
        self._path = Path(path) if path else None
        self._hosts = tuple(hosts)
        self._read_at = 0
        self._entries: tuple[str, ...] = ()
        self.entries()

    def entries(self) -> Sequence[str]:
        """Raises `ConfigError` when the file can't be read: fetching what should be blocked is worse."""
        if self._path is None:
            return self._hosts
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._read_at:
                text = self._path.read_text(encoding="utf-8")
                lines = (line.partition("#")[0].strip() for line in text.splitlines())
                self._entries = (*self._hosts, *(line for line in lines if line))
                self._read_at = changed
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"the block list {self._path} can't be read ({error}); see politeness.block_list"
            ) from error
        return self._entries
