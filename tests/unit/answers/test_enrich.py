"""What becomes of a document's asks."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.answers.enrich import Enricher, for_asks
from perseid.errors import Unavailable
from perseid.llm.nomodel import NoModel
from perseid.model.document import Document
from perseid.model.options import Ask, ScrapeOptions
from perseid.ports.llm import Reply

from .conftest import Asked, Scripted

PAGE = "# Stones\n\nA **stone** of [7 kg](https://e/kg) lies here.\n\nAnother one is lighter."
SUMMARY = Ask(kind="summary", output="summary")
FACTS = Ask(kind="json", output="json", prompt="The weight", schema={"type": "object", "required": ["kg"]})
QUESTION = Ask(kind="question", output="answer", prompt="How heavy?")
QUOTES = Ask(kind="highlights", output="highlights", prompt="weight")
CLEAN = Ask(kind="clean", output="markdown")


def document(**fields: Any) -> Document:
    return Document(**({"url": "http://e/", "source_url": "http://e/", "status": 200, "markdown": PAGE} | fields))


async def enrich(model: Any, *asks: Ask, page: Document | None = None, left_s: float = 60, **options: Any) -> Document:
    return await Enricher(model, timeout_s=30, within_s=150).enrich(
        page or document(), ScrapeOptions(asks=asks, **options), spent_s=150 - left_s
    )


async def test_each_ask_is_answered_under_its_output(model: Scripted) -> None:
    def answer(asked: Asked) -> Any:
        return {"kg": 7} if asked.schema else "In short." if "sum" in asked.system else "Seven."

    model.answers = [answer]
    made = await enrich(model, SUMMARY, FACTS, QUESTION)
    assert made.answers == {"summary": "In short.", "json": {"kg": 7}, "answer": "Seven."}
    assert (made.tokens, made.warnings, made.markdown) == (30, [], PAGE)


async def test_the_page_is_material_and_never_part_of_the_instructions(model: Scripted) -> None:
    model.answers = ["x"]
    await enrich(model, SUMMARY)
    assert model.asked[0].material == (PAGE,)
    assert "stone" not in (model.asked[0].system + model.asked[0].user).lower()


async def test_markdown_that_only_the_model_needed_is_left_out(model: Scripted) -> None:
    model.answers = ["x"]
    made = await enrich(model, SUMMARY, formats=("links",))
    assert (made.markdown, made.answers) == (None, {"summary": "x"})


def test_a_page_that_is_asked_about_is_read_as_markdown() -> None:
    assert for_asks(ScrapeOptions(formats=("links",), asks=(SUMMARY,))).formats == ("links", "markdown")
    plain = ScrapeOptions(formats=("links",))
    assert for_asks(plain) is plain


async def test_a_failing_ask_is_a_warning_and_leaves_the_others(model: Scripted) -> None:
    def answer(asked: Asked) -> Any:
        if asked.schema:
            raise Unavailable("the model is busy", retryable=True)
        return "In short."

    model.answers = [answer]
    made = await enrich(model, FACTS, SUMMARY)
    assert made.answers == {"summary": "In short."}
    assert made.warnings == ["json: the model is busy"]


async def test_without_a_model_one_warning_says_so_for_all() -> None:
    made = await enrich(NoModel(), FACTS, SUMMARY, CLEAN)
    (warning,) = made.warnings
    assert warning.startswith("json, summary, onlyCleanContent: no language model is configured; set PERSEID_LLM__")
    assert (made.answers, made.markdown) == ({}, PAGE)


async def test_a_schema_that_is_none_costs_its_field_and_not_the_page(model: Scripted) -> None:
    model.answers = [{"kg": 7}]
    made = await enrich(model, Ask(kind="json", output="json", schema={"type": "nonsense"}))
    assert made.answers == {}
    assert "no valid JSON Schema" in made.warnings[0]


async def test_a_cleaned_page_replaces_the_markdown(model: Scripted) -> None:
    model.answers = ["# Stones"]
    made = await enrich(model, CLEAN)
    assert (made.markdown, made.answers) == ("# Stones", {})


async def test_a_page_too_long_to_be_cleaned_is_kept_as_it_is(model: Scripted) -> None:
    model.answers = [Reply("# Sto", 5, cut=True)]
    made = await enrich(model, CLEAN)
    assert made.markdown == PAGE
    assert made.warnings == ["onlyCleanContent: the page is too long for the model to give it back whole"]


async def test_an_answer_from_the_beginning_of_a_page_alone_says_so(model: Scripted) -> None:
    model.answers = [Reply("In short.", 5, cut=True)]
    made = await enrich(model, SUMMARY)
    assert made.answers == {"summary": "In short."}
    assert made.warnings == ["summary: the model was given only the beginning of the page"]


async def test_quotations_that_the_page_does_not_hold_are_dropped(model: Scripted) -> None:
    model.answers = [{"passages": ["A stone of 7 kg lies\nhere.", "Stones are heavy.", "Another one is lighter.", " "]}]
    made = await enrich(model, QUOTES)
    assert made.answers == {"highlights": "A stone of 7 kg lies\nhere.\n\nAnother one is lighter."}


@pytest.mark.parametrize(
    ("page", "left_s", "reason"),
    [
        (document(status=404), 60, "the site answered 404"),
        (document(markdown="\n"), 60, "no text"),
        (document(markdown=None), 60, "no text"),
        (document(), 0.5, "no time"),
    ],
)
async def test_what_can_not_be_asked_about_costs_nothing(
    model: Scripted, page: Document, left_s: float, reason: str
) -> None:
    made = await enrich(model, SUMMARY, page=page, left_s=left_s)
    assert model.asked == []
    assert reason in made.warnings[0]


async def test_asks_end_before_the_job_does(model: Scripted) -> None:
    model.answers = ["x"]
    await enrich(model, SUMMARY, left_s=12)
    await enrich(model, SUMMARY, left_s=90)
    assert [asked.timeout_s for asked in model.asked] == [12, 30]
