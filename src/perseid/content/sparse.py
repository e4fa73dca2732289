"""Pages of a few lines: too little to judge blocks by, so that only what calls itself clutter goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content.signs import BITS

if TYPE_CHECKING:
    from perseid.content.survey import Survey

_FEW = 600
"""Characters of text, clutter included, up to which a page is one of a few lines."""
_TAGS = BITS["<nav>"] | BITS["<aside>"] | BITS["<footer>"]
_HEADER = BITS["<header>"]
_WORDS = BITS["nav"] | BITS["side"] | BITS["foot"] | BITS["ad"] | BITS["popup"] | BITS["share"] | BITS["hidden"]


def content_of(survey: Survey) -> list[bool] | None:
    """Which of the survey's units are content; None for pages with more to go by, or nothing but clutter."""
    if survey.total[0] > _FEW:
        return None
    labels = [not _is_clutter(survey, unit) for unit in survey.units]
    return labels if any(labels) else None


def _is_clutter(survey: Survey, unit: int) -> bool:
    """Tags count however much they hold; words of classes only where they don't wrap most of the page."""
    marks = survey.small[unit]
    tags = marks | survey.big[unit]
    in_article = survey.article[unit] >= 0
    return bool(tags & _TAGS or marks & _WORDS or (tags & _HEADER and not in_article))
