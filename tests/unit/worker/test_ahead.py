from __future__ import annotations

import pytest

from perseid.worker.loop import LoopOptions


@pytest.mark.parametrize(
    ("finished", "seconds", "ahead"),
    [(1, 10.0, 16), (0, 0.0, 16), (16, 0.1, 16), (60, 0.1, 60), (100, 0.05, 128), (1, 0.0, 100)],
)
def test_fast_pages_are_claimed_further_ahead_within_bounds(finished, seconds, ahead):
    assert LoopOptions(concurrency=16, ahead_s=0.1).ahead(finished, seconds) == ahead
