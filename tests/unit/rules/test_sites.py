"""Ten sites unlike each other, read by rules alone: five of them from stored pages of real sites."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from perseid.model.item import Extraction
from perseid.rules.loading import load_file
from perseid.rules.trying import Outcome, run_tests

SITES = Path(__file__).with_name("sites")
OWN = sorted(path for path in SITES.glob("*/rule.*"))
STORED = sorted((SITES / "stored").glob("*.yaml"))


@pytest.fixture
def tried(shared: Path, tmp_path: Path) -> Callable[[str], Outcome]:
    """The outcome of a rule's one test, on the stored page that it names."""

    def run(name: str) -> Outcome:
        rule = load_file(SITES / "stored" / f"{name}.yaml").rule
        for test in rule.tests:
            stored = shared / "data/extraction/wcxb/html" / f"{test.page}.gz"
            (tmp_path / test.page).write_bytes(gzip.decompress(stored.read_bytes()))
        (outcome,) = run_tests(rule, tmp_path)
        return outcome

    return run


def complete(found: Extraction) -> None:
    assert [problem for item in found.items for problem in item.problems if problem.fatal] == []
    assert len({item.key for item in found.items}) == len(found.items)


def test_there_are_ten_sites() -> None:
    assert len(OWN) == 5
    assert len(STORED) >= 5


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.parent.name)
def test_a_site_gives_what_its_rule_says(path: Path) -> None:
    loaded = load_file(path)
    assert loaded.warnings == ()
    outcomes = run_tests(loaded.rule, path.parent)
    assert [str(miss) for outcome in outcomes for miss in outcome.misses] == []
    for outcome in outcomes:
        complete(outcome.extraction)
        assert outcome.extraction.notes == ()


def test_news(tried: Callable[[str], Outcome]) -> None:
    outcome = tried("news")
    assert [str(miss) for miss in outcome.misses] == []
    complete(outcome.extraction)
    images = outcome.extraction.items[0].fields["images"]
    assert len(images) == 3
    assert all(image.startswith("https://www.scottishconstructionnow.com/storage/") for image in images)


def test_shop(tried: Callable[[str], Outcome]) -> None:
    outcome = tried("shop")
    assert [str(miss) for miss in outcome.misses] == []
    complete(outcome.extraction)


def test_catalogue_in_french(tried: Callable[[str], Outcome]) -> None:
    outcome = tried("catalogue")
    assert outcome.passed
    items = outcome.extraction.items
    complete(outcome.extraction)
    assert len(items) == 72
    by_key = {item.key: item.fields for item in items}
    assert by_key["9440"]["title"] == "Barbecue gaz Spirit EP-425 + Plancha - Weber"
    assert by_key["9440"]["price"] == {"amount": "749.00", "currency": "EUR"}
    assert by_key["9440"]["before"] == {"amount": "849.00", "currency": "EUR"}
    assert by_key["9616"]["price"] == {"amount": "1399.00", "currency": "EUR"}
    assert all(item.fields["price"]["currency"] == "EUR" for item in items)


def test_forum(tried: Callable[[str], Outcome]) -> None:
    outcome = tried("forum")
    assert outcome.passed
    items = outcome.extraction.items
    complete(outcome.extraction)
    assert len(items) == 20
    first = items[0].fields
    assert (items[0].key, first["author"], first["posted"]) == ("37290", "khixxx", "2007-07-09T20:33:19Z")
    assert first["text"].startswith("What is the most profitable electrical skill in the industry?")
    assert {item.fields["topic"] for item in items} == {"Most profitable electrical skill??"}
    assert items[3].fields["quotes"] == ["Jeff Weissman Electric"]


def test_wiki(tried: Callable[[str], Outcome]) -> None:
    outcome = tried("wiki")
    assert outcome.passed
    items = outcome.extraction.items
    complete(outcome.extraction)
    years = {item.key: item.fields for item in items}
    assert list(years)[:2] == ["1901", "1902"]
    assert len(years) >= 120
    assert years["1901"]["physics"] == ["Wilhelm Röntgen"]
    assert years["1901"]["peace"] == ["Henry Dunant", "Frédéric Passy"]
    assert years["1903"]["physics"] == ["Henri Becquerel", "Pierre Curie", "Marie Curie"]
    assert years["1969"]["economics"] == ["Ragnar Frisch", "Jan Tinbergen"]


def test_pagination(tried: Callable[[str], Outcome]) -> None:
    outcome = tried("pagination")
    assert outcome.passed
    items = outcome.extraction.items
    complete(outcome.extraction)
    assert len(items) == 24
    assert items[0].fields == {
        "number": "90214308",
        "name": "MICKE",
        "description": 'Desk, white, 55 7/8x19 5/8 "',
        "price": {"amount": "99.99", "currency": "USD"},
        "price_written": 99.99,
        "reviews": 2219,
        "link": "https://www.ikea.com/us/en/p/micke-desk-white-90214308/",
    }
    for item in items:
        assert float(item.fields["price"]["amount"]) == item.fields["price_written"]
    assert sum(item.fields["reviews"] == 0 for item in items) == 1
