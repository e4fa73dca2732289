"""Finds where in the file something stands that was found to make no sense, and complains there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.rules.tree import Branch, Listing, Mapping, Path, Place

if TYPE_CHECKING:
    from perseid.rules.complaint import Complaints


class Places:
    """A part of the document, whether it is written there or not: what isn't, stands where its nearest parent does."""

    def __init__(self, complaints: Complaints, branch: Branch | None, place: Place, path: Path = ()) -> None:
        self._complaints = complaints
        self._branch = branch
        self._place = place
        self._path = path

    def below(self, *parts: str | int) -> Places:
        """The part at that path below this one."""
        here = self
        for part in parts:
            here = here._step(part)
        return here

    def error(self, message: str) -> None:
        self._complaints.error(self._path, self._place, message)

    def warn(self, message: str) -> None:
        self._complaints.warn(self._path, self._place, message)

    def _step(self, part: str | int) -> Places:
        branch: Branch | None = None
        if isinstance(self._branch, Mapping) and isinstance(part, str):
            branch = self._branch.members.get(part)
        elif isinstance(self._branch, Listing) and isinstance(part, int) and part < len(self._branch.members):
            branch = self._branch.members[part]
        place = self._place if branch is None else branch.place
        return Places(self._complaints, branch, place, (*self._path, part))
