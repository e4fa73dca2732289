"""Values of attributes that a caller asked for, read off the page as it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.model.document import AttributeValues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.dom.tree import Tree
    from perseid.model.options import AttributeQuery


def attributes_of(tree: Tree, queries: Iterable[AttributeQuery]) -> list[AttributeValues]:
    """In document order, elements without the attribute left out; nothing where the selector is no CSS."""
    return [AttributeValues(query.selector, query.attribute, _values(tree, query)) for query in queries]


def unmatched(queries: Iterable[AttributeQuery]) -> list[AttributeValues]:
    """The answer for what has no elements: text, PDF."""
    return [AttributeValues(query.selector, query.attribute, []) for query in queries]


def _values(tree: Tree, query: AttributeQuery) -> list[str]:
    try:
        nodes = tree.select(query.selector)
    except ValueError:
        return []
    return [value for node in nodes if (value := tree.attr(node, query.attribute.lower())) is not None]
