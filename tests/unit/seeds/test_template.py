"""Templates of addresses: what they stand for, position by position, and what is wrong with broken ones."""

from __future__ import annotations

import tracemalloc
from datetime import date

import pytest

from perseid.seeds.template import Addresses, BadTemplate, addresses, day_of, filled

TODAY = date(2025, 3, 5)


def made(url: str, since: str | None = None, until: str | None = None, **values: tuple[str, ...]) -> Addresses:
    return addresses(url, tuple(values.items()), since, until, TODAY)


def test_the_last_placeholder_changes_fastest() -> None:
    found = made("/{kind}/{page:1..2}", kind=("a", "b"))
    assert list(found) == ["/a/1", "/a/2", "/b/1", "/b/2"]
    assert (found[2], found[-1], found[1:3]) == ("/b/1", "/b/2", ["/a/2", "/b/1"])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/{p:0..20..10}", ["/0", "/10", "/20"]),
        ("/{p:1..10..4}", ["/1", "/5", "/9"]),
        ("/{p:3..1}", ["/3", "/2", "/1"]),
        ("/{p:08..10}", ["/08", "/09", "/10"]),
        ("/{p:5..5}", ["/5"]),
        ("/{{x}}/{p:1..1}", ["/{x}/1"]),
        ("/{p:1..2}?again={p:1..2}", ["/1?again=1", "/2?again=2"]),
        ("/none", ["/none"]),
    ],
)
def test_numbers(url: str, expected: list[str]) -> None:
    assert list(made(url)) == expected


def test_values_are_encoded_for_an_address() -> None:
    assert list(made("/{k}", k=("a b/c", "鞋子"))) == ["/a%20b%2Fc", "/%E9%9E%8B%E5%AD%90"]
    assert list(made("/?q={k:gbk}&raw={k:raw}", k=("鞋",))) == ["/?q=%D0%AC&raw=鞋"]


def test_days_from_the_first_to_the_last() -> None:
    assert list(made("/{date:%Y-%m-%d}", "2025-02-27", "2025-03-01")) == ["/2025-02-27", "/2025-02-28", "/2025-03-01"]
    assert list(made("/{d:%Y/%m/%d}", "today-1")) == ["/2025/03/04", "/2025/03/05"]
    assert list(made("/{d:%Y}/{d:%d%m}", "2024-12-31", "2025-01-01")) == ["/2024/3112", "/2025/0101"]


def test_months_and_years_come_once_each() -> None:
    assert list(made("/{d:%Y-%m}", "2024-11-15", "2025-01-02")) == ["/2024-11", "/2024-12", "/2025-01"]
    assert list(made("/{d:%Y}", "2023-11-15", "today")) == ["/2023", "/2024", "/2025"]


def test_a_million_are_made_one_by_one_in_constant_memory() -> None:
    found = made("https://x.example/{k}/{page:1..1000}?d={date:%Y-%m-%d}", "2023-01-01", "2025-09-26", k=("a",))
    assert len(found) == 1_000_000
    assert found[999_999] == "https://x.example/a/1000?d=2025-09-26"
    tracemalloc.start()
    seen = 0
    for at in range(0, len(found), 50_000):
        seen += len(found[at : at + 500])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == 10_000
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("/{a}", "there are no values for {a}"),
        ("/{a", "the brace at position 1 has no partner"),
        ("/a}", "the brace at position 2 has no partner"),
        ("/{a:1...3}", "there are no values for {a}"),
        ("/{a:1..3..0}", "in steps of 0"),
        ("/{a:1..3}/{a:1..4}", "counts in two ways"),
        ("/{d:%Y}", "needs a first day"),
        ("/{a:1..100000}/{b:1..100000}", "more than 100,000,000"),
    ],
)
def test_a_broken_template_is_refused(url: str, said: str) -> None:
    with pytest.raises(BadTemplate) as raised:
        made(url)
    assert said in str(raised.value)


def test_values_and_days_that_nothing_uses_are_refused() -> None:
    with pytest.raises(BadTemplate, match=r"no placeholder \{b\}"):
        made("/{a:1..2}", b=("x",))
    with pytest.raises(BadTemplate, match="no placeholder such as"):
        made("/{a:1..2}", "today")
    with pytest.raises(BadTemplate, match="before the first"):
        made("/{d:%Y}", "today", "today-1")
    with pytest.raises(BadTemplate, match="neither `raw`, nor an encoding"):
        made("/{a:rot99}", a=("x",))


def test_days_in_words() -> None:
    assert day_of("today - 5", TODAY) == date(2025, 2, 28)
    for text in ("yesterday", "2025-02-30", "today+1", ""):
        with pytest.raises(BadTemplate):
            day_of(text, TODAY)


def test_a_row_fills_a_template_or_not() -> None:
    assert filled("https://x.example/{id}?n={name}", {"id": 5, "name": "a b"}) == "https://x.example/5?n=a%20b"
    assert filled("{url:raw}#x", {"url": "https://x.example/a?b"}) == "https://x.example/a?b#x"
    assert filled("/{id}", {"id": None}) is None
    assert filled("/{id}", {"other": 1}) is None
