"""A document's asks: put to the language model side by side, their answers added to the document.

An ask that fails leaves its field out and a warning in the document; it never costs the page.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import msgspec

from perseid.answers.questions import question_of
from perseid.errors import PerseidError
from perseid.model.document import Document
from perseid.model.options import Ask, ScrapeOptions
from perseid.pattern import later
from perseid.ports.llm import LanguageModel

_LEAST_S = 1.0
_LINK = later(r"!?\[([^\[\]]*)\]\([^()\s]*[^()]*\)")
_MARKS = later(r"[*_`#>|\\]")


class Answer(NamedTuple):
    """`value` None with a `warning`: nothing came of the ask."""

    ask: Ask
    value: Any = None
    tokens: int = 0
    warning: str = ""


def for_asks(options: ScrapeOptions) -> ScrapeOptions:
    """The options by which a page is read: the model needs its markdown, whether or not the caller wants it."""
    if not options.asks or "markdown" in options.formats:
        return options
    return msgspec.structs.replace(options, formats=(*options.formats, "markdown"))


class Enricher:
    """Puts asks to one language model; all of a page are over `within_s` after the work on it began."""

    def __init__(self, model: LanguageModel, *, timeout_s: float, within_s: float) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._within_s = within_s

    async def enrich(self, document: Document, options: ScrapeOptions, *, spent_s: float) -> Document:
        """A document read with `for_asks`, with its answers; raises no planned error."""
        left_s = self._within_s - spent_s
        hindrance = _hindrance(document, left_s)
        if hindrance:
            answers = [Answer(ask, warning=hindrance) for ask in options.asks]
        else:
            timeout_s = min(self._timeout_s, left_s)
            answers = await asyncio.gather(*[self._answer(ask, document, timeout_s) for ask in options.asks])
        return _with(document, answers, options)

    async def _answer(self, ask: Ask, document: Document, timeout_s: float) -> Answer:
        page = document.markdown or ""
        question = question_of(ask)
        try:
            reply = await self._model.ask(
                question.system, question.user, material=(page,), schema=question.schema, timeout_s=timeout_s
            )
        except PerseidError as error:
            return Answer(ask, warning=str(error))
        if ask.kind == "clean" and reply.cut:
            return Answer(ask, None, reply.tokens, "the page is too long for the model to give it back whole")
        value = _quoted(reply.value["passages"], page) if ask.kind == "highlights" else reply.value
        return Answer(ask, value, reply.tokens, "the model was given only the beginning of the page" * reply.cut)


def _hindrance(document: Document, left_s: float) -> str:
    """Why nothing is asked about this page at all; empty where nothing hinders."""
    if document.status >= 400:
        return f"the site answered {document.status}, so nothing was asked of the language model"
    if not (document.markdown or "").strip():
        return "the page has no text to ask the language model about"
    if left_s < _LEAST_S:
        return "the page took so long that no time was left for the language model"
    return ""


def _quoted(passages: list[str], page: str) -> str:
    """The passages that really stand on the page, line breaks and markup aside; a quotation must not be made up."""
    text = _plain(page)
    kept = dict.fromkeys(passage.strip() for passage in passages if _plain(passage) and _plain(passage) in text)
    return "\n\n".join(kept)


def _plain(markdown: str) -> str:
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", markdown)).split())


def _with(document: Document, answers: list[Answer], options: ScrapeOptions) -> Document:
    cleaned = next((answer.value for answer in answers if answer.ask.kind == "clean" and answer.value), None)
    markdown = cleaned or document.markdown
    return msgspec.structs.replace(
        document,
        markdown=markdown if "markdown" in options.formats else None,
        answers=document.answers
        | {
            answer.ask.output: answer.value
            for answer in answers
            if answer.value is not None and answer.ask.kind != "clean"
        },
        warnings=[*document.warnings, *_warnings(answers)],
        tokens=document.tokens + sum(answer.tokens for answer in answers),
    )


def _warnings(answers: list[Answer]) -> list[str]:
    """One sentence for each cause, with all that it hit."""
    hit: dict[str, list[str]] = {}
    for answer in answers:
        if answer.warning:
            name = "onlyCleanContent" if answer.ask.kind == "clean" else answer.ask.output
            hit.setdefault(answer.warning, []).append(name)
    return [f"{', '.join(dict.fromkeys(names))}: {warning}" for warning, names in hit.items()]
