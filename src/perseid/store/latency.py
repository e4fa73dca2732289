"""How long tasks took, in few numbers: a histogram whose buckets grow by a ninth of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log2

_PER_OCTAVE = 6
_MOST = 36 * _PER_OCTAVE
"""A day and more: what took longer counts as that."""


def bucket_of(us: int) -> int:
    """The bucket of a duration in µs; each is up to 12 % longer than the one before."""
    return min(_MOST, max(0, ceil(log2(us) * _PER_OCTAVE))) if us > 1 else 0


def quantile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """What `share` of the durations did not exceed, to within half a bucket; None of no durations at all."""
    total = sum(counts.values())
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= share * total:
            return float(round(2 ** ((bucket - 0.5) / _PER_OCTAVE) / 1_000, 3)) if bucket else 0.001
    return None
