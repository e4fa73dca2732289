"""The filter in front of what was collected: it never denies what was added, and rarely allows what was not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from perseid.seeds.bloom import Bloom


def keys(n: int, of: str) -> Iterator[bytes]:
    return (hashlib.sha256(f"{of}{number}".encode()).digest() for number in range(n))


def rate(bloom: Bloom, n: int = 40_000) -> float:
    return sum(bloom.sift(list(keys(n, "never")))) / n


def test_what_was_added_is_never_denied() -> None:
    bloom = Bloom()
    bloom.update(keys(30_000, "added"))
    assert all(bloom.sift(list(keys(30_000, "added"))))


def test_of_what_was_never_added_three_in_a_thousand_are_allowed() -> None:
    bloom = Bloom(50_000)
    bloom.update(keys(50_000, "added"))
    assert 0.0022 < rate(bloom) < 0.0038
    assert not bloom.crowded


def test_fifteen_bits_an_element() -> None:
    assert Bloom(80_000).size == 80_000 * 15 / 8


def test_filled_anew_when_it_is_crowded_it_stays_exact_while_it_grows() -> None:
    bloom, added, worst = Bloom(), 0, 0.0
    for key in keys(40_000, "added"):
        bloom.add(key)
        added += 1
        if bloom.crowded:
            worst = max(worst, rate(bloom, 20_000))
            bloom = Bloom(2 * added)
            bloom.update(keys(added, "added"))
    assert worst < 0.0055
    assert rate(bloom) < 0.0038
    assert len(bloom) > 0.99 * added


def test_adding_again_changes_nothing() -> None:
    bloom = Bloom()
    for _ in range(3):
        bloom.update(keys(500, "added"))
    assert len(bloom) <= 500
