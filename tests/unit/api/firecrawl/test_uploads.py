"""Files on their way: whose they are, how long they stay, and how many there may be."""

from __future__ import annotations

import pytest

from perseid.api.firecrawl import uploads
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.uploads import LIFETIME_S, Uploads


class Clock:
    at_s = 0.0

    def __call__(self) -> float:
        return self.at_s


def refused(status: int):
    return pytest.raises(WireError, check=lambda error: error.status == status)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def places(clock: Clock) -> Uploads:
    return Uploads(clock)


def test_what_was_uploaded_is_taken_once(places: Uploads) -> None:
    reference = places.reserve(1, "a.pdf", None)
    places.fill(reference, b"x")
    assert places.take(1, reference).data == b"x"
    with refused(404):
        places.take(1, reference)


def test_nobody_takes_what_another_team_uploaded(places: Uploads) -> None:
    reference = places.reserve(1, "a.pdf", None)
    places.fill(reference, b"x")
    with refused(404):
        places.take(2, reference)


def test_nothing_is_taken_before_it_is_there(places: Uploads) -> None:
    with refused(404):
        places.take(1, places.reserve(1, "a.pdf", None))


def test_a_place_is_filled_once(places: Uploads) -> None:
    reference = places.reserve(1, "a.pdf", None)
    places.fill(reference, b"x")
    with refused(409):
        places.fill(reference, b"y")


def test_a_place_is_given_up_when_its_time_is_over(places: Uploads, clock: Clock) -> None:
    reference = places.reserve(1, "a.pdf", None)
    clock.at_s = LIFETIME_S
    with refused(404):
        places.fill(reference, b"x")


def test_a_file_may_be_so_large(places: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 3)
    with refused(413):
        places.fill(places.reserve(1, "a.pdf", None), b"1234")


def test_there_is_room_for_so_many(places: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_MOST_PLACES", 1)
    places.reserve(1, "a.pdf", None)
    with refused(429):
        places.reserve(1, "b.pdf", None)
