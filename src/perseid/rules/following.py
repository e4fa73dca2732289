"""Where to go on from a page: links that a rule follows, and the next page of a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus

from perseid.model.item import Onward
from perseid.pattern import later
from perseid.rules import regexes, selecting
from perseid.rules.regexes import Overrun
from perseid.rules.selecting import Element, Scope, SourceFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perseid.dom.tree import Node, Tree
    from perseid.model.rule import Follow, NextPage, PageKind, Rule, Source
    from perseid.rules.page import Page

MAX_LINKS = 5_000
"""Of one page."""


def onward(
    rule: Rule, page: Page, kind: PageKind, *, list_page: int, found: int, notes: list[str]
) -> tuple[Onward, ...]:
    """The pages to go on to, each once, in the page's order, the list's next page last.

    `found` is how many items the page had: a parameter counts on only while pages bring something.
    """
    out: dict[str, Onward] = {}
    for follow in rule.follow:
        if kind in follow.on:
            for url in _followed(follow, page, notes):
                out.setdefault(url, Onward(url=url, kind=follow.to))
    links = len(out)
    out.pop(page.url, None)
    if rule.next is not None and kind == "list" and list_page < rule.next.limit:
        following = next_page(rule.next, page, list_page=list_page, brought=links + found, notes=notes)
        if following is not None and following != page.url:
            out.pop(following, None)
            out[following] = Onward(url=following, kind="list", list_page=list_page + 1)
    return tuple(out.values())[: MAX_LINKS + 1]


def next_page(how: NextPage, page: Page, *, list_page: int, brought: int, notes: list[str]) -> str | None:
    """The address of the list's next page, or None. A counted parameter ends where a page brings nothing."""
    if how.parameter is not None:
        if not brought:
            return None
        return _counted(page.url, how.parameter, how.start + how.step * list_page)
    for source in how.from_:
        for url in _addresses(source, page, notes):
            return url
    return _discovered(page) if how.auto else None


def _followed(follow: Follow, page: Page, notes: list[str]) -> Iterator[str]:
    left = follow.limit or MAX_LINKS
    seen: set[str] = set()
    try:
        for source in follow.from_:
            for url in _addresses(source, page, notes):
                if url in seen or not _wanted(follow, url):
                    continue
                seen.add(url)
                yield url
                left -= 1
                if not left:
                    return
    except Overrun as error:
        notes.append(f"follow: {error}")


def _wanted(follow: Follow, url: str) -> bool:
    if follow.match and not any(regexes.search(pattern, url) for pattern in follow.match):
        return False
    return not any(regexes.search(pattern, url) for pattern in follow.exclude)


def _addresses(source: Source, page: Page, notes: list[str]) -> Iterator[str]:
    """Absolute addresses without fragment; an element without `attr` means its link, or the one in or around it."""
    try:
        if (source.css or source.xpath) and source.attr is None and source.regex is None and source.jsonpath is None:
            parts = [scope.part for scope in selecting.scopes(source, page)]
            raw = [_link_of(page, part.node) if isinstance(part, Element) else part for part in parts]
        else:
            raw = list(selecting.values(source, Scope(page)))
    except SourceFault as fault:
        notes.append(f"follow: {fault}")
        return
    for each in raw:
        if isinstance(each, str) and (url := page.absolute(each)) and url.startswith(("http://", "https://")):
            yield url.partition("#")[0]


def _link_of(page: Page, node: Node) -> str | None:
    tree = page.tree
    if page.kind == "xml":
        return tree.attr(node, "href") or tree.text(node).strip() or None
    if (own := tree.attr(node, "href") or tree.attr(node, "src")) is not None:
        return own
    inner = tree.first("a[href]", node)
    if inner is not None:
        return tree.attr(inner, "href")
    up = tree.parent(node)
    while up is not None:
        if tree.tag(up) == "a":
            return tree.attr(up, "href")
        up = tree.parent(up)
    return None


def _counted(url: str, parameter: str, value: int) -> str:
    """The address with that parameter, the others in their order."""
    address, _, query = url.partition("#")[0].partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    written = f"{quote(parameter, safe='[]')}={value}"
    known = [unquote_plus(pair.partition("=")[0]) == parameter for pair in pairs]
    pairs = [written if same else pair for pair, same in zip(pairs, known, strict=True)]
    if not any(known):
        pairs.append(written)
    return f"{address}?{'&'.join(pairs)}"


