"""Dates, prices and numbers of many languages: the table, and what holds for all values."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from babel import Locale
from babel.core import get_cldr_version
from babel.dates import format_date, format_datetime
from babel.numbers import format_currency
from hypothesis import given
from hypothesis import strategies as st

from perseid.dom.url import base_of
from perseid.model.rule import Field
from perseid.rules.normalise.date import Hints, read_date
from perseid.rules.normalise.number import Unreadable, read_number
from perseid.rules.normalise.price import read_price
from perseid.rules.normalise.text import lines, one_line
from perseid.rules.normalise.values import Context, normalised
from perseid.rules.normalise.words import all_words, months


def script(name: str) -> ModuleType:
    """One of the scripts in this folder that write data."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cldr_table, cldr_words = script("cldr_table"), script("cldr_words")
TABLE = [json.loads(line) for line in Path(__file__).with_name("normalisers.jsonl").read_text("utf-8").splitlines()]
CONTEXT = Context(None, "UTC", cldr_table.NOW, base_of("https://site.example/shop/list").join)


def read(kind: str, text: Any, **options: Any) -> Any:
    return normalised(Field(type=kind, **options), text, CONTEXT)  # type: ignore[arg-type]


def same(row: dict[str, Any]) -> bool:
    try:
        found = read(row["kind"], row["text"], language=row.get("language"))
    except Unreadable:
        return False
    wanted = row["expect"]
    if row["kind"] == "price":
        return found["currency"] == wanted["currency"] and Decimal(found["amount"]) == Decimal(wanted["amount"])
    return bool(found == wanted)


def test_the_table_is_large_and_says_its_sources() -> None:
    assert len(TABLE) >= 300
    assert all(row["source"] for row in TABLE)
    languages = Counter((row["language"] or "none").partition("-")[0] for row in TABLE)
    assert sum(count >= 10 for count in languages.values()) >= 10
    assert {row["kind"] for row in TABLE} == {"date", "datetime", "number", "price"}


def test_the_table_is_read_right() -> None:
    wrong = [row for row in TABLE if "known_failure" not in row and not same(row)]
    assert wrong == []


def test_known_failures_are_few_and_still_fail() -> None:
    known = [row for row in TABLE if "known_failure" in row]
    assert [row for row in known if same(row)] == [], "take the mark away"
    assert len(known) <= 0.02 * len(TABLE)


@pytest.mark.skipif(
    f"CLDR {get_cldr_version()} " not in all_words()["source"], reason="another CLDR than the one words.json is of"
)
def test_words_are_those_of_cldr() -> None:
    assert json.loads(cldr_words.TARGET.read_text("utf-8")) == json.loads(json.dumps(cldr_words.words()))


LOCALES = st.sampled_from(sorted(cldr_table.LOCALES))
DAYS = st.dates(date(1970, 1, 1), date(2068, 12, 31))


@given(DAYS, LOCALES, st.sampled_from(["medium", "long", "full"]))
def test_any_day_is_read_back(day: date, name: str, width: Any) -> None:
    text = format_date(day, width, locale=Locale.parse(name))
    assert read("date", text, language=name.replace("_", "-")) == day.isoformat()


@given(st.datetimes(datetime(1971, 1, 1), datetime(2060, 1, 1)), LOCALES)  # noqa: DTZ001  given a zone next
def test_any_instant_is_read_back(at: datetime, name: str) -> None:
    at = at.replace(microsecond=0, tzinfo=UTC)
    text = format_datetime(at, "long", tzinfo=UTC, locale=Locale.parse(name))
    assert read("datetime", text, language=name.replace("_", "-")) == at.isoformat().replace("+00:00", "Z")


@given(st.decimals(-(10**12), 10**12, places=2), LOCALES)
def test_any_number_is_read_back(number: Decimal, name: str) -> None:
    text = cldr_table.decimal(number, Locale.parse(name))
    assert read_number(text, language=name.replace("_", "-")) == number


@given(st.decimals(0, 10**9, places=2), LOCALES)
def test_any_price_is_read_back(amount: Decimal, name: str) -> None:
    locale, currency = Locale.parse(name), cldr_table.LOCALES[name]
    pattern = locale.currency_formats["standard"]
    text, english = (
        format_currency(amount, currency, locale=each, currency_digits=False, format=pattern) for each in (locale, "en")
    )
    text = cldr_table.quoted(text, english, locale)
    found = read_price(text, language=name.replace("_", "-"))
    assert found.currency == currency
    assert abs(found.amount - amount) < Decimal("0.01") or found.amount == amount.quantize(Decimal(1))


