"""From the odds of single blocks to the parts of the page that stay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from perseid.content.survey import HEADINGS, INLINE, Survey
from perseid.dom.node import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.dom.tree import Node, Tree

_CUT = 1.0
"""What parting a block from its surroundings costs, in log-odds times the root of its words."""
_LONG_CELL = 400
"""Tables with a longer block, or a table within, lay out a page; in others a row is never torn apart."""


class Kept(NamedTuple):
    """Which of the survey's units stay, and how sure that is."""

    labels: list[bool]
    confidence: float
    """The F1 over words to be expected if the odds are right."""


def choose(survey: Survey, odds: Sequence[float], *, bias: float = 1.0) -> Kept:
    """Keep what raises the expected F1 over words, with neighbours in the tree deciding alike.

    The best cut-off for F1 is half of the F1 it reaches, so pages full of doubtful blocks keep more of them.
    """
    units = survey.units
    words = [max(1.0, survey.chars[b] / 6) for b in units]
    likely = [1 / (1 + math.exp(-max(-30.0, min(30.0, odd)))) for odd in odds]
    reached = _best_f1(likely, words)
    cut = min(0.95, max(0.02, reached / 2 * bias))
    level = math.log(cut / (1 - cut))
    gains = [(max(-9.0, min(9.0, odd)) - level) * math.sqrt(n) for odd, n in zip(odds, words, strict=True)]
    labels = _smoothed(survey, gains)
    if not any(labels):
        labels = [gain >= 0 for gain in gains]
    _settle_headings(survey, labels)
    return Kept(labels, reached)


def _best_f1(likely: list[float], words: list[float]) -> float:
    everything = sum(p * n for p, n in zip(likely, words, strict=True)) or 1.0
    best = hit = size = 0.0
    for p, n in sorted(zip(likely, words, strict=True), reverse=True):
        hit += p * n
        size += n
        best = max(best, 2 * hit / (size + everything))
    return best


def _smoothed(survey: Survey, gains: list[float]) -> list[bool]:
    """The labelling of the tree with the highest sum of gains, less `_CUT` for each edge whose ends differ."""
    up = survey.up
    n = len(up)
    keep, drop = [0.0] * n, [0.0] * n
    held = bytearray(n)
    rigid = _rigid(survey)
    for b, gain in zip(survey.units, gains, strict=True):
        keep[b] += gain
        held[b] = 1
    blocks = [b for b in survey.blocks if survey.total[b]]
    for b in reversed(blocks):
        p = up[b]
        if b == p:
            continue
        yes, no = keep[b], drop[b]
        if rigid[b]:
            keep[p] += yes
            drop[p] += no
        else:
            keep[p] += max(yes, no - _CUT)
            drop[p] += max(no, yes - _CUT)
    label = bytearray(n)
    for b in blocks:
        yes, no = keep[b], drop[b]
        if b == up[b]:
            label[b] = yes >= no
        elif rigid[b]:
            label[b] = label[up[b]]
        elif label[up[b]]:
            label[b] = yes >= no - _CUT
        else:
            label[b] = no < yes - _CUT
    return [bool(label[b]) for b in survey.units]


def _rigid(survey: Survey) -> bytearray:
    """1 for what stands in a row of a table of data."""
    tags, up, longest = survey.flat.tags, survey.up, survey.longest
    n = len(tags)
    out = bytearray(n)
    if "table" not in tags:
        return out
    layout, table = bytearray(n), [0] * n
    for b in survey.blocks[1:]:
        outer = table[up[b]]
        if tags[b] == "table":
            table[b] = b
            layout[outer] = 1
            layout[b] = longest[b] > _LONG_CELL
        else:
            table[b] = outer
    for b in survey.blocks[1:]:
        p = up[b]
        out[b] = out[p] or (tags[p] == "tr" and table[p] > 0 and not layout[table[p]])
    return out


def _settle_headings(survey: Survey, labels: list[bool]) -> None:
    """A heading stays or goes with what follows it up to the next heading."""
    tags, units = survey.flat.tags, survey.units
    following: list[int] = []
    rank_below = 9
    for r in range(len(units) - 1, -1, -1):
        tag = tags[units[r]]
        if tag not in HEADINGS:
            following.append(r)
            continue
        rank = int(tag[1])
        if following and rank > 1:
            kept = sum(labels[q] for q in following)
            if not kept and not (labels[r + 1] if rank_below > rank else False):
                labels[r] = False
        following = []
        rank_below = rank


def cut(tree: Tree, survey: Survey, labels: Sequence[bool]) -> Node | None:
    """Take everything else out below the lowest node that holds all kept units.

    Returns that node, None where no unit is kept.
    """
    flat = survey.flat
    kept = [b for b, stays in zip(survey.units, labels, strict=True) if stays]
    if not kept:
        return None
    holds, keeps = _paths(survey, survey.units), _paths(survey, kept)
    top = _lowest(survey, kept)
    i, end = top, flat.ends[top]
    while i < end:
        if holds[i] and not keeps[i]:
            tree.remove(flat.nodes[i])
            i = flat.ends[i]
        else:
            i += 1
    stays = set(kept)
    bare = [b for b in survey.units if keeps[b] and b not in stays and top <= b < end]
    if bare:
        keepers = {node for node, keep in zip(flat.nodes, keeps, strict=True) if keep}
        for b in bare:
            _drop_bare_text(tree, flat.nodes[b], keepers)
    return flat.nodes[top]


def _paths(survey: Survey, units: list[int]) -> bytearray:
    """1 for the elements of `units` and all their ancestors."""
    parents = survey.flat.parents
    out = bytearray(len(parents))
    for b in units:
        i = b
        while i >= 0 and not out[i]:
            out[i] = 1
            i = parents[i]
    return out


def _lowest(survey: Survey, kept: list[int]) -> int:
    """The lowest element that holds all of `kept`, which are in document order."""
    up, ends = survey.up, survey.flat.ends
    node, last = kept[0], kept[-1]
    while last >= ends[node]:
        node = up[node]
    tags = survey.flat.tags
    while tags[node] in {"tr", "td", "th", "tbody", "thead", "li", "dd", "dt"} and node:
        node = up[node]
    return node


def _drop_bare_text(tree: Tree, node: Node, keepers: set[Node]) -> None:
    """Take out the text that stands directly in `node`, with inline elements around it."""
    for child in tree.children(node):
        tag = tree.tag(child)
        if tag == TEXT or (tag in INLINE and child not in keepers):
            tree.remove(child)
