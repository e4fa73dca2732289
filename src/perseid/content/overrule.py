"""What single blocks can't tell: repeats of the same text, and what follows below a complete article."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content import pagetype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.content.features import Columns
    from perseid.content.survey import Survey

_REPEATED = 40
"""Characters from which a text that stands on the page twice is worth a look."""
_ARTICLE = 500
"""The same for an article that another one follows."""
_MAY_REPEAT = frozenset(("td", "th", "pre"))
_COMPLETE = 400
"""Characters of likely prose outside the comments that make a page an article with comments."""


def overrule(survey: Survey, odds: Sequence[float], columns: Columns, kind: str) -> list[float]:
    """The odds of each block in the light of the whole page."""
    out = list(odds)
    if kind != pagetype.DOCUMENTATION:
        # Reference pages repeat themselves on purpose: a summary above, the details below.
        _drop_repeats(survey, out)
    if kind == pagetype.ARTICLE:
        _doubt_comments(survey, out)
        _doubt_next_article(survey, out, columns)
    return out


def _drop_repeats(survey: Survey, odds: list[float]) -> None:
    """Of equal texts the likeliest stays, the first of them where they are about as likely."""
    best: dict[str, int] = {}
    tags, units = survey.flat.tags, survey.units
    for row, text in enumerate(survey.texts):
        if len(text) < _REPEATED or tags[units[row]] in _MAY_REPEAT:
            continue
        known = best.get(text)
        if known is None:
            best[text] = row
        elif odds[row] > odds[known] + 0.5:
            odds[known] -= 6
            best[text] = row
        else:
            odds[row] -= 6


def _doubt_comments(survey: Survey, odds: list[float]) -> None:
    shares, stops, chars = survey.shares, survey.stops, survey.chars
    commented = [row for row, b in enumerate(survey.units) if shares[b][0] >= 0]
    if not commented:
        return
    outside = sum(
        chars[b] for b, odd in zip(survey.units, odds, strict=True) if odd > 0 and stops[b] and shares[b][0] < 0
    )
    if outside >= _COMPLETE:
        for row in commented:
            odds[row] -= 2


def _doubt_next_article(survey: Survey, odds: list[float], columns: Columns) -> None:
    """After a complete article below the h1 that the title repeats, another h1 outside it heads something else."""
    tags, chars, stops, units = survey.flat.tags, survey.chars, survey.stops, survey.units
    own = ""
    prose = 0
    for row, b in enumerate(units):
        if tags[b] != "h1":
            prose += chars[b] if own and stops[b] and odds[row] > 0 else 0
        elif not own:
            own = survey.texts[row] if columns["in_title"][row] else ""
        elif survey.texts[row] != own and columns["centre"][row] > 0 and prose >= _ARTICLE:
            for later in range(row, len(units)):
                odds[later] -= 2.5
            return
