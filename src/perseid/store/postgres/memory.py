"""What a process remembers of what it wrote, so that it need not ask for it again."""

from __future__ import annotations

from perseid.store import seen
from perseid.store.postgres.nature import Nature

_NATURES = 10_000
_MOSTLY = 0.5
_WEIGHT = 0.2
"""Of the newest answer in a moving average."""


class Memory(seen.Memory):
    """Good for as long as its connections are.

    Steps are not synced: a server that crashes, or hands over to another, forgets the last of them. Who had to connect
    anew therefore knows nothing any more; a link believed to be there would be a page lost. Behind a pooler nobody is
    told that the server was another one meanwhile, and so nothing is remembered.
    """

    def __init__(self, *, keeps: bool = True) -> None:
        super().__init__(**({} if keeps else {"bound": 0}))
        self.keeps = keeps
        self.connected = 0
        """How often a connection was made."""
        self.hosts: dict[str, int] = {}
        """Numbers of hosts by name; a host is never deleted."""
        self.natures: dict[int, Nature] = {}
        """Of crawls whose pages were finished here."""
        self._others = 0.0

    def connect(self) -> None:
        """A connection was made: what was committed by those before it may be gone."""
        self.connected += 1
        self.clear()
        self.hosts = {}

    def know(self, nature: Nature) -> None:
        if len(self.natures) >= _NATURES:
            self.natures.clear()
        self.natures[nature.crawl] = nature

    @property
    def others_are_ahead(self) -> bool:
        """Most links that were new here of late had been brought in by others."""
        return self.keeps and self._others >= _MOSTLY

    def note_others(self, known: int, of: int) -> None:
        """So many of the links that were new here were there."""
        self._others += _WEIGHT * (known / of - self._others)
