"""Finds the main content of a page and prunes the rest.

First landing: the node that holds most of the paragraph-like text, with navigation dropped by tag and role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from perseid.dom.tree import Node, Tree

_NEVER = "script, style, template, iframe, nav, [role=navigation], [role=banner], [role=contentinfo]"


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """The main content of a page."""

    node: Node
    """What to render; the tree below it is already pruned."""
    page_type: str
    """article, documentation, forum, listing, product or service."""
    confidence: float
    """0 to 1."""
    fallback: bool = False
    """True where nothing stood out and the whole body was kept."""


def main_content(tree: Tree, *, url: str) -> Main:
    """The part of the page its readers came for; takes everything else out of `tree`."""
    for node in tree.select(_NEVER, tree.body):
        tree.remove(node)
    flat = tree.flatten()
    n = len(flat.nodes)
    weight = [0] * n
    for at, run in zip(flat.run_at, flat.run_text, strict=True):
        if len(run) > 25 and flat.tags[at] != "a":
            weight[at] += len(run)
    for i in range(n - 1, 0, -1):
        weight[flat.parents[i]] += weight[i]
    best = 0
    while True:
        child = best + 1
        while child < flat.ends[best] and weight[child] < 0.88 * weight[best]:
            child = flat.ends[child]
        if child >= flat.ends[best] or not weight[child]:
            break
        best = child
    return Main(node=flat.nodes[best], page_type="article", confidence=0.5, fallback=best == 0)