@given(st.text(max_size=300), st.sampled_from([None, "de", "en-US", "zh", "ar", "vi", "xx", "hi"]))
def test_no_text_is_too_strange(text: str, language: str | None) -> None:
    for kind in ("number", "integer", "price", "date", "datetime", "boolean", "url", "text", "lines"):
        try:
            value = read(kind, text, language=language)
        except Unreadable:
            continue
        json.dumps(value)


@given(st.text(alphabet="0123456789 .,'-–/:年月日tTzZ+€$kgjanmarst", max_size=120))
def test_no_text_of_figures_is_too_strange(text: str) -> None:
    for kind in ("number", "price", "date", "datetime"):
        with suppress(Unreadable):
            json.dumps(read(kind, text))


@pytest.mark.parametrize(
    ("text", "options", "number"),
    [
        ("1.234", {"language": "de"}, 1234),
        ("1.234", {"language": "en"}, 1.234),
        ("1.234", {}, 1.234),
        ("1,234", {}, 1234),
        ("1,234", {"decimal": ","}, 1.234),
        ("1.234.567", {}, 1234567),
        ("1'234.50", {}, 1234.5),
        ("12,34,567", {}, 1234567),
        ("٣٫٥", {}, 3.5),
        ("（３）", {}, -3),
        ("−5", {}, -5),
        ("5-10 days", {}, 5),
        ("1.2万", {}, 12000),
        ("8千", {}, 8000),
        ("3.5천 명", {}, 3500),
        ("3千克", {}, 3),
        ("4.5k views", {}, 4500),
        ("4 kg", {}, 4),
        ("1e3", {}, 1000),
        ("0,75", {}, 0.75),
        ("Rated 4.5 of 5", {}, 4.5),
        (7, {}, 7),
        (7.5, {}, 7.5),
    ],
)
def test_numbers(text: Any, options: dict[str, Any], number: float) -> None:
    assert read("number", text, **options) == number


