"""From what a source says to addresses that can be asked for."""

from __future__ import annotations

from collections.abc import Iterable

from perseid.dom import url as urls
from perseid.seeds.expansion import MAX_NOTES

MAX_LENGTH = 16_384
"""Characters of an address; no server takes more."""


def usable(text: str) -> str | None:
    """The address as WHATWG URL writes it, without fragment; None where nobody could ask for it by HTTP."""
    found = urls.parse(text) if len(text) <= MAX_LENGTH else None
    return found.href.partition("#")[0] if found is not None and found.is_web and found.host else None


class Gathering:
    """Addresses of a step, with what was left out and why."""

    def __init__(self, base: str | None = None) -> None:
        self._base = urls.Base(base) if base else None
        self.urls: list[str] = []
        self.skipped = 0
        self._notes: list[str] = []

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def take(self, written: str | None, where: str = "") -> None:
        """An address, relative to the base where there is one; `where` it stands is for people."""
        text = (written or "").strip()
        joined = self._base.join(text) if self._base is not None and text else text
        url = usable(joined) if joined else None
        if url is None:
            self.skip(f"{where}{': ' if where else ''}{text[:100]!r} is no address of the web")
        else:
            self.urls.append(url)

    def take_all(self, written: Iterable[str]) -> None:
        for each in written:
            self.take(each)

    def skip(self, note: str) -> None:
        self.skipped += 1
        self.note(note)

    def note(self, note: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes.append(note)
