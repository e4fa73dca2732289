from perseid.api.rate import RateLimiter


class Watch:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_worth_may_come_at_once_and_then_they_come_evenly() -> None:
    watch = Watch()
    limiter = RateLimiter(watch)
    waits = [limiter.take(1, 60) for _ in range(62)]
    assert waits[:60] == [0.0] * 60
    assert 0 < waits[60] <= 1.0
    watch.now += 1.0
    assert limiter.take(1, 60) == 0.0
    assert limiter.take(1, 60) > 0


def test_the_wait_told_is_the_wait_needed() -> None:
    watch = Watch()
    limiter = RateLimiter(watch)
    for _ in range(10):
        limiter.take(1, 10)
    wait_s = limiter.take(1, 10)
    watch.now += wait_s - 0.001
    assert limiter.take(1, 10) > 0
    watch.now += 0.002
    assert limiter.take(1, 10) == 0.0


def test_teams_have_buckets_of_their_own_and_no_limit_is_none() -> None:
    limiter = RateLimiter(Watch())
    assert [limiter.take(1, 1), limiter.take(1, 1) > 0, limiter.take(2, 1)] == [0.0, True, 0.0]
    assert all(limiter.take(3, None) == 0.0 for _ in range(1_000))
