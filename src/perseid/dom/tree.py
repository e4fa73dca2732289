"""Parses a page once, with whichever backend can: the door to this room."""

from __future__ import annotations

from typing import Literal

from perseid.dom.node import OTHER, TEXT, Backend, Flat, Node, Tree
from perseid.dom.turbo import TurboTree

__all__ = ["OTHER", "TEXT", "Backend", "Flat", "Node", "Tree", "parse"]


def parse(html: str, *, backend: Literal["auto", "turbohtml", "lexbor"] = "auto", decoded: bool = False) -> Tree:
    """The tree of `html`, whatever `html` holds; "auto" is turbohtml, and lexbor where that raises.

    Lone surrogates become U+FFFD, so that all text taken from the tree can be encoded; none are looked for in
    what was `decoded` from bytes, which can't yield any.
    """
    if not (decoded or html.isascii()):
        try:
            html.encode("utf-16-le")  # finds surrogates at a quarter of the cost of UTF-8
        except UnicodeEncodeError:
            html = html.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if backend == "lexbor":
        return _with_lexbor(html)
    if backend == "turbohtml":
        return TurboTree(html)
    try:
        return TurboTree(html)
    except Exception:  # noqa: BLE001  # a young C parser: whatever it raises, the page is not lost
        return _with_lexbor(html)


def _with_lexbor(html: str) -> Tree:
    from perseid.dom.lexbor import LexborTree  # noqa: PLC0415  start-up time, and hardly a page needs it

    return LexborTree(html)
