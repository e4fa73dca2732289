"""Finds the main content of a page and prunes the rest."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from perseid.content import features, forest, pagetype, prune, sparse
from perseid.content.generators import marked_content
from perseid.content.overrule import overrule
from perseid.content.survey import Survey

if TYPE_CHECKING:
    from perseid.dom.tree import Node, Tree

_NEVER_SHOWN = """script style template iframe svg select textarea input button object embed canvas datalist
    progress meter link meta noframes"""
NEVER = frozenset(_NEVER_SHOWN.split())
"""Elements that hold no content a reader sees."""

_BIAS = {
    pagetype.ARTICLE: 1.35,
    pagetype.DOCUMENTATION: 1.2,
    pagetype.FORUM: 0.85,
    pagetype.LISTING: 0.75,
    pagetype.PRODUCT: 0.8,
    pagetype.SERVICE: 0.85,
}
"""Factor on the cut-off by page type: above 1 drops more."""


_UNJUDGED = 0.5


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """The main content of a page."""

    node: Node
    """What to render; the tree below it is already pruned."""
    page_type: str
    """article, documentation, forum, listing, product or service."""
    confidence: float
    """0 to 1."""
    text: str | None = None
    """All text below `node`, where it is at hand."""
    fallback: bool = False
    """True where nothing stood out and the whole body was kept."""


def main_content(tree: Tree, *, url: str) -> Main:
    """The part of the page its readers came for; takes everything else out of `tree`."""
    marked = marked_content(tree)
    if marked is not None:
        return Main(node=marked.node, page_type=pagetype.DOCUMENTATION, confidence=0.95, text=marked.text)
    page = pagetype.facts(tree, url)
    for node in chain.from_iterable(tree.by_tag(NEVER, tree.body).values()):
        tree.remove(node)
    survey = Survey(tree.flatten())
    if not survey.units:
        return Main(node=tree.body, page_type=pagetype.SERVICE, confidence=0.0, fallback=True)
    kind = pagetype.page_type(page, survey)
    plain = sparse.content_of(survey)
    if plain is not None and (node := prune.cut(tree, survey, plain)) is not None:
        return Main(node=node, page_type=kind, confidence=_UNJUDGED)
    columns = features.columns(survey, page)
    odds = overrule(survey, forest.log_odds(columns), columns, kind)
    kept = prune.choose(survey, odds, bias=_BIAS[kind])
    node = prune.cut(tree, survey, kept.labels)
    if node is None:
        return Main(node=tree.body, page_type=kind, confidence=0.0, fallback=True)
    return Main(node=node, page_type=kind, confidence=kept.confidence)
