"""Files on their way: sent in one step, turned into text in the next. They are kept in memory, and not for long."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from perseid.api.errors import retry_after
from perseid.api.firecrawl.errors import WireError

LIFETIME_S = 900.0
MOST_BYTES = 50 * 1024 * 1024
_MOST_BYTES_IN_ALL = 512 * 1024 * 1024
_MOST_PLACES = 1_000


@dataclass(slots=True)
class Upload:
    """A place that was asked for; `data` comes with the second step."""

    team: int
    filename: str
    content_type: str | None
    expires_at_s: float
    data: bytes | None = None


class Uploads:
    """All of one process. `now_s` is a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._places: dict[str, Upload] = {}

    def reserve(self, team: int, filename: str, content_type: str | None) -> str:
        """A reference, which is the right to upload. Raises `WireError` 429 when there is no room."""
        self._forget()
        if len(self._places) >= _MOST_PLACES:
            raise self._no_room()
        reference = secrets.token_urlsafe(24)
        self._places[reference] = Upload(team, filename, content_type, self._now_s() + LIFETIME_S)
        return reference

    def fill(self, reference: str, data: bytes) -> None:
        """Raises `WireError`: 404 for a place that nobody has, 409 for one that is taken, 413, 429."""
        place = self._place(reference)
        if place is None:
            raise WireError(404, "There is no such upload, or its time is over: ask for a new address")
        if place.data is not None:
            raise WireError(409, "Something was uploaded to this address before: ask for a new one")
        if len(data) > MOST_BYTES:
            raise WireError(413, f"A file may have {MOST_BYTES // 2**20} MB at most")
        if sum(len(each.data or b"") for each in self._places.values()) + len(data) > _MOST_BYTES_IN_ALL:
            raise self._no_room()
        place.data = data

    def take(self, team: int, reference: str) -> Upload:
        """What was uploaded, once. Raises `WireError` 404 where nothing was, or by somebody else."""
        place = self._place(reference)
        if place is None or place.team != team or place.data is None:
            raise WireError(404, "Nothing was uploaded under this reference, or its time is over")
        del self._places[reference]
        return place

    def _place(self, reference: str) -> Upload | None:
        self._forget()
        return self._places.get(reference)

    def _forget(self) -> None:
        now = self._now_s()
        self._places = {name: place for name, place in self._places.items() if place.expires_at_s > now}

    def _no_room(self) -> WireError:
        return WireError(429, "Too many uploads are on their way", headers=retry_after(LIFETIME_S / 10))