_HEADER = later(r'<([^<>]{1,2000})>\s*;[^,]*?\brel\s*=\s*"?(?:[^",]*\s)?next(?=[\s",]|$)', re.IGNORECASE)
_NEXT = (
    "next, next page, nextpage, older, older posts, load more, show more, weiter, nächste, nächste seite, suivant, "
    "suivante, page suivante, siguiente, siguiente página, próxima, próximo, próxima página, successiva, successivo, "
    "avanti, volgende, følgende, następna, następny, dalej, další, следующая, вперёд, вперед, далее, nästa, neste, "
    "næste, seuraava, következő, sonraki, 下一页, 下一頁, 下页, 次へ, 次のページ, 次, 다음, 다음 페이지, "
    "التالي, הבא, tiếp, trang sau, ถัดไป, अगला"
)
_WORDS = frozenset(_NEXT.split(", "))
_ARROWS = " \xa0»›→>⟩▶❯…:-"
_CLASS = later(r"(?:^|[\s_-])(?:next|pagination-next|pager-next|nextpostslink|page-next)(?:$|[\s_-])", re.IGNORECASE)
_DISABLED = later(r"(?:^|[\s_-])(?:disabled|inactive)(?:$|[\s_-])", re.IGNORECASE)


def _discovered(page: Page) -> str | None:
    """By the Link header, by rel, then by what links say of themselves; else the number after the current one."""
    header = _HEADER.search(page.headers.get("link", "")[:8_000])
    if header is not None:
        return page.absolute(header[1])
    if page.is_json:
        return None
    for find in (_by_rel, _by_words, _by_number):
        found = find(page.tree)
        url = page.absolute(found) if found else None
        if url and url.startswith(("http://", "https://")) and url.partition("#")[0] != page.url.partition("#")[0]:
            return url.partition("#")[0]
    return None


def _by_rel(tree: Tree) -> str | None:
    for node in tree.select('link[rel~="next" i][href], a[rel~="next" i][href]'):
        return tree.attr(node, "href")
    return None


def _by_words(tree: Tree) -> str | None:
    likely: list[tuple[int, str]] = []
    for node in tree.select("a[href]")[:MAX_LINKS]:
        href = tree.attr(node, "href") or ""
        if not href or href.startswith(("#", "javascript:")) or _off(tree, node):
            continue
        said = " ".join(tree.text(node).split()).strip(_ARROWS).lower()
        label = " ".join((tree.attr(node, "aria-label") or tree.attr(node, "title") or "").split()).lower()
        if said in _WORDS or label in _WORDS:
            likely.append((0 if _in_pager(tree, node) else 1, href))
        elif _CLASS.search(tree.attr(node, "class") or "") and len(said) < 30:
            likely.append((2, href))
    return min(likely, default=(0, None), key=lambda pair: pair[0])[1]


def _by_number(tree: Tree) -> str | None:
    """In a pager the link that bears the number after the one that is marked or no link."""
    for pager in tree.select('[class*="pag" i], nav, [role="navigation"]')[:50]:
        links = tree.select("a[href]", pager)
        numbers = {" ".join(tree.text(node).split()): node for node in links}
        current = _current(tree, pager)
        if current is not None and (node := numbers.get(str(current + 1))) is not None:
            return tree.attr(node, "href")
    return None


def _current(tree: Tree, pager: Node) -> int | None:
    marked = '[aria-current], .current, .active, .selected, [class*="current" i], [class*="active" i], strong, b, em'
    for node in tree.select(marked, pager):
        said = tree.text(node).strip()
        if said.isdecimal() and len(said) < 7:
            return int(said)
    return None


def _in_pager(tree: Tree, node: Node) -> bool:
    up, steps = node, 0
    while up is not None and steps < 4:
        mark = f"{tree.attr(up, 'class') or ''} {tree.attr(up, 'id') or ''} {tree.attr(up, 'role') or ''}".lower()
        if "pag" in mark or "nav" in mark or tree.tag(up) == "nav":
            return True
        up, steps = tree.parent(up), steps + 1
    return False


def _off(tree: Tree, node: Node) -> bool:
    if tree.attr(node, "aria-disabled") == "true" or _DISABLED.search(tree.attr(node, "class") or ""):
        return True
    up = tree.parent(node)
    return up is not None and tree.tag(up) == "li" and bool(_DISABLED.search(tree.attr(up, "class") or ""))