@pytest.mark.parametrize("text", ["", "none", "½", "…"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(Unreadable):
        read("number", text)


def test_whole_numbers_have_no_fraction() -> None:
    assert read("integer", "1.234.567") == 1234567
    with pytest.raises(Unreadable, match="whole number"):
        read("integer", "1.5")


@pytest.mark.parametrize(
    ("text", "options", "amount", "currency"),
    [
        ("2 for $5", {}, "5", "USD"),
        ("$ 12.99 CAD", {}, "12.99", "CAD"),
        ("$5", {"currency": "AUD"}, "5", "AUD"),
        ("€5", {"currency": "USD"}, "5", "EUR"),
        ("99", {"currency": "USD"}, "99", "USD"),
        ("99", {}, "99", None),
        ("199,-", {"currency": "SEK"}, "199", "SEK"),
        ("1 299 kr", {"language": "da"}, "1299", "DKK"),
        ("¥1,200", {"language": "ja-JP"}, "1200", "JPY"),
        ("¥1,200", {"language": "zh-CN"}, "1200", "CNY"),
        ("¥1,200", {}, "1200", None),
        ("12€50", {}, "12.50", "EUR"),
        ("1.299 €", {}, "1299", "EUR"),
        ("NT$1,299", {}, "1299", "TWD"),
        (12.5, {"currency": "EUR"}, "12.5", "EUR"),
        (1e-7, {}, "0.0000001", None),
    ],
)
def test_prices(text: Any, options: dict[str, Any], amount: str, currency: str | None) -> None:
    assert read("price", text, **options) == {"amount": amount, "currency": currency}


@pytest.mark.parametrize("text", ["free", "Price on request", "€"])
def test_what_is_no_price(text: str) -> None:
    with pytest.raises(Unreadable, match="amount"):
        read("price", text)


@pytest.mark.parametrize(
    ("text", "options", "at"),
    [
        ("2024-03-05", {"timezone": "Europe/Berlin"}, "2024-03-04T23:00:00Z"),
        ("2024-03-05 14:30", {"timezone": "Europe/Berlin"}, "2024-03-05T13:30:00Z"),
        ("2024-07-05 14:30", {"timezone": "Europe/Berlin"}, "2024-07-05T12:30:00Z"),
        ("2024-03-05T14:30:00.123Z", {}, "2024-03-05T14:30:00.123000Z"),
        ("2024-03-05T24:00:00Z", {}, "2024-03-06T00:00:00Z"),
        ("March 5, 2024 at 3:07 PM EST", {}, "2024-03-05T20:07:00Z"),
        ("5 March 2024 10:00 GMT+2", {}, "2024-03-05T08:00:00Z"),
        ("05|03|2024 7h", {"formats": ("%d|%m|%Y %Hh",)}, "2024-03-05T07:00:00Z"),
        (1709632800, {}, "2024-03-05T10:00:00Z"),
        (1709632800000, {}, "2024-03-05T10:00:00Z"),
        ("令和6年3月5日 午後3時05分", {}, "2024-03-05T15:05:00Z"),
        ("民國113年3月5日", {}, "2024-03-05T00:00:00Z"),
        ("5 มีนาคม 2567", {"language": "th"}, "2024-03-05T00:00:00Z"),
        ("5/3/2024", {"order": "dmy"}, "2024-03-05T00:00:00Z"),
        ("3/5/2024", {"order": "mdy"}, "2024-03-05T00:00:00Z"),
        ("25/3/2024", {}, "2024-03-25T00:00:00Z"),
        ("5/5/2024", {}, "2024-05-05T00:00:00Z"),
        ("Mar 5 '24", {}, "2024-03-05T00:00:00Z"),
        ("vor 2 Tagen", {"language": "de"}, "2024-06-13T00:00:00Z"),
        ("yesterday", {}, "2024-06-14T00:00:00Z"),
        ("3小时前", {}, "2024-06-15T09:00:00Z"),
        ("an hour ago", {}, "2024-06-15T11:00:00Z"),
    ],
)
def test_instants(text: Any, options: dict[str, Any], at: str) -> None:
    assert read("datetime", text, **options) == at


def test_a_date_is_the_day_that_is_written() -> None:
    assert read("date", "2024-03-05T23:30:00+02:00") == "2024-03-05"
    assert read("date", "5 March 2024", timezone="Asia/Tokyo") == "2024-03-05"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3/4/2024", "two days"),
        ("5 March", "one day of one year"),
        ("30 February 2024", "one day of one year"),
        ("2024-02-30", "no such day"),
        ("soon", "no date"),
        ("12 of 14", "can be read"),
    ],
)
def test_what_is_no_date_is_not_guessed(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read("date", text)


def test_a_month_counts_from_the_last_day_at_most() -> None:
    now = datetime(2024, 3, 31, 12, tzinfo=UTC)
    assert read_date("1 month ago", Hints("en"), now).at.date() == date(2024, 2, 29)
    assert read_date("in 2 days", Hints("en"), now).at.date() == date(2024, 4, 2)
    assert read_date("1 year ago", Hints("en"), now + timedelta(days=1)).at.date() == date(2023, 4, 1)


def test_names_of_months_that_clash_are_known_in_their_language_only() -> None:
    assert months("hr")["listopada"] == 10
    assert months("pl")["listopada"] == 11
    assert "listopada" not in months(None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("Yes", True), ("是", True), ("https://schema.org/InStock", True), ("Nein", False), ("×", None), (True, True)],
)
def test_booleans(text: Any, value: bool | None) -> None:
    if value is None:
        with pytest.raises(Unreadable):
            read("boolean", text)
        assert read("boolean", text, no=("×",)) is False
    else:
        assert read("boolean", text) is value


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("../p/1?x=y#z", "https://site.example/p/1?x=y#z"),
        (" //cdn.example/a ", "https://cdn.example/a"),
        ("HTTPS://Site.Example", "https://site.example/"),
    ],
)
def test_addresses_are_absolute(text: str, url: str) -> None:
    assert read("url", text) == url


@pytest.mark.parametrize("text", ["mailto:a@b.c", "javascript:void(0)", "https://"])
def test_what_is_no_address_of_the_web(text: str) -> None:
    with pytest.raises(Unreadable):
        read("url", text)


def test_texts() -> None:
    assert one_line(" a\u00ad\u200b b\n\tc\u00a0d ") == "a b c d"
    assert lines(" a  b \n\n \n c ") == "a b\nc"
