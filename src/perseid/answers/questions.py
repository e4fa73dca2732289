"""The questions that may be asked of a page, in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from perseid.model.options import Ask

_PAGE = "You are given one web page as markdown."
_ONLY = (
    "Use only what the page says, not what you know from elsewhere. Keep names, numbers, dates and addresses exactly "
    "as they stand there."
)
_JSON = (
    f"{_PAGE} You extract data from it. {_ONLY} Where the page does not say something, leave the field out, or give "
    "null or an empty list where the form demands the field. Never make up a value."
)
_SUMMARY = (
    f"{_PAGE} You sum it up in three to six sentences of plain prose, in the language of the page, beginning with what "
    f"matters most. {_ONLY} Don't mention that this is a page or a summary."
)
_QUESTION = (
    f"{_PAGE} You answer a question about it, briefly, in the language of the question. {_ONLY} If the page does not "
    "hold the answer, say so in one sentence."
)
_HIGHLIGHTS = (
    f"{_PAGE} You pick the passages that serve a search, each copied letter by letter from the page, the best first, "
    "at most ten. Leave out what does not serve it; the list may be empty."
)
_CLEAN = (
    f"{_PAGE} You give it back without what is not its content: navigation, menus, cookie notices, advertising, "
    "sharing links, newsletter forms, lists of other articles. Change nothing else: not a word, not a link, not the "
    "order, not the markdown. Answer with the page alone, without a fence."
)
PASSAGES: dict[str, Any] = {
    "type": "object",
    "properties": {"passages": {"type": "array", "items": {"type": "string"}}},
    "required": ["passages"],
    "additionalProperties": False,
}


class Question(NamedTuple):
    system: str
    user: str
    schema: dict[str, Any] | None = None


def question_of(ask: Ask) -> Question:
    prompt = (ask.prompt or "").strip()
    match ask.kind:
        case "json":
            wanted = prompt or ("Extract what the schema asks for." if ask.schema else "Extract the main facts.")
            return Question(_JSON, wanted, ask.schema or {})
        case "summary":
            return Question(_SUMMARY, prompt or "Sum the page up.")
        case "question":
            return Question(_QUESTION, f"The question: {prompt}")
        case "highlights":
            return Question(_HIGHLIGHTS, f"The search: {prompt}", PASSAGES)
        case "clean":
            return Question(_CLEAN, "Give the page back without what is not its content.")
