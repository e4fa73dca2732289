"""From what a rule finds on a page to what is written down of it: items for the sinks, items that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from perseid.model.item import Item, Problem
from perseid.ports.items import FieldSeen, Harvest, NewException, NewItem
from perseid.rules import regexes
from perseid.rules.regexes import Overrun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.model.item import Extraction
    from perseid.model.rule import PageKind, Rule
    from perseid.ports.items import KeptPage


_NOTHING = Item(
    key="", fields={}, problems=(Problem(field="*", kind="missing", message="the page holds no item", fatal=True),)
)
_NOWHERE = Item(
    key="",
    fields={},
    problems=(Problem(field="follow", kind="missing", message="the list leads to no page", fatal=True),),
)


class Origin(NamedTuple):
    """Where a page comes from, and by what it was read. `fetched_at` is µs."""

    team: int
    site: int
    version: int
    """Of the rule."""
    seed: str
    url: str
    """Of the task."""
    found_at: str
    """Where the page was, after redirects."""
    kind: PageKind
    fetched_at: int
    list_page: int = 1
    """Its number in its list."""


def harvest(
    rule: Rule, found: Extraction, origin: Origin, *, page: KeptPage | None = None, key: bytes = b""
) -> Harvest:
    """What the store is to be given. `page` is to be kept; with `key` the page counts as collected.

    A page that should hold items and holds none is an exception itself, and counts as one item without any field: what
    is wrong is most likely the rule. So is a list that should lead to pages and leads to none. A list's later pages may
    be empty: that is how it ends.
    """
    lost = _lost(rule, found, origin)
    items = found.items if lost is None or origin.list_page > 1 else (lost,)
    return Harvest(
        team=origin.team,
        site=origin.site,
        rule_version=origin.version,
        url=origin.url,
        fetched_at=origin.fetched_at,
        seed=origin.seed,
        page=page,
        key=key,
        items=[NewItem(item.key, orjson.dumps(item.fields)) for item in found.items if item.sound],
        exceptions=[_exception(item) for item in items if not item.sound],
        sinks=rule.sinks,
        seen=_seen(rule, items),
        empty=lost is not None,
    )


def _lost(rule: Rule, found: Extraction, origin: Origin) -> Item | None:
    """What stands for all that the page should have given, where it gave nothing."""
    if found.items:
        return None
    if expects_items(rule, origin.kind, origin.found_at):
        return _NOTHING
    leads = origin.kind == "list" and origin.list_page == 1 and any("list" in follow.on for follow in rule.follow)
    return _NOWHERE if leads and not found.follow else None


def expects_items(rule: Rule, kind: PageKind, url: str) -> bool:
    """Whether a page of this kind and address should hold some."""
    if not rule.holds_items(kind):
        return False
    try:
        return not rule.match or any(regexes.search(pattern, url) for pattern in rule.match)
    except Overrun:
        return False


def reason_of(problems: Iterable[Problem]) -> str:
    """The kinds and fields of the fatal ones: what is mended together has the same. Places in lists don't count."""
    return ",".join(sorted({f"{each.kind}:{_plain(each.field)}" for each in problems if each.fatal}))


def _plain(path: str) -> str:
    """`offers[3].price` is `offers.price`."""
    parts = path.split("[")
    return parts[0] + "".join(part.partition("]")[2] for part in parts[1:])


def _exception(item: Item) -> NewException:
    return NewException(
        item.key, orjson.dumps(item.fields), msgspec.json.encode(item.problems), reason_of(item.problems)
    )


def _seen(rule: Rule, items: tuple[Item, ...]) -> list[FieldSeen]:
    """Of core fields, and of those that alerts name, how many lack them."""
    if not items:
        return []
    watched = [name for name, field in rule.fields.items() if field.required]
    watched += [alert.field for alert in rule.alerts if alert.field != "*" and alert.field not in watched]
    return [FieldSeen(name, len(items), sum(_empty(item, name) for item in items)) for name in dict.fromkeys(watched)]


def _empty(item: Item, name: str) -> bool:
    value = item.fields.get(name)
    return value is None or value in ("", [], {})
