"""What a process remembers of what it wrote, so that it need not ask for it again."""

from __future__ import annotations

from perseid.store.seen import SeenKeys


class Memory:
    """Good for as long as its connections are.

    Steps are not synced: a server that crashes, or hands over to another, forgets the last of them. Who had to connect
    anew therefore knows nothing any more; a link believed to be there would be a page lost. Behind a pooler nobody is
    told that the server was another one meanwhile, and so nothing is remembered.
    """

    def __init__(self, *, keeps: bool = True) -> None:
        self.keeps = keeps
        self.connected = 0
        """How often a connection was made."""
        bound = {} if keeps else {"bound": 0}
        self.seen = SeenKeys(**bound)
        self.refused = SeenKeys(**bound)
        self.hosts: dict[str, int] = {}
        """Numbers of hosts by name; a host is never deleted."""

    def connect(self) -> None:
        """A connection was made: what was committed by those before it may be gone."""
        self.connected += 1
        self.seen.clear()
        self.refused.clear()
        self.hosts = {}
