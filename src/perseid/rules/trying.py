"""Runs a rule against its saved pages, and two versions of a rule against the same pages."""

from __future__ import annotations

import mimetypes
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from perseid.errors import ConfigError
from perseid.model.item import Extraction
from perseid.rules.extracting import extract
from perseid.rules.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from perseid.model.rule import PageKind, PageTest, Rule

MAX_BYTES = 50_000_000


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as expected; `path` is such as `items[0].price`."""

    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.path}: expected {_shown(self.expected)}, found {_shown(self.found)}"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one saved page gave."""

    page: str
    url: str
    extraction: Extraction
    misses: tuple[Miss, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.misses


class ItemChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What another version of a rule makes of one page: fields by path, with what each version reads."""

    url: str
    fields: dict[str, tuple[Any, Any]] = {}
    lost: int = 0
    """Items that only the older version finds."""
    gained: int = 0
    broken: int = 0
    """Items that were sound and no longer are."""
    mended: int = 0


def run_tests(rule: Rule, folder: Path) -> list[Outcome]:
    """All tests of the rule, in order; pages lie in `folder`. Raises ConfigError where a page can't be read."""
    return [run_test(rule, test, folder) for test in rule.tests]


def run_test(rule: Rule, test: PageTest, folder: Path) -> Outcome:
    page = saved_page(rule, test, folder)
    found = extract(rule, page, test.kind)
    return Outcome(page=test.page, url=page.url, extraction=found, misses=tuple(_misses(test, found)))


def saved_page(rule: Rule, test: PageTest, folder: Path) -> Page:
    """The page of a test. Raises ConfigError where it can't be read, or lies outside of the folder."""
    path = folder / test.page
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"the page {test.page!r} lies outside of {str(folder)!r}; put it beside the rule")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"the page {test.page!r} is larger than {MAX_BYTES} bytes")
        body = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the page {str(path)!r} can't be read: {error.strerror}") from error
    kind = test.content_type or mimetypes.guess_type(test.page)[0]
    at = None if test.fetched_at is None else datetime.fromisoformat(test.fetched_at).astimezone()
    url = test.url or f"https://{rule.site_id.lower().replace('_', '-')}.example/{path.name}"
    return Page(url, body, headers=test.headers, content_type=kind, fetched_at=at)


def compare(before: Rule, after: Rule, pages: Iterable[tuple[Page, PageKind | None]]) -> Iterator[ItemChange]:
    """What changes on each page, for those where something does; items are known by their keys, or places."""
    for page, kind in pages:
        change = _compared(page.url, extract(before, page, kind), extract(after, page, kind))
        if change.fields or change.lost or change.gained or change.broken or change.mended:
            yield change


def _compared(url: str, old: Extraction, new: Extraction) -> ItemChange:
    olds, news = _keyed(old), _keyed(new)
    if len(old.items) == len(new.items) and not set(olds) & set(news):
        olds, news = dict(enumerate(old.items)), dict(enumerate(new.items))  # the key itself was changed
    fields: dict[str, tuple[Any, Any]] = {}
    broken = mended = 0
    both = [key for key in olds if key in news]
    for key in both:
        one, other = olds[key], news[key]
        broken += one.sound and not other.sound
        mended += other.sound and not one.sound
        for name in {**one.fields, **other.fields}:
            if one.fields.get(name) != other.fields.get(name):
                path = f"{key}.{name}" if len(old.items) > 1 or len(new.items) > 1 else name
                fields[path] = one.fields.get(name), other.fields.get(name)
    return ItemChange(
        url=url, fields=fields, lost=len(olds) - len(both), gained=len(news) - len(both), broken=broken, mended=mended
    )


def _keyed(found: Extraction) -> dict[Any, Any]:
    return {item.key or f"#{at}": item for at, item in enumerate(found.items)}


def _misses(test: PageTest, found: Extraction) -> Iterator[Miss]:
    if test.expect is not None:
        if len(test.expect) != len(found.items):
            yield Miss(path="items", expected=len(test.expect), found=len(found.items))
        for at, (wanted, item) in enumerate(zip(test.expect, found.items, strict=False)):
            for name, value in wanted.items():
                if not _same(value, item.fields.get(name)):
                    yield Miss(path=f"items[{at}].{name}", expected=value, found=item.fields.get(name))
    if test.follow is not None:
        urls = [each.url for each in found.follow if each.list_page == 1]
        if list(test.follow) != urls:
            yield Miss(path="follow", expected=list(test.follow), found=urls)
    if test.next is not None:
        following = next((each.url for each in found.follow if each.list_page > 1), None)
        if following != test.next:
            yield Miss(path="next", expected=test.next, found=following)


def _same(wanted: Any, found: Any) -> bool:
    """Equal, and of one kind; of an object only the named members are compared."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(_same(value, found.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(map(_same, wanted, found))
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}…"
