"""Markdown by turbohtml's own writer: what it gets wrong is put right in the tree before, or by converters.

Only elements that need it are touched, found by one select, so that plain pages cost little more than the
writer itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turbohtml import Element, Markdown, PlainText, Text

from perseid.content.markdown.code import GUTTER, language_of, named_language
from perseid.content.markdown.marks import PILCROWS, emphasis, is_permalink, raised
from perseid.content.markdown.source import image_source, largest
from perseid.content.markdown.turbo_table import settle_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.dom.tree import Node

    Resolve = Callable[[str], str | None]

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BOXES = frozenset({"div", "figure", "td", "span", "section"})
_LINKS_IN_CODE = ("code > a", "tt > a", "pre > a")
"""Links in code, and in what may become code; within tables much else may."""
_LONGEST_HANDLE = 40
"""Characters of a link that may be no more than the sign of its heading."""
_DROPPED = frozenset({"svg", "select", "textarea", "canvas", "audio", "video", "object"})


class Held(NamedTuple):
    """What a part of a page held that leaves traces in its markdown."""

    breaks: bool
    items: bool


def prepare(page: Any, node: Node, resolve: Resolve) -> Held:
    """Put the tree below `node`, a part of `page`, into a shape the writer renders right; links become absolute."""
    anchors = []
    tables = []
    breaks = node.tag == "br"
    # The whole page is searched faster than a part of it, and before it is changed: it keeps its elements by tag.
    code_links = any(page.select_one(css) is not None for css in _LINKS_IN_CODE)
    items = page.select_one("li") is not None and (node.tag == "li" or node.select_one("li") is not None)
    # One walk in C that hands out only what may need care; a selector list would cost three times that.
    for found in list(node.iter_elements(_CARED_FOR)):
        tag = found.tag
        if tag == "a":
            anchors.append(found)
        elif tag == "img":
            _image(found, resolve)
        elif tag == "table":
            tables.append(found)
        elif tag in _HEADINGS:
            _heading(found, resolve)
        elif tag in _DROPPED:
            found.extract()
        elif tag == "br":
            breaks = True
            _broken_code(found)
        else:
            _OTHERS[tag](found)
    for table in reversed(tables):
        settle_table(table)
    if anchors:
        _anchors(node, anchors, resolve, code_links=code_links or bool(tables))
    return Held(breaks, items)


def _anchors(node: Node, anchors: list[Any], resolve: Resolve, *, code_links: bool) -> None:
    if code_links and node.select_one("code > a") is not None:
        for anchor in anchors:
            if getattr(anchor.parent, "tag", "") == "code":
                _lift_out_of_code(anchor, anchor.parent)
    for anchor in anchors:
        href = anchor.attr("href")
        text = anchor.text
        if href is None:
            if not text and len(anchor) == 0:
                anchor.extract()  # only a target to jump to
        elif _says_nothing(anchor, href, text):
            anchor.extract()
        elif (url := resolve(href)) is None:
            anchor.unwrap()
        elif url != href:
            anchor.attrs["href"] = url


def _says_nothing(a: Any, href: str, text: str) -> bool:
    """Whether a link has nothing to click on, or only the sign that its heading can be linked to."""
    if not text or text.isspace():
        return a.select_one("img") is None
    if "#" not in href or len(text) >= _LONGEST_HANDLE:
        return False
    classes = a.attr("class")
    return bool(classes or text.strip() in PILCROWS) and is_permalink(text, href, classes or "")


def _lift_out_of_code(a: Any, code: Any) -> None:
    """Turn `<code>x <a>y</a> z</code>` inside out: within a code span Markdown has no links."""
    if not a.text.strip() or code.closest("pre") is not None:
        return
    rest = a.next_sibling
    before = list(a.previous_siblings)[::-1]
    if before:
        if all(type(node) is Text and not node.data.strip() for node in before):
            code.insert_before(*before)
        else:
            lead = Element("code")
            lead.extend(before)
            code.insert_before(lead)
    code.insert_before(a)
    a.wrap_children(Element("code"))
    if rest is None or (type(rest) is Text and rest.next_sibling is None and not rest.data.strip()):
        code.unwrap()


def _image(img: Any, resolve: Resolve) -> None:
    attrs = {name: value or "" for name, value in img.attrs.items() if not isinstance(value, list)}
    source = image_source(attrs)
    if source is None:
        source = _picture_source(img)
    url = resolve(source) if source else None
    if url is None or (attrs.get("width") == "1" and attrs.get("height") == "1"):
        alt = attrs.get("alt", "").strip()
        if alt and url is None:
            img.replace_with(Text(alt))
        else:
            img.extract()
        return
    img.attrs["src"] = url
    alt = attrs.get("alt", "")
    if "\n" in alt:
        img.attrs["alt"] = " ".join(alt.split())


def _picture_source(img: Any) -> str | None:
    picture = img.parent
    if picture is None or not isinstance(picture, Element) or picture.tag != "picture":
        return None
    for source in picture.select("source"):
        candidates = source.attr("srcset") or source.attr("data-srcset")
        if candidates and (best := largest(candidates)):
            return best
    return None


def _code_block(pre: Any) -> None:
    code = None
    lines = False
    if pre.select_one("*") is not None:
        for part in pre.select(GUTTER):
            part.extract()
        code = pre.select_one("code")
        lines = pre.select_one("div, li, tr, p") is not None
    language = _language(pre, code)
    if lines or (language and (code is None or code.attr("class") != f"language-{language}")):
        text = _text_by_lines(pre) if lines else _text_with_breaks(pre)
        pre.clear()
        attrs: dict[str, str | list[str] | None] = {"class": f"language-{language}"} if language else {}
        pre.append(Element("code", attrs, [Text(text)]))


def _language(pre: Any, code: Any) -> str:
    """What the classes and attributes of the code, its block and up to three boxes round it name."""
    elements = (pre,) if code is None else (code, pre)
    classes = [element.attr("class") or "" for element in elements]
    if language := language_of(*classes):
        return language
    for element, known in zip(elements, classes, strict=True):
        if len(element.attrs) > bool(known):
            attr = element.attr
            value = attr("data-lang") or attr("data-language") or attr("lang")
            if value and (language := named_language(value)):
                return language
    up = pre.parent
    for _ in range(3):
        if type(up) is not Element or up.tag not in _BOXES:
            break
        known = up.attr("class")
        if known and (language := language_of(known)):
            return language
        if (value := up.attr("data-lang")) and (language := named_language(value)):
            return language
        up = up.parent
    return ""


def _text_with_breaks(pre: Any) -> str:
    for br in pre.select("br"):
        br.replace_with(Text("\n"))
    return pre.text  # type: ignore[no-any-return]  # untyped node


def _text_by_lines(pre: Any) -> str:
    """Code whose lines are blocks of their own."""
    for block in pre.select("div, li, tr, p"):
        if not block.text.endswith("\n") and block.select_one("div, li, tr, p") is None:
            block.append(Text("\n"))
    return _text_with_breaks(pre)


def _broken_code(br: Any) -> None:
    """Code with line breaks that is in no `pre`: a block all the same."""
    code = br.closest("code")
    if code is None or br.closest("pre, table, a") is not None:
        return
    text = _text_with_breaks(code)
    code.clear()
    code.append(Text(text))
    code.wrap(Element("pre"))


def _heading(heading: Any, resolve: Resolve) -> None:
    if not heading.text.strip() and heading.select_one("img") is None:
        heading.extract()
    elif heading.closest("a") is not None:
        _link_inside(heading, resolve)


def _link_inside(heading: Any, resolve: Resolve) -> None:
    """A heading in a link becomes a link in a heading; what else the link held keeps its text."""
    a = heading.closest("a")
    if a is None or a.parent is None:  # detached with code that was written anew
        return
    href = a.attr("href")
    url = resolve(href) if href else None
    if url is not None:
        heading.wrap_children(Element("a", {"href": url}))
    a.unwrap()


def _math(math: Any) -> None:
    note = math.select_one('annotation[encoding="application/x-tex"]')
    if note is None:
        return
    tex = note.text.strip()
    around = math.closest(".katex-display, .mwe-math-element-block") or math
    block = around is not math or math.attr("display") == "block"
    if around is math:
        around = math.closest(".katex, .mwe-math-element") or math
    around.replace_with(raw(tex, display=block))


def raw(tex: str, *, display: bool) -> Element:
    """A formula as an element whose text the writer copies as it is."""
    return Element("x-raw", {}, [Text(_tex(tex, display=display))])


def _tex(tex: str, *, display: bool) -> str:
    mark = "$$" if display else "$"
    return f"{mark}{tex.strip()}{mark}"


def _noscript(noscript: Any) -> None:
    """The plain image for browsers without scripts stands beside the lazy one: keep one of them."""
    image = noscript.select_one("img")
    if image is None or noscript.text.strip():
        return
    before = noscript.previous_sibling
    while before is not None and not isinstance(before, Element):
        before = before.previous_sibling
    if before is not None and (before.tag == "img" or before.select_one("img") is not None):
        noscript.extract()


def _button(button: Any) -> None:
    if button.closest("h1, h2, h3, h4, h5, h6, summary, dt") is None:
        button.extract()


def _typed(element: Any) -> None:
    element.tag = "code"


def _checkbox(box: Any) -> None:
    if (box.attr("type") or "").lower() == "checkbox" and box.closest("li") is not None:
        box.replace_with(Element("x-raw", {}, [Text("[x]" if box.attr("checked") is not None else "[ ]")]))


_OTHERS: dict[str, Callable[[Any], None]] = {
    "pre": _code_block,
    "math": _math,
    "noscript": _noscript,
    "button": _button,
    "input": _checkbox,
    "tt": _typed,
}


_CARED_FOR = frozenset({"a", "br", "img", "table", *_HEADINGS, *_DROPPED, *_OTHERS})


def _emphasised(mark: str, tags: frozenset[str]) -> Callable[[Element, str], str]:
    other = mark.replace("*", "_")

    def convert(element: Element, inner: str) -> str:
        if not inner:
            return " " if element.text.isspace() else ""
        before = element.previous_sibling
        # Two runs of asterisks in a row would be one.
        own = other if type(before) is Element and before.tag in tags else mark
        if inner[0].isalnum() and inner[-1].isalnum() and "\n\n" not in inner:
            return f"{own}{inner}{own}"  # letters at its edges: it is read right whatever stands round it
        after = element.next_sibling
        left = before.data[-1:] if type(before) is Text else ""
        right = after.data[:1] if type(after) is Text else ""
        # A code span, which technical pages emphasise most, with no letters beside it.
        span = inner[0] == "`" == inner[-1] and "\n\n" not in inner and "```" not in inner
        if span and not (left.isalnum() or right.isalnum()):
            return f"{own}{inner}{own}"
        return emphasis(inner, own, left, right)

    return convert


_STRONG = _emphasised("**", frozenset({"strong", "b"}))
_ITALIC = _emphasised("*", frozenset({"em", "i"}))


class _Unpacked(Markdown):
    """Options that are laid out for the writer once, not for each page."""

    def _unpack(self) -> dict[str, object]:
        return _LAID_OUT or super()._unpack()


_LAID_OUT: dict[str, object] = {}
_OPTIONS = _Unpacked(
    links=Markdown.Links(autolink=False),
    converters={
        "strong": _STRONG,
        "b": _STRONG,
        "em": _ITALIC,
        "i": _ITALIC,
        "sup": lambda _element, inner: raised(inner, "sup"),
        "sub": lambda _element, inner: raised(inner, "sub"),
        "x-raw": lambda element, _inner: element.text,
        "x-tex": lambda element, _inner: _tex(element.text, display=element.attr("mode") == "display"),
    },
)


_LAID_OUT.update(_OPTIONS._unpack())  # noqa: SLF001  # its own method, overridden


def render(node: Node) -> str:
    """The markdown of a prepared node."""
    return node.to_markdown(_OPTIONS)  # type: ignore[no-any-return]  # untyped node


_PLAIN = PlainText(layout="strict")


def plain(node: Node) -> str:
    """The plain text of a node."""
    return node.to_text(_PLAIN)  # type: ignore[no-any-return]  # untyped node
