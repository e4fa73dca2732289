"""Inline marks both writers share: where emphasis may stand, what a permalink is, raised and lowered text."""

from __future__ import annotations

import re
from functools import lru_cache

from perseid.pattern import later

_EDGE = later(r"^((?:\s|<br>|\\\n|\x01)*)(.*?)((?:\s|<br>|\\\n|\x01)*)$", re.DOTALL)
_EDGY = frozenset(("", "<", ">", "\\", "\x01"))
"""What a line break begins or ends with, beside white space."""
_TRAILING_PUNCTUATION = re.compile(r"[.,:;!?。，：；！？、]+$")  # noqa: RUF001  # full-width marks are meant
PILCROWS = frozenset("¶#§🔗⚓∞†")
_PERMALINK_CLASSES = ("headerlink", "permalink", "anchor", "header-link", "heading-link", "hash-link", "heading-anchor")
_PERMALINK_TEXTS = ("permalink", "link to ", "direct link", "anchor", "copy link", "link", "¶")


def emphasis(inner: str, mark: str, before: str, after: str) -> str:
    """`inner` between emphasis marks that GFM will read as such (CommonMark 6.2, flanking runs).

    White space and line breaks at the edges go outside; `before` and `after` are the characters that follow
    on the marks outside, where they are known.
    """
    lead, core, trail = "", inner, ""
    if inner[:1] in _EDGY or inner[-1:] in _EDGY or inner[0].isspace() or inner[-1].isspace():
        match = _EDGE.match(inner)
        if match is None or not match[2]:
            return " " if inner and inner.isspace() else inner
        lead, core, trail = _outside(match[1]) if before else "", match[2], _outside(match[3])
    if "\n\n" in core or core.startswith(("#", "- ", "> ", "```", "|")):
        return inner  # blocks inside an inline mark: the mark means nothing there
    if _is_marked(core, mark):
        return f"{lead}{core}{trail}"  # the same mark twice
    fits = bool(lead) or not before.isalnum() or core[0].isalnum()
    if not trail and after.isalnum() and not core[-1].isalnum():
        bare = _TRAILING_PUNCTUATION.sub("", core)
        core, trail = (bare, core[len(bare) :]) if bare else (core, "")
        fits = fits and core[-1].isalnum()
    if fits:
        return f"{lead}{mark}{core}{mark}{trail}"
    tag = "strong" if len(mark) == 2 else "em"
    return f"{lead}<{tag}>{core}</{tag}>{trail}"


def _is_marked(core: str, mark: str) -> bool:
    size = len(mark)
    return len(core) > 2 * size and core.startswith(mark) and core.endswith(mark) and mark not in core[size:-size]


def _outside(edge: str) -> str:
    if not edge:
        return ""
    return edge if "\n" in edge or "<br>" in edge or "\x01" in edge else " "


def raised(inner: str, tag: str) -> str:
    """Superscript and subscript as HTML, which GFM takes; footnote marks stay plain."""
    core = inner.strip()
    if not core:
        return inner
    if len(core) > 40 or core[0] in "[\\(*†‡" or "](" in core or core in {"TM", "®", "™"}:
        return inner
    return f"<{tag}>{core}</{tag}>"


def is_permalink(text: str, href: str, classes: str) -> bool:
    """Whether a link is only the handle by which its heading is linked to."""
    core = text.strip()
    if core in PILCROWS:
        return "#" in href or _names_permalink(classes)
    if classes and _names_permalink(classes):
        return core.lower().startswith(_PERMALINK_TEXTS) or not any(char.isalnum() for char in core)
    return False


@lru_cache(maxsize=1024)
def _names_permalink(classes: str) -> bool:
    return any(name in classes for name in _PERMALINK_CLASSES)
