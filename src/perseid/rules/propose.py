"""Proposes selectors for a page from values that somebody sees on it: a heuristic, to be tried before it is trusted.

For each value the places are found that say it; each place has several ways to be named, from structured data over
ids and telling classes to positions. A way is good when it chooses nothing else, and short.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perseid.model.rule import Field, FieldType, Source
from perseid.pattern import later
from perseid.rules import selecting
from perseid.rules.normalise.text import one_line, western
from perseid.rules.selecting import Scope, SourceFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from perseid.dom.tree import Node, Tree
    from perseid.rules.page import Page

MAX_PLACES = 30
"""That say a value, looked at for each."""
_PROPOSED = 3
"""Sources that a proposal has: the best one, and fallbacks."""
_ATTRIBUTES = ("content", "datetime", "href", "src", "value", "title", "alt", "data-price", "data-value", "data-id")
_TELLING = ("itemprop", "data-testid", "data-test", "data-qa", "data-field", "name", "property", "rel", "role")
_RANDOM = later(
    r"\d{3,}|^[a-z]{0,3}[-_]?[A-Za-z0-9]*\d[A-Za-z0-9]*[A-Z][A-Za-z0-9]*$|__[A-Za-z0-9]{5,}$|^(css|sc|jsx|svelte)-"
)
_PASSING = "active selected current open show visible hidden first last odd even clearfix row col container"
_STATE = frozenset(_PASSING.split())
_IDENTIFIER = later(r"-?[A-Za-z_][A-Za-z0-9_-]{0,60}\Z")


class Candidate(NamedTuple):
    score: int
    """The lower the better."""
    source: Source


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A field that reads the example, and how many values its first source chooses on the page."""

    name: str
    field: Field
    matches: int


def shown(page: Page) -> str:
    """The page as people read it; JSON as it is."""
    if page.is_json:
        return page.text
    return "\n".join(str(each) for each in selecting.values(Source(css="body"), Scope(page)))


def propose(page: Page, examples: Mapping[str, str]) -> tuple[list[Proposal], list[str]]:
    """A field for each example (name → value as seen on the page), and the names of those that weren't found."""
    proposals: list[Proposal] = []
    missing: list[str] = []
    for name, value in examples.items():
        found = sorted(_candidates(page, value), key=lambda each: each.score)
        chosen = _distinct(found)
        if not chosen:
            missing.append(name)
            continue
        proposals.append(
            Proposal(
                name=name,
                field=Field(from_=tuple(chosen), type=_type_of(name, value)),
                matches=len(_values(chosen[0], page)),
            )
        )
    return proposals, missing


def short(field: Field) -> Any:
    """A proposed field as people write it: `h1`, `time::attr(datetime)`, a list of them, or a mapping with its type."""
    sources = [_short_source(each) for each in field.from_]
    if field.type == "text":
        return sources[0] if len(sources) == 1 and isinstance(sources[0], str) else {"from": sources}
    return {"from": sources, "type": field.type}


def _short_source(source: Source) -> Any:
    if source.css is not None:
        return source.css if source.attr is None else f"{source.css}::attr({source.attr})"
    if source.jsonpath is not None and source.jsonpath.startswith(("$.", "$[")):
        return source.jsonpath
    return msgspec.json.decode(msgspec.json.encode(source))


def _distinct(found: list[Candidate]) -> list[Source]:
    """The best ones, of each kind of source one at most, so that not all break at once."""
    out: list[Source] = []
    kinds: set[str] = set()
    for _, source in found:
        kind = next(name for name in source.__struct_fields__ if getattr(source, name) not in (None, False, "text"))
        kind += source.attr or ""
        if kind not in kinds:
            kinds.add(kind)
            out.append(source)
        if len(out) == _PROPOSED:
            break
    return out


