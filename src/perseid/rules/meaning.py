"""Whether a rule of the right shape makes sense: selectors that can be read, names that exist, options that fit."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from perseid.dom.tree import parse
from perseid.dom.url import Base
from perseid.errors import MissingExtra
from perseid.pattern import later
from perseid.rules import jsonpath, regexes, secrets, xpath
from perseid.rules.complaint import clipped, nearest
from perseid.rules.normalise.date import zone_of
from perseid.rules.normalise.number import Unreadable
from perseid.rules.normalise.words import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perseid.model.rule import Check, Field, Follow, LoginStep, Rule, Source, Step
    from perseid.rules.place import Places

_CHOOSERS = ("css", "xpath", "jsonld", "microdata", "opengraph", "meta", "header")
_FITS: dict[str, tuple[str, ...]] = {
    "currency": ("price",),
    "decimal": ("price", "number", "integer"),
    "order": ("date", "datetime"),
    "formats": ("date", "datetime"),
    "timezone": ("date", "datetime"),
    "yes": ("boolean",),
    "no": ("boolean",),
}
_ORDERED = ("number", "integer", "price", "date", "datetime")
_TEXTUAL = ("text", "lines", "html", "url", "date", "datetime")


def check(rule: Rule, places: Places) -> None:
    """Complain about all that makes no sense."""
    _Meaning(places).rule(rule)


class _Meaning:
    def __init__(self, places: Places) -> None:
        self._at = places

    def rule(self, rule: Rule) -> None:
        at = self._at
        self._zone(rule.timezone, at.below("timezone"))
        self._language(rule.language, at.below("language"))
        for name, field in rule.fields.items():
            self._field(field, at.below("fields", name))
        if rule.each is not None:
            self._source(rule.each, at.below("each"), scope=True)
        self._patterns(rule.match, at.below("match"))
        self._key(rule)
        for number, follow in enumerate(rule.follow):
            self._follow(follow, at.below("follow", number))
        self._next(rule)
        self._fetch(rule)
        self._alerts(rule)
        self._tests(rule)
        if not any(field.required for field in rule.fields.values()):
            at.below("fields").warn("no field is `required`, so a broken selector will not be noticed")
        if rule.items_on is not None and not rule.items_on:
            at.below("items_on").error("name at least one of list and detail")

    def _field(self, field: Field, at: Places) -> None:
        for number, source in enumerate(field.from_):
            self._source(source, at.below("from", number), scope=field.type == "object" or bool(field.fields))
        if not field.from_ and field.type != "object" and field.default is None:
            at.error("the field has no source; give it a selector (css, xpath, jsonpath …) or a `default`")
        self._object(field, at)
        for option, types in _FITS.items():
            if getattr(field, option) and field.type not in types:
                at.below(option).error(f"`{option}` fits only fields of type {' or '.join(types)}, not {field.type}")
        for number, step in enumerate(field.steps):
            self._step(step, at.below("steps", number), many=field.many)
        if field.check is not None:
            self._check(field, field.check, at.below("check"))
        self._zone(field.timezone, at.below("timezone"))
        self._language(field.language, at.below("language"))
        for number, form in enumerate(field.formats):
            self._format(form, at.below("formats", number))

    def _object(self, field: Field, at: Places) -> None:
        if field.fields and field.type != "object":
            at.below("type").error(f"a field with `fields` is of type object, not {field.type}")
        elif field.type == "object" and not field.fields:
            at.error("an object needs `fields`; for a JSON value as it is, take type json")
        for name, inner in field.fields.items():
            self._field(inner, at.below("fields", name))

    def _source(self, source: Source, at: Places, *, scope: bool = False) -> None:
        self._choosers(source, at)
        self._options(source, at)
        if source.css is not None:
            self._css(source.css, at.below("css"))
        if source.xpath is not None:
            self._reads(xpath.check, source.xpath, at.below("xpath"), "XPath")
        if source.jsonpath is not None:
            self._reads(jsonpath.check, source.jsonpath, at.below("jsonpath"), "JSONPath")
        if source.regex is not None:
            self._regex(source, at)
        if scope and (source.attr is not None or source.take != "text"):
            at.error("what is looked in further must be an element or a JSON value; take `attr` and `take` away")

    def _choosers(self, source: Source, at: Places) -> None:
        chosen = [name for name in _CHOOSERS if getattr(source, name) is not None]
        chosen += ["url"] if source.url else []
        chosen += ["const"] if source.const is not None else []
        if len(chosen) > 1:
            at.error(f"{' and '.join(chosen)} stand in one source; make them two, one after the other")
        elif not chosen and source.jsonpath is None and source.regex is None:
            at.error(f"the source chooses nothing; give one of {', '.join(_CHOOSERS)}, jsonpath, regex, url or const")

    def _options(self, source: Source, at: Places) -> None:
        if source.regex is None and source.group is not None:
            at.below("group").error("`group` belongs to `regex`, and there is none")
        if source.kind is not None and source.jsonld is None and source.microdata is None:
            at.below("kind").error("`kind` belongs to `jsonld` or `microdata`, and there is none")
        if source.css is None and source.xpath is None:
            for option, given in (("attr", source.attr is not None), ("take", source.take != "text")):
                if given:
                    at.below(option).error(f"`{option}` belongs to `css` or `xpath`, and there is none")

    def _css(self, css: str, at: Places) -> None:
        try:
            _SAMPLE.select(css)
        except ValueError as error:
            said = str(error).partition(": ")[2] or str(error)
            at.error(f"{clipped(css)!r} is no CSS selector: {said}")
            return
        if css.count(":has(") > 1:
            at.error(f"{clipped(css)!r}: `:has()` may stand once only; more take too long on large pages")

    def _regex(self, source: Source, at: Places) -> None:
        pattern = source.regex or ""
        if not self._pattern(pattern, at.below("regex")) or source.group is None:
            return
        found = regexes.compiled(pattern)
        known: list[Any] = [*range(found.groups + 1), *found.groupindex]
        if source.group not in known:
            at.below("group").error(f"the pattern has no group {source.group!r}; it has {', '.join(map(str, known))}")

    def _reads(self, read: Any, text: str, at: Places, name: str) -> None:
        try:
            read(text)
        except ValueError as error:
            at.error(f"{clipped(text)!r} is no {name}: {error}")
        except MissingExtra as error:
            at.error(str(error))

    def _pattern(self, pattern: str, at: Places) -> bool:
        try:
            regexes.compiled(pattern)
        except ValueError as error:
            at.error(f"the pattern {clipped(pattern)!r} is not valid: {error}")
            return False
        return True

    def _patterns(self, patterns: tuple[str, ...], at: Places) -> None:
        for number, pattern in enumerate(patterns):
            self._pattern(pattern, at.below(number))

    def _step(self, step: Step, at: Places, *, many: bool) -> None:
        given = [name for name in step.__struct_fields__ if getattr(step, name) is not None]
        if len(given) != 1:
            allowed = ", ".join(step.__struct_fields__)
            at.error(f"a step has one key, not {len(given)}; allowed are {allowed}")
            return
        for name in ("remove", "keep"):
            if (pattern := getattr(step, name)) is not None:
                self._pattern(pattern, at.below(name))
        if step.replace is not None and self._pattern(step.replace[0], at.below("replace", 0)):
            try:
                regexes.compiled(step.replace[0]).sub(step.replace[1], "")
                regexes.compiled(f"{step.replace[0]}|").sub(step.replace[1], "")
            except (ValueError, IndexError, LookupError) as error:
                at.below("replace", 1).error(f"the replacement {step.replace[1]!r} is not valid: {error}")
            except Exception as error:  # noqa: BLE001  # the engine's own class of errors
                at.below("replace", 1).error(f"the replacement {step.replace[1]!r} is not valid: {error}")
        if step.split is not None and not many:
            at.below("split").error("`split` yields several values; say `many: true`")

    def _check(self, field: Field, check: Check, at: Places) -> None:
        if check.pattern is not None:
            self._pattern(check.pattern, at.below("pattern"))
        for option, types in (("pattern", _TEXTUAL), ("min_length", _TEXTUAL), ("max_length", _TEXTUAL),
                              ("min", _ORDERED), ("max", _ORDERED)):  # fmt: skip
            if getattr(check, option) is not None and field.type not in types:
                at.below(option).error(f"`{option}` fits only fields of type {' or '.join(types)}, not {field.type}")
        for least, most in (("min", "max"), ("min_length", "max_length"), ("min_items", "max_items")):
            low, high = getattr(check, least), getattr(check, most)
            if low is not None and high is not None and type(low) is type(high) and low > high:
                at.below(least).error(f"`{least}` {low} is above `{most}` {high}, so that nothing fits")
        for option in ("min", "max"):
            self._bound(field, getattr(check, option), at.below(option))
        for option in ("min_items", "max_items"):
            if getattr(check, option) is not None and not field.many:
                at.below(option).error(f"`{option}` is for lists; say `many: true`")

    def _bound(self, field: Field, bound: float | str | None, at: Places) -> None:
        dated = field.type in ("date", "datetime")
        if isinstance(bound, str):
            try:
                datetime.fromisoformat(bound)
            except ValueError:
                dated = False
            if not dated:
                wanted = "date (2025-12-31)" if field.type in ("date", "datetime") else "number"
                at.error(f"{clipped(bound)!r} is no {wanted}")
        elif bound is not None and dated:
            at.error(f"a date is wanted here (2025-12-31), not {bound:g}")

    def _format(self, form: str, at: Places) -> None:
        if "%" not in form:
            at.error(f"{clipped(form)!r} is no format of dates; they are such as %d.%m.%Y %H:%M")

    def _key(self, rule: Rule) -> None:
        at = self._at.below("unique_key")
        key = rule.unique_key
        if key.by == "fields" and not key.fields:
            at.error("`by: fields` needs `fields`, the names of the fields that make the key")
        if key.by != "fields" and key.fields:
            at.below("fields").error(f"`fields` belongs to `by: fields`, not to `by: {key.by}`")
        for number, name in enumerate(key.fields):
            if name not in rule.fields:
                at.below("fields", number).error(f"there is no field {name!r}.{nearest(name, rule.fields)}")
            elif not rule.fields[name].required:
                at.below("fields", number).warn(f"{name!r} is part of the key but not `required`")
        if key.by == "url" and rule.each is not None:
            at.error("with `each`, all items of a page would share its address as their key; name fields, or `content`")

    def _follow(self, follow: Follow, at: Places) -> None:
        for number, source in enumerate(follow.from_):
            self._source(source, at.below("from", number))
        self._patterns(follow.match, at.below("match"))
        self._patterns(follow.exclude, at.below("exclude"))

    def _next(self, rule: Rule) -> None:
        found, at = rule.next, self._at.below("next")
        if found is None:
            return
        ways = [
            name
            for name, given in (("from", found.from_), ("parameter", found.parameter), ("auto", found.auto))
            if given
        ]
        if not ways:
            at.error("say how the list goes on: a selector, `parameter`, or auto")
        elif found.parameter and len(ways) > 1:
            at.error(f"`parameter` stands alone, without `{ways[0] if ways[0] != 'parameter' else ways[1]}`")
        for number, source in enumerate(found.from_):
            self._source(source, at.below("from", number))

    def _fetch(self, rule: Rule) -> None:
        fetch, at = rule.fetch, self._at.below("fetch")
        if fetch.delay_s[0] > fetch.delay_s[1]:
            at.below("delay").error(f"the shorter pause comes first: [{fetch.delay_s[1]:g}, {fetch.delay_s[0]:g}]")
        self._patterns(fetch.block, at.below("block"))
        if fetch.browser != "never":
            at.below("browser").warn(
                f"`browser: {fetch.browser}` is not there yet: tasks that need it end as feature_unavailable"
            )
        if not fetch.robots:
            at.below("robots").warn("robots.txt is not obeyed; make sure that you may")
        if fetch.warm_up is not None:
            self._address(fetch.warm_up, at.below("warm_up"))
        for kind in ("headers", "cookies"):
            self._plain_secrets(getattr(fetch, kind), at.below(kind))
        taken: set[str] = set()
        for number, step in enumerate(fetch.login):
            self._login(step, at.below("login", number), taken)

    def _login(self, step: LoginStep, at: Places, taken: set[str]) -> None:
        self._address(step.url, at.below("url"))
        self._plain_secrets(step.headers, at.below("headers"))
        self._plain_secrets(step.form, at.below("form"))
        if step.form and step.json is not None:
            at.below("json").error("a request has `form` or `json`, not both")
        if step.method == "GET" and (step.form or step.json is not None):
            at.below("method").error("`form` and `json` are sent with `method: POST`")
        for name, value in {**step.form, **step.headers}.items():
            for used in _USED.findall(value):
                if used not in taken:
                    at.error(f"{name!r} uses ${{{used}}}, which no earlier step takes.{nearest(used, taken)}")
        for name, source in step.take.items():
            self._source(source, at.below("take", name))
            taken.add(name)
        if step.expect is not None:
            self._source(step.expect, at.below("expect"))

    def _plain_secrets(self, values: Mapping[str, str], at: Places) -> None:
        for name, value in values.items():
            if secrets.is_telling(name, value):
                at.below(name).error(
                    f"{name!r} looks like a secret; write ${{secret:NAME}} and define NAME where the worker runs"
                )

    def _address(self, address: str, at: Places) -> None:
        if not (Base(address).href or "").startswith(("http://", "https://")):
            at.error(f"{clipped(address)!r} is no address of the web; write all of it, with https://")

    def _alerts(self, rule: Rule) -> None:
        for number, alert in enumerate(rule.alerts):
            at = self._at.below("alerts", number)
            if alert.field != "*" and alert.field not in rule.fields:
                at.below("field").error(f"there is no field {alert.field!r}.{nearest(alert.field, rule.fields)}")

    def _tests(self, rule: Rule) -> None:
        for number, test in enumerate(rule.tests):
            at = self._at.below("tests", number)
            if test.url is not None:
                self._address(test.url, at.below("url"))
            if test.expect is None and test.follow is None and test.next is None:
                at.error("the test expects nothing; say `expect`, `follow` or `next`")
            for place, item in enumerate(test.expect or ()):
                for name in item:
                    if name not in rule.fields:
                        at.below("expect", place, name).error(
                            f"there is no field {name!r}.{nearest(name, rule.fields)}"
                        )
            if test.fetched_at is not None:
                try:
                    datetime.fromisoformat(test.fetched_at)
                except ValueError:
                    at.below("fetched_at").error(f"{test.fetched_at!r} is no instant such as 2025-06-01T12:00:00Z")

    def _zone(self, name: str | None, at: Places) -> None:
        if name is None:
            return
        try:
            zone_of(name)
        except Unreadable as error:
            at.error(str(error))

    def _language(self, tag: str | None, at: Places) -> None:
        if tag is not None and language_of(tag) is None:
            at.warn(f"{tag!r} is no language that dates and numbers are known in; they are read without its help")


_USED = later(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SAMPLE = parse("<p></p>")
