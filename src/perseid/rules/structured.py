"""What a page says about itself for machines: JSON-LD, microdata, meta elements; as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perseid.dom.tree import Node, Tree

_MOST_SCRIPTS = 100
_MOST_ITEMS = 5_000
_MAX_DEPTH = 40
_COMMENT = later(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)|(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/)\s*$")
_CONTROL = later("[\x00-\x1f]")
_TRAILING = later(r",(\s*[}\]])")
_ADDRESSES = {
    "a": "href", "area": "href", "link": "href", "img": "src", "audio": "src", "video": "src", "source": "src",
    "iframe": "src", "embed": "src", "track": "src", "object": "data",
}  # fmt: skip


def jsonld(tree: Tree) -> list[dict[str, Any]]:
    """All objects at the top of the page's JSON-LD scripts, graphs unfolded; scripts that are no JSON are mended where
    only comments, line breaks in texts or commas too many are wrong, and else left out.
    """
    found: list[dict[str, Any]] = []
    for script in tree.select('script[type^="application/ld+json" i]')[:_MOST_SCRIPTS]:
        value = _lenient(tree.text(script))
        if value is not None:
            found.extend(_objects(value, 0))
    return found


def _lenient(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(_TRAILING.sub(r"\1", _CONTROL.sub(" ", _COMMENT.sub("", text))))
    except orjson.JSONDecodeError:
        return None


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for member in value:
            yield from _objects(member, depth + 1)
    elif isinstance(value, dict):
        if "@graph" in value:
            yield from _objects(value["@graph"], depth + 1)
        if len(value) > ("@graph" in value) + ("@context" in value):
            yield value


def microdata(tree: Tree, absolute: Callable[[str], str | None]) -> list[dict[str, Any]]:
    """The page's top items in JSON-LD's shape: `@type`, and a value or a list for each property."""
    return _Microdata(tree, absolute).items()


class _Microdata:
    def __init__(self, tree: Tree, absolute: Callable[[str], str | None]) -> None:
        self._tree = tree
        self._absolute = absolute
        self._left = _MOST_ITEMS

    def items(self) -> list[dict[str, Any]]:
        top = [node for node in self._tree.select("[itemscope]") if self._tree.attr(node, "itemprop") is None]
        return [self._item(node, 0) for node in top[:_MOST_ITEMS]]

    def _item(self, node: Node, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        kinds = [kind.rstrip("/#").rpartition("/")[2] for kind in (self._tree.attr(node, "itemtype") or "").split()]
        if kinds:
            out["@type"] = kinds[0] if len(kinds) == 1 else kinds
        for place in [node, *self._referred(node)]:
            self._properties(place, out, depth)
        return out

    def _referred(self, node: Node) -> list[Node]:
        names = (self._tree.attr(node, "itemref") or "").split()[:20]
        wanted = set(names)
        return [each for each in self._tree.select("[id]") if self._tree.attr(each, "id") in wanted] if wanted else []

    def _properties(self, start: Node, out: dict[str, Any], depth: int) -> None:
        pending = list(reversed(self._tree.elements(start)))
        while pending and self._left > 0:
            node = pending.pop()
            names = (self._tree.attr(node, "itemprop") or "").split()
            scoped = self._tree.attr(node, "itemscope") is not None
            if names:
                self._left -= 1
                value = self._item(node, depth + 1) if scoped and depth < _MAX_DEPTH else self._value(node)
                for name in names[:20]:
                    _add(out, name, value)
            if not scoped:
                pending.extend(reversed(self._tree.elements(node)))

    def _value(self, node: Node) -> str:
        tree = self._tree
        content = tree.attr(node, "content")
        if content is not None:
            return content.strip()
        tag = tree.tag(node)
        if tag in _ADDRESSES:
            own = tree.attr(node, _ADDRESSES[tag]) or ""
            return self._absolute(own) or own
        if tag in ("data", "meter") and (value := tree.attr(node, "value")) is not None:
            return value
        if tag == "time" and (value := tree.attr(node, "datetime")) is not None:
            return value
        return " ".join(tree.text(node).split())


def metas(tree: Tree) -> dict[str, list[str]]:
    """The contents of meta elements by their name or property, lower-case, in the page's order."""
    found: dict[str, list[str]] = {}
    for node in tree.select("meta[content]")[:2_000]:
        name = tree.attr(node, "property") or tree.attr(node, "name") or tree.attr(node, "itemprop")
        content = (tree.attr(node, "content") or "").strip()
        if name and content:
            found.setdefault(name.strip().lower(), []).append(content)
    return found


def of_kind(values: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    """All objects of that schema.org type, however deep, in order."""
    pending: list[tuple[Any, int]] = [(value, 0) for value in reversed(values)]
    while pending:
        value, depth = pending.pop()
        if depth > _MAX_DEPTH:
            continue
        if isinstance(value, list):
            pending.extend((member, depth + 1) for member in reversed(value))
        elif isinstance(value, dict):
            if kind.lower() in _kinds(value):
                yield value
            pending.extend((member, depth + 1) for member in reversed(list(value.values())))


def follow_path(value: Any, steps: list[str]) -> Iterator[Any]:
    """All values at the end of a dotted path; lists on the way are gone through."""
    if isinstance(value, list):
        for member in value:
            yield from follow_path(member, steps)
    elif not steps:
        yield value.get("@value", value) if isinstance(value, dict) else value
    elif isinstance(value, dict):
        found = value.get(steps[0])
        if found is not None:
            yield from follow_path(found, steps[1:])


def _kinds(value: dict[str, Any]) -> list[str]:
    said = value.get("@type")
    kinds = said if isinstance(said, list) else [said]
    return [kind.rstrip("/#").rpartition("/")[2].rpartition(":")[2].lower() for kind in kinds if isinstance(kind, str)]


def _add(out: dict[str, Any], name: str, value: Any) -> None:
    if name not in out:
        out[name] = value
    elif isinstance(out[name], list):
        out[name].append(value)
    else:
        out[name] = [out[name], value]