def _candidates(page: Page, value: str) -> Iterator[Candidate]:
    """Each with a score: how its kind lasts, how long it is, and what else it chooses."""
    wanted = _folded(value)
    if not wanted:
        return
    for base, source in _ways(page, wanted):
        values = _values(source, page)
        if not values or not _says(values[0], wanted):
            continue  # the first match is what a field takes
        others = sum(not _says(each, wanted) for each in values)
        yield Candidate(base + 6 * min(others, 5) + _length(source) // 12, source)


def _ways(page: Page, wanted: str) -> Iterator[tuple[int, Source]]:
    if page.is_json:
        yield from ((0, Source(jsonpath=path)) for path in _json_paths(page, wanted))
        return
    yield from ((2, Source(jsonld=path)) for path in _object_paths(page.jsonld, wanted))
    yield from ((2, Source(microdata=path)) for path in _object_paths(page.microdata, wanted))
    for name, contents in page.metas.items():
        if any(_says(each, wanted) for each in contents):
            yield 6, Source(opengraph=name) if name.startswith("og:") else Source(meta=name)
    for node, attribute in _places(page, wanted):
        for score, css in _selectors(page.tree, node):
            yield score + (1 if attribute else 0), Source(css=css, attr=attribute)


def _places(page: Page, wanted: str) -> Iterator[tuple[Node, str | None]]:
    """Elements that say the value and nothing more, innermost first; then those with an attribute that does."""
    tree, left = page.tree, MAX_PLACES
    for node in tree.select("*", tree.body):
        if tree.tag(node) in ("script", "style", "head") or len(wanted) * 4 < len(tree.text(node)) - 200:
            continue
        if _says(tree.text(node), wanted) and not any(_says(tree.text(each), wanted) for each in tree.elements(node)):
            yield node, None
            left -= 1
        for name in _ATTRIBUTES:
            own = tree.attr(node, name)
            if own and (
                _says(own, wanted) or (name in ("href", "src") and _folded(page.absolute(own) or "") == wanted)
            ):
                yield node, name
                left -= 1
        if left <= 0:
            return


def _selectors(tree: Tree, node: Node) -> Iterator[tuple[int, str]]:
    """Ways to name an element: by itself, then below something that can be named."""
    own = list(_names(tree, node))
    yield from own
    tag = tree.tag(node)
    up, depth = tree.parent(node), 1
    while up is not None and depth <= 5:
        for score, name in list(_names(tree, up))[:2]:
            if tree.tag(up) in ("html", "body"):
                break
            for below, inner in own[:2] or [(8, tag)]:
                yield score + min(below, 8) // 2 + 3 + depth, f"{name} {inner}"
            if not own:
                yield score + 6 + depth, f"{name} {tag}"
        up, depth = tree.parent(up), depth + 1
    yield 30, _position(tree, node)


def _names(tree: Tree, node: Node) -> Iterator[tuple[int, str]]:
    tag = tree.tag(node)
    own = tree.attr(node, "id") or ""
    if _steady(own):
        yield 4, f"#{own}"
    for name in _TELLING:
        value = tree.attr(node, name)
        if value and len(value) <= 60 and '"' not in value and "\\" not in value and not _RANDOM.search(value):
            yield 5, f'{tag}[{name}="{value}"]'
    classes = [each for each in (tree.attr(node, "class") or "").split() if _steady(each) and each not in _STATE]
    for each in classes[:3]:
        yield 8, f"{tag}.{each}"
    if len(classes) > 1:
        yield 11, f"{tag}.{classes[0]}.{classes[1]}"
    if tag in ("h1", "title", "time", "address", "main", "article"):
        yield 7, tag


def _steady(name: str) -> bool:
    """Whether a class or id was given by people: programs give them digits and random letters."""
    return bool(_IDENTIFIER.match(name)) and not _RANDOM.search(name)


def _position(tree: Tree, node: Node) -> str:
    """The path from the body, by numbers."""
    parts: list[str] = []
    here = node
    while here is not None and tree.tag(here) not in ("body", "html"):
        up = tree.parent(here)
        same = [each for each in tree.elements(up) if tree.tag(each) == tree.tag(here)] if up is not None else [here]
        number = f":nth-of-type({same.index(here) + 1})" if len(same) > 1 and here in same else ""
        parts.append(f"{tree.tag(here)}{number}")
        here = up
    return " > ".join(reversed(parts)) or tree.tag(node)


def _object_paths(objects: list[dict[str, Any]], wanted: str) -> Iterator[str]:
    pending: list[tuple[Any, tuple[str, ...]]] = [(each, ()) for each in objects]
    seen: set[str] = set()
    for _ in range(5_000):
        if not pending:
            return
        value, path = pending.pop(0)
        if isinstance(value, list):
            pending.extend((each, path) for each in value)
        elif isinstance(value, dict):
            pending.extend((each, (*path, name)) for name, each in value.items() if "." not in name)
        elif path and _says(str(value), wanted) and (dotted := ".".join(path)) not in seen:
            seen.add(dotted)
            yield dotted


def _json_paths(page: Page, wanted: str) -> Iterator[str]:
    try:
        pending: list[tuple[Any, str]] = [(page.json, "$")]
    except ValueError:
        return
    for _ in range(50_000):
        if not pending:
            return
        value, path = pending.pop(0)
        if isinstance(value, list):
            pending.extend((each, f"{path}[{at}]") for at, each in enumerate(value))
        elif isinstance(value, dict):
            for name, each in value.items():
                plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
                quoted = name.replace("\\", "\\\\").replace("'", "\\'")
                pending.append((each, f"{path}.{name}" if plain else f"{path}['{quoted}']"))
        elif value is not None and _says(str(value), wanted):
            yield path


def _values(source: Source, page: Page) -> list[Any]:
    try:
        found = list(selecting.values(source, Scope(page)))
    except SourceFault:
        return []
    if source.attr in ("href", "src"):
        return [page.absolute(each) or each for each in found if isinstance(each, str)]
    return found


def _says(text: Any, wanted: str) -> bool:
    return _folded(str(text)) == wanted


def _folded(text: str) -> str:
    return western(one_line(text[:5_000])).casefold()


def _length(source: Source) -> int:
    return len(source.css or source.jsonpath or source.jsonld or source.microdata or source.meta or "")


_PRICE = later(r"[€£$¥₽₹₩₺₴₫฿₪₱]|\b(?:EUR|USD|GBP|CHF|CNY|JPY|RUB|PLN|SEK|NOK|DKK|CZK)\b|(?:zł|Kč|kr|руб|元|円)")
_ADDRESS = later(r"(?:https?:)?//|/[\w-]+/")


def _type_of(name: str, value: str) -> FieldType:  # noqa: PLR0911  one way out a type
    """By the value, and where that may be several things, by the field's name."""
    from datetime import UTC, datetime  # noqa: PLC0415  start-up time

    from perseid.rules.normalise.date import Hints, read_date  # noqa: PLC0415  as above
    from perseid.rules.normalise.number import Unreadable  # noqa: PLC0415  as above

    text, told = value.strip(), name.lower()
    if _ADDRESS.match(text):
        return "url"
    if any(char.isdigit() for char in text) and len(text) <= 40:
        if _PRICE.search(text) or "price" in told or "preis" in told:
            return "price"
        if re.fullmatch(r"[+-]?\d{1,9}", text):
            return "integer" if not text.lstrip("+-").startswith("0") or text == "0" else "text"
        if re.fullmatch(r"[+-]?[\d.,' \xa0]+\s?%?", text) and not re.fullmatch(r"\d{1,2}\.\d{1,2}\.(\d{4}|\d\d)", text):
            return "number"
        try:
            return "date" if read_date(text, Hints(order="dmy"), datetime.now(UTC)).whole_day else "datetime"
        except Unreadable:
            return "text"
    return "text"
