"""Takes items from a page by a rule: the one function that the rest of this room serves."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import orjson

from perseid.model.item import Extraction, Item, Problem, ProblemKind
from perseid.rules import following, regexes, selecting, validating
from perseid.rules.complaint import clipped
from perseid.rules.normalise.text import one_line
from perseid.rules.normalise.values import Context, Unreadable, normalised
from perseid.rules.regexes import Overrun
from perseid.rules.selecting import Scope, SourceFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perseid.model.rule import Field, PageKind, Rule, Step
    from perseid.rules.page import Page

MAX_ITEMS = 5_000
"""Of one page."""
MAX_PROBLEMS = 50
"""Of one item."""
_RAW = 200
"""Characters of what the page said that a problem keeps."""


def extract(rule: Rule, page: Page, kind: PageKind | None = None, *, list_page: int = 1) -> Extraction:
    """The items of the page and where to go on from it; never raises for anything a page may hold.

    `kind` is what led there (a seed leads to `rule.start_kind()`), `list_page` the page's number in its list.
    """
    kind = kind or rule.start_kind()
    notes: list[str] = []
    items: tuple[Item, ...] = ()
    if rule.holds_items(kind) and _matches(rule, page, notes):
        items = tuple(_items(rule, page, notes))
        _compare_keys(items, notes)
    return Extraction(
        items=items,
        follow=following.onward(rule, page, kind, list_page=list_page, found=len(items), notes=notes),
        notes=tuple(notes),
    )


def _compare_keys(items: tuple[Item, ...], notes: list[str]) -> None:
    """Of different items with one key the last would silently replace the others."""
    last = {item.key: item for item in items if item.key}
    lost = sum(item != last[item.key] for item in items if item.key)
    if lost:
        notes.append(f"{lost} of {len(items)} items have the `unique_key` of another on the page, which replaces them")


def _matches(rule: Rule, page: Page, notes: list[str]) -> bool:
    try:
        return not rule.match or any(regexes.search(pattern, page.url) for pattern in rule.match)
    except Overrun as error:
        notes.append(str(error))
        return False


def _items(rule: Rule, page: Page, notes: list[str]) -> Iterator[Item]:
    context = Context(rule.language or page.language, rule.timezone, page.fetched_at, page.absolute)
    if rule.each is None:
        yield _item(rule, Scope(page), context)
        return
    try:
        scopes = selecting.scopes(rule.each, page)
    except SourceFault as fault:
        notes.append(f"each: {fault}")
        return
    if len(scopes) > MAX_ITEMS:
        notes.append(f"of {len(scopes)} items on the page the first {MAX_ITEMS} were taken")
    if not scopes:
        notes.append("`each` finds nothing on the page")
    for scope in scopes[:MAX_ITEMS]:
        yield _item(rule, scope, context)


def _item(rule: Rule, scope: Scope, context: Context) -> Item:
    reader = _Reader(context)
    fields = reader.fields(rule.fields, scope, "")
    key = _key(rule, scope.page, fields)
    if not key:
        reader.complain("unique_key", "missing", "the fields of the key are empty", fatal=True)
    return Item(key=key, fields=fields, problems=tuple(reader.problems[:MAX_PROBLEMS]))


def _key(rule: Rule, page: Page, fields: dict[str, Any]) -> str:
    """The address, the values of some fields, or the hash of all; what is long or has several parts is hashed."""
    unique = rule.unique_key
    if unique.by == "url":
        return page.url
    if unique.by == "content":
        return _hashed(fields) if any(_holds(value) for value in fields.values()) else ""
    parts = [fields.get(name) for name in unique.fields]
    if not all(_holds(part) for part in parts):
        return ""
    if len(parts) == 1 and isinstance(parts[0], str | int) and len(str(parts[0])) <= 500:
        return str(parts[0])
    return _hashed(parts)


def _hashed(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _holds(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


class _Reader:
    """Reads the fields of one item and gathers what is wrong with them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.problems: list[Problem] = []

    def complain(self, path: str, kind: ProblemKind, message: str, raw: Any = None, *, fatal: bool = False) -> None:
        shown = None if raw is None else clipped(one_line(raw[:5_000]) if isinstance(raw, str) else repr(raw), _RAW)
        self.problems.append(Problem(field=path, kind=kind, message=message, raw=shown, fatal=fatal))

    def fields(self, fields: dict[str, Field], scope: Scope, prefix: str) -> dict[str, Any]:
        return {name: self._field(field, scope, f"{prefix}{name}") for name, field in fields.items()}

    def _field(self, field: Field, scope: Scope, path: str) -> Any:
        begun = len(self.problems)
        value = self._objects(field, scope, path) if field.type == "object" else self._value(field, scope, path)
        if not _holds(value):
            if field.default is not None:
                del self.problems[begun:]
                value = field.default
            else:
                if field.required:
                    self._missing(path, begun)
                return [] if field.many else None
        if field.check is not None:
            for fault in validating.faults(field.check, value):
                self.complain(path, "invalid", fault, value, fatal=True)
        return value

    def _missing(self, path: str, begun: int) -> None:
        """A core field without value is a fatal problem: that of its own that was noticed, or that there is nothing."""
        for at in range(begun, len(self.problems)):
            if self.problems[at].field.startswith(path):
                found = self.problems[at]
                self.problems[at] = Problem(
                    field=found.field, kind=found.kind, message=found.message, raw=found.raw, fatal=True
                )
                return
        self.complain(path, "missing", "no source of this core field yields anything", fatal=True)

    def _objects(self, field: Field, scope: Scope, path: str) -> Any:
        found = self._scopes(field, scope, path)
        if not field.many:
            found = found[:1]
        out = []
        for at, part in enumerate(found):
            prefix = f"{path}[{at}]." if field.many else f"{path}."
            value = self.fields(field.fields, part, prefix)
            if any(_holds(member) for member in value.values()):
                out.append(value)
        return out if field.many else (out[0] if out else None)

    def _scopes(self, field: Field, scope: Scope, path: str) -> list[Scope]:
        if not field.from_:
            return [scope]
        for source in field.from_:
            try:
                if found := selecting.scopes(source, scope.page, scope):
                    return found[:MAX_ITEMS]
            except SourceFault as fault:
                self.complain(path, "source", str(fault))
        return []

    def _value(self, field: Field, scope: Scope, path: str) -> Any:
        """Of the first source that yields something that can be read."""
        begun = len(self.problems)
        for source in field.from_:
            try:
                value = self._read(field, _stepped(field, selecting.values(source, scope)), path)
            except (SourceFault, Overrun) as fault:
                self.complain(path, "source", str(fault))
                continue
            if _holds(value):
                self.problems[begun:] = [
                    each for each in self.problems[begun:] if each.kind == "unreadable" and field.many
                ]
                return value
        return None

    def _read(self, field: Field, raw: Iterator[Any], path: str) -> Any:
        """Of a list, what can be read of it; of a single value, the first that can be."""
        out: list[Any] = []
        failures: list[tuple[str, Any]] = []
        for each in raw:
            try:
                value = normalised(field, each, self._context)
            except Unreadable as error:
                failures.append((str(error), each))
                continue
            except (ValueError, ArithmeticError, OverflowError) as error:
                failures.append((f"it can't be read: {error}", each))
                continue
            if value is None or value == "":
                continue
            out.append(value)
            if not field.many:
                break
        if failures and (field.many or not out):
            for message, each in failures[: 5 if field.many else 1]:
                self.complain(path, "unreadable", message, each)
        return out if field.many else (out[0] if out else None)


