"""One pass over a page that measures every block of text: what the judgement of main content rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content import signs

if TYPE_CHECKING:
    from perseid.dom.tree import Flat

_INLINE_TAGS = (
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark q s samp small "
    "span strike strong sub sup time tt u var wbr nobr math x-tex picture"
)
INLINE = frozenset(_INLINE_TAGS.split())
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))

_OTHER_MARKS = "\uff0c\u3002\u3001\u061f"
"""Comma and full stops of Chinese and Japanese, the Arabic question mark."""
_LIKE_LINKS = 40
"""Characters of unlinked text from which a block with a sentence in it counts as a paragraph."""


_B = signs.BITS
_ARTICLE = _B["<article>"]
WATCHED = (_B["comment"], _B["related"] | _B["side"] | _B["<aside>"], _B["thread"], _B["list"])
"""Signs for which the share of the page's prose under the outermost bearer is told."""
_WATCH = WATCHED[0] | WATCHED[1] | WATCHED[2] | WATCHED[3]
_APART = (
    _B["comment"] | _B["related"] | _B["side"] | _B["foot"] | _B["nav"] | _B["ad"] | _B["popup"]
    | _B["<aside>"] | _B["<footer>"] | _B["<nav>"]
)  # fmt: skip


class Survey:
    """Blocks of text in document order, and sums over the subtrees that hold them.

    A block is an element that breaks the line together with the text and inline elements directly in it.
    """

    def __init__(self, flat: Flat) -> None:
        n = len(flat.nodes)
        self.flat = flat
        self.units: list[int] = []
        """Element indexes of the blocks that hold text."""
        self.texts: list[str] = []
        """Their texts, white space collapsed; `chars`, `linked`, `stops` and `anchors` go by element."""
        self.chars = [0] * n
        self.linked = [0] * n
        self.stops = [0] * n
        self.anchors = [0] * n
        self.up = [0] * n
        """The nearest block-level ancestor of each element; inline wrappers don't count."""
        self._read_blocks()
        self._sum()
        self._inherit()

    def _read_blocks(self) -> None:
        flat = self.flat
        tags, parents, anchors = flat.tags, flat.parents, self.anchors
        n = len(tags)
        block = list(range(n))
        inside = bytearray(n)
        for i in range(1, n):
            tag = tags[i]
            if tag in INLINE:
                at = block[i] = block[parents[i]]
                if tag == "a":
                    inside[i] = 1
                    anchors[at] += 1
                    continue
            if inside[parents[i]]:
                inside[i] = 1
        chars, linked = self.chars, self.linked
        parts: dict[int, list[str]] = {}
        self.up = [block[p] for p in parents]
        for at, piece in zip(flat.run_at, flat.run_text, strict=True):
            run = " ".join(piece.split()) if "\n" in piece or "  " in piece else piece
            size = len(run)
            b = block[at]
            if b in parts:
                parts[b].append(run)
            else:
                parts[b] = [run]
            chars[b] += size
            if inside[at]:
                linked[b] += size
        self.units = sorted(parts)
        self.texts = [" ".join(parts[b]) for b in self.units]
        self.blocks = [i for i in range(n) if block[i] == i]
        stops = self.stops
        for b, text in zip(self.units, self.texts, strict=True):
            if chars[b] >= 25:
                stops[b] = sentence_marks(text)

    def _sum(self) -> None:
        """Totals by subtree: characters, linked ones, paragraph characters, blocks, longest block."""
        up = self.up
        n = len(up)
        chars, linked, stops = self.chars, self.linked, self.stops
        self.total, self.total_linked = chars[:], linked[:]
        self.prose, self.count, self.longest = [0] * n, [0] * n, [0] * n
        total, total_linked, prose, count, longest = (
            self.total, self.total_linked, self.prose, self.count, self.longest,
        )  # fmt: skip
        for b in self.units:
            plain = chars[b] - linked[b]
            count[b] = 1
            longest[b] = plain
            if stops[b] and plain >= _LIKE_LINKS:
                prose[b] = plain
        for i in reversed(self.blocks):
            if not total[i] or not i:
                continue
            p = up[i]
            total[p] += total[i]
            total_linked[p] += total_linked[i]
            prose[p] += prose[i]
            count[p] += count[i]
            longest[p] = max(longest[p], longest[i])

    def _inherit(self) -> None:
        """Signs by element with those of its ancestors: `small` from parts, `big` from what wraps most text."""
        flat, up, total, prose = self.flat, self.up, self.total, self.prose
        tags, marks = flat.tags, flat.marks
        n = len(tags)
        half, half_prose, all_prose = total[0] // 2, max(1, prose[0] // 2), prose[0] or 1
        small, big, article = [0] * n, [0] * n, [-1] * n
        shares: list[tuple[float, ...]] = [(-1.0,) * len(WATCHED)] * n
        of_tag = signs.TAG_BITS.get
        articles = 0
        for i in self.blocks[1:]:
            p = up[i]
            bits = of_tag(tags[i], 0)
            if marks[i]:
                bits |= signs.of_marks(marks[i])
            small[i], big[i] = small[p], big[p]
            shares[i], article[i] = shares[p], article[p]
            if not bits or not total[i]:
                continue
            if bits & _ARTICLE and article[i] < 0 and tags[i] == "article":
                article[i] = articles
                articles += 1
            if bits & _WATCH & ~(small[p] | big[p]):
                known = small[p] | big[p]
                shares[i] = tuple(
                    prose[i] / all_prose if bits & watch and not known & watch else share
                    for watch, share in zip(WATCHED, shares[p], strict=True)
                )
            if total[i] > half or prose[i] > half_prose:
                big[i] |= bits
            else:
                small[i] |= bits
        self.small, self.big, self.article, self.shares, self.articles = small, big, article, shares, articles

    def calm(self) -> list[int]:
        """Like `prose`, without what stands in comments, sidebars, footers and the like, if enough is left."""
        up, chars, linked, prose, small = self.up, self.chars, self.linked, self.prose, self.small
        out = [0] * len(up)
        for b in self.units:
            if self.stops[b] and not small[b] & _APART:
                plain = chars[b] - linked[b]
                if plain >= _LIKE_LINKS:
                    out[b] = plain
        for i in reversed(self.blocks):
            if out[i] and i:
                out[up[i]] += out[i]
        return prose if out[0] * 5 < prose[0] and out[0] < 400 else out


def sentence_marks(text: str) -> int:
    """How many marks of running prose `text` holds; 0 for labels and lists of names without commas."""
    found = text.count(", ") + text.count(". ") + text.count("? ") + text.count("! ") + (text[-1] in ".!?:…”")
    if not text.isascii():
        found += sum(map(text.count, _OTHER_MARKS))
    return found
