"""Where an image really is: lazy attributes before placeholders, the largest candidate of a srcset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Mapping

_LAZY = (
    "data-src", "data-original", "data-lazy-src", "data-lazy", "data-original-src", "data-actualsrc", "data-url",
    "data-full-src", "data-hi-res-src", "data-echo", "data-image", "nitro-lazy-src",
)  # fmt: skip
_LAZY_SETS = ("data-srcset", "data-lazy-srcset", "nitro-lazy-srcset")
_CANDIDATE = later(r"\s*,*\s*(\S+?)(,+(?=\s|$)|\s+([\d.]+)([wxh])(?:\s+[\d.]+[wh])?\s*(?:,|$)|\s*(?:,\s|$))")
_STAND_IN = r"(?:blank|spacer|transparent|1x1|pixel|loading|loader|lazy\w*|placeholder\w*)"
_PLACEHOLDER = later(
    rf"(?:^|[/_-]){_STAND_IN}(?:[-_](?:{_STAND_IN}|image|img|data|gif|bg|avatar|\d+x\d+|[0-9a-f]{{1,10}}))*"
    r"\.(?:gif|png|svg|jpe?g|webp)(?:[?#]|$)",
    re.IGNORECASE,
)


def image_source(attrs: Mapping[str, str]) -> str | None:
    """The address to give for an image with these attributes, as written there; None where it has none."""
    src = attrs.get("src", "").strip()
    for name in _LAZY:
        value = attrs.get(name)
        if value and _is_address(value := value.strip()):
            return value
    if src and not _stands_in(src):
        return src
    for name in (*_LAZY_SETS, "srcset"):
        value = attrs.get(name)
        if value and (best := largest(value)):
            return best
    return None  # a stand-in alone shows nothing; its alt text does


def largest(srcset: str) -> str | None:
    """The candidate with the greatest width or density (WHATWG HTML, "parse a srcset attribute")."""
    best: str | None = None
    most = -1.0
    if len(srcset) > 20_000:
        return None
    for match in _CANDIDATE.finditer(srcset):
        url = match[1]
        if url[:5].lower() == "data:":
            continue
        size = _number(match[3]) if match[3] else 1.0
        if size > most:
            best, most = url, size
    return best


def needs_source(attrs: Mapping[str, str]) -> bool:
    """Whether a picture's other sources should be asked: the image itself names no real file."""
    return image_source(attrs) is None


def _number(digits: str) -> float:
    try:
        return float(digits)
    except ValueError:
        return 0.0


def _stands_in(src: str) -> bool:
    return src[:5].lower() == "data:" or src in {"#", "about:blank"} or _PLACEHOLDER.search(src) is not None


def _is_address(value: str) -> bool:
    return value[:5].lower() != "data:" and not value.startswith(("{", "[", "#")) and " " not in value