def _stepped(field: Field, raw: Iterator[Any]) -> Iterator[Any]:
    """The values after the field's steps; lists that a JSON source yields are several values. Raises Overrun."""
    if not field.steps:
        return _flat(raw) if field.many and field.type != "json" else raw
    texts: Iterator[Any] = (str(each) for each in _flat(raw) if not isinstance(each, dict))
    for step in field.steps:
        texts = _each_applied(step, texts)
    return texts


def _each_applied(step: Step, texts: Iterator[str]) -> Iterator[str]:
    return (changed for text in texts for changed in _applied(step, text))


def _flat(raw: Iterator[Any]) -> Iterator[Any]:
    return (member for each in raw for member in (each if isinstance(each, list) else [each]))


def _applied(step: Step, text: str) -> list[str]:  # noqa: C901  one branch a kind of step
    """What becomes of a text; blank texts vanish."""
    out = [text]
    if step.remove is not None:
        out = [regexes.substitute(step.remove, "", text)]
    elif step.replace is not None:
        out = [regexes.substitute(step.replace[0], step.replace[1], text)]
    elif step.keep is not None:
        found = regexes.search(step.keep, text)
        out = [] if found is None else [found.group(min(1, found.re.groups)) or ""]
    elif step.before is not None:
        out = [text.partition(step.before)[0]]
    elif step.after is not None:
        out = [text.partition(step.after)[2] if step.after in text else text]
    elif step.split is not None:
        out = text.split(step.split)
    elif step.prefix is not None:
        out = [step.prefix + text]
    elif step.suffix is not None:
        out = [text + step.suffix]
    elif step.case is not None:
        out = [{"lower": text.lower, "upper": text.upper, "title": text.title}[step.case]()]
    elif step.map is not None:
        out = [step.map.get(text.strip(), text)]
    return [each for each in out if each.strip()]
