"""Pages with too little to judge blocks by: those of a few lines, and those that are text and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content.signs import BITS

if TYPE_CHECKING:
    from perseid.content.survey import Survey

_FEW = 600
"""Characters of text, clutter included, up to which a page is one of a few lines."""
_BARE = 20_000
"""Characters up to which a page may be text and nothing else: larger ones have a frame that bears other names."""
_MOST_LINKED = 0.2
"""Share of its text that stands in links."""
_LONG = 40
"""Characters from which a text says something."""
_TAGS = BITS["<nav>"] | BITS["<aside>"] | BITS["<footer>"]
_HEADER = BITS["<header>"]
_WORDS = BITS["nav"] | BITS["side"] | BITS["foot"] | BITS["ad"] | BITS["popup"] | BITS["share"] | BITS["hidden"]


def content_of(survey: Survey) -> list[bool] | None:
    """Which of the survey's units are content; None for pages with more to go by, or nothing but clutter."""
    size = survey.total[0]
    if size > _BARE or (size > _FEW and sum(survey.linked) > _MOST_LINKED * size):
        return None
    labels = [not _is_clutter(survey, unit) for unit in survey.units]
    if size > _FEW:
        # A text that stands twice is decoration, or a summary: which of the two, others judge.
        return labels if all(labels) and not _repeats(survey) else None
    return labels if any(labels) else None


def _repeats(survey: Survey) -> bool:
    long = [text for text in survey.texts if len(text) >= _LONG]
    return len(set(long)) < len(long)


def _is_clutter(survey: Survey, unit: int) -> bool:
    """Tags count however much they hold; words of classes only where they don't wrap most of the page."""
    marks = survey.small[unit]
    tags = marks | survey.big[unit]
    in_article = survey.article[unit] >= 0
    return bool(tags & _TAGS or marks & _WORDS or (tags & _HEADER and not in_article))
