"""Runs of inline markup for our own writer: text, emphasis, code, links, images, formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content.escape import escaped
from perseid.content.markdown.marks import emphasis, is_permalink, raised
from perseid.content.markdown.source import image_source, largest
from perseid.dom.tree import OTHER, TEXT
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.dom.tree import Node, Tree

BREAK = "\x01"
"""A line break until it is known whether it stands in a paragraph, a heading or a cell."""

_SKIPPED = """script style template head meta link svg canvas select textarea audio video object rp col colgroup
    noframes map datalist"""
SKIPPED = frozenset(_SKIPPED.split())
_BLOCKS = """address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup p pre search
    section summary table tbody td tfoot th thead tr ul noscript caption"""
BLOCKS = frozenset(_BLOCKS.split())
_STRONG, _ITALIC, _STRUCK = frozenset({"strong", "b"}), frozenset({"em", "i"}), frozenset({"del", "s", "strike"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_BLANK = later(r"[ \t\n\r\f]+")
_TICKS = later(r"`+")
_DEEPEST = 150


def code_span(text: str) -> str:
    """Inline code whose fence no run of back-ticks within can close (CommonMark 6.1)."""
    body = text.replace("\n", " ").replace(BREAK, " ")
    if not body:
        return ""
    runs = {len(match[0]) for match in _TICKS.finditer(body)}
    ticks = next("`" * size for size in range(1, len(runs) + 2) if size not in runs)
    pad = " " if body.startswith("`") or body.endswith("`") else ""
    return f"{ticks}{pad}{body}{pad}{ticks}"


def destination(url: str) -> str:
    """A link target in parentheses: blanks encoded, parentheses escaped unless balanced."""
    url = url.replace(" ", "%20").replace("\n", "%0A").replace("<", "%3C").replace(">", "%3E")
    depth = 0
    for char in url:
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                break
    return url if depth == 0 else url.replace("(", "\\(").replace(")", "\\)")


def joined(parts: list[str]) -> str:
    """Parts as one run: one blank at most where two meet."""
    out: list[str] = []
    blank = False
    for part in parts:
        if not part:
            continue
        piece = part.lstrip(" ") if blank and part[0] == " " else part
        if piece:
            out.append(piece)
            blank = piece[-1] in (" ", BREAK)
    return "".join(out)


class Inline:
    """Renders inline content of one tree; `resolve` makes addresses absolute."""

    def __init__(self, tree: Tree, resolve: Callable[[str], str | None]) -> None:
        self.tree = tree
        self.resolve = resolve

    def run(self, nodes: list[Node], depth: int = 0) -> str:
        """The markdown of sibling nodes, blocks among them set apart by a blank."""
        parts: list[str] = []
        for position, node in enumerate(nodes):
            before = parts[-1][-1:] if parts else ""
            following = nodes[position + 1] if position + 1 < len(nodes) else None
            after = self.tree.data(following)[:1] if following is not None else ""
            parts.append(self.node(node, depth, before, after))
        return joined(parts)

    def node(self, node: Node, depth: int, before: str, after: str) -> str:
        tree = self.tree
        tag = tree.tag(node)
        if tag == TEXT:
            return escaped(tree.data(node))
        if tag == OTHER or tag in SKIPPED:
            return ""
        if depth > _DEEPEST:
            return escaped(tree.text(node))
        special = self._special(node, tag, depth)
        if special is not None:
            return special
        return _marked(tag, self.run(tree.children(node), depth + 1), before, after)

    def _special(self, node: Node, tag: str, depth: int) -> str | None:
        """What is no plain wrapping of its content; None for all else."""
        tree = self.tree
        out: str | None = None
        if tag == "br":
            out = BREAK
        elif tag in _CODE:
            out = code_span(tree.text(node))
        elif tag == "a":
            out = self.link(node, depth)
        elif tag == "img":
            out = self.image(node)
        elif tag == "input":
            out = self.checkbox(node)
        elif tag == "x-tex":
            out = formula(tree.text(node), display=tree.attr(node, "mode") == "display")
        elif tag in {"button", "hr"} or (tag == "noscript" and self.repeats_image(node)):
            out = ""
        elif tag == "math" or self.is_math(node, tag):
            out = self.tex(node)
        return out

    def repeats_image(self, node: Node) -> bool:
        """Whether a noscript element only holds the plain form of the lazy image beside it."""
        tree = self.tree
        if tree.text(node).strip() or tree.first("img", node) is None:
            return False
        up = tree.parent(node)
        siblings = tree.elements(up) if up is not None else []
        at = siblings.index(node) if node in siblings else 0
        return at > 0 and (tree.tag(siblings[at - 1]) == "img" or tree.first("img", siblings[at - 1]) is not None)

    def is_math(self, node: Node, tag: str) -> bool:
        if tag not in {"span", "div"}:
            return False
        classes = self.tree.attr(node, "class") or ""
        return "katex" in classes or "mwe-math" in classes

    def tex(self, node: Node) -> str | None:
        """The TeX source that a rendered formula carries, None where it has none."""
        tree = self.tree
        note = tree.first('annotation[encoding="application/x-tex"]', node)
        if note is None:
            return None
        classes = tree.attr(node, "class") or ""
        display = "display" in classes or "block" in classes or tree.attr(node, "display") == "block"
        return formula(tree.text(note), display=display)

    def link(self, node: Node, depth: int) -> str:
        tree = self.tree
        href = tree.attr(node, "href")
        text = tree.text(node)
        if href is not None and len(text) < 40 and is_permalink(text, href, tree.attr(node, "class") or ""):
            return ""
        inner = self.run(tree.children(node), depth + 1)
        label = inner.replace(BREAK, " ").strip()
        url = self.resolve(href) if href is not None else None
        if url is None or not label:
            return inner
        lead = " " if inner[:1] == " " else ""
        trail = " " if inner[-1:] == " " else ""
        return f"{lead}[{label}]({destination(url)}{title_of(tree.attr(node, 'title'))}){trail}"

    def image(self, node: Node) -> str:
        tree = self.tree
        attrs = tree.attrs(node)
        alt = escaped(attrs.get("alt", "")).strip()
        source = image_source(attrs) or self._picture_source(node)
        url = self.resolve(source) if source else None
        if url is None:
            return alt
        if attrs.get("width") == "1" and attrs.get("height") == "1":
            return ""
        return f"![{alt}]({destination(url)}{title_of(attrs.get('title'))})"

    def _picture_source(self, node: Node) -> str | None:
        up = self.tree.parent(node)
        if up is None or self.tree.tag(up) != "picture":
            return None
        for source in self.tree.select("source", up):
            best = largest(self.tree.attr(source, "srcset") or self.tree.attr(source, "data-srcset") or "")
            if best:
                return best
        return None

    def checkbox(self, node: Node) -> str:
        tree = self.tree
        if (tree.attr(node, "type") or "").lower() != "checkbox":
            return ""
        up = tree.parent(node)
        while up is not None and tree.tag(up) not in BLOCKS:
            up = tree.parent(up)
        if up is None or tree.tag(up) not in {"li", "p"}:
            return ""
        return "[x]" if tree.attr(node, "checked") is not None else "[ ]"


def _marked(tag: str, inner: str, before: str, after: str) -> str:
    """The content of an inline element between its marks."""
    if tag in _STRONG:
        return emphasis(inner, "__" if before == "*" else "**", before, after)
    if tag in _ITALIC:
        return emphasis(inner, "_" if before == "*" else "*", before, after)
    if tag in {"sup", "sub"}:
        return raised(inner, tag)
    if tag in _STRUCK and inner.strip():
        return f"~~{inner.strip()}~~"
    if tag == "q":
        return f'"{inner}"'
    return f" {inner} " if tag in BLOCKS else inner


def title_of(title: str | None) -> str:
    """The title part of a link, quoted; "" without one."""
    text = _BLANK.sub(" ", title or "").strip()
    return ' "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if text else ""


def formula(tex: str, *, display: bool) -> str:
    """TeX between dollar signs, as GitHub reads it."""
    mark = "$$" if display else "$"
    return f"{mark}{tex.strip()}{mark}"
