"""The formats of version 2 as objects; those of version 1 become the same objects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from perseid.api.firecrawl.body.base import Body, Int, Loose, Prompt, refuse

ONE_SCREENSHOT = "You may only specify one screenshot format"
TRACKING_NEEDS_MARKDOWN = "The changeTracking format requires the markdown format to be specified as well"
TWO_JSON = "Cannot specify both json and deterministicJson formats"
RAW_ALONE = "The rawBase64 format cannot be combined with other formats"

PlainName = Literal[
    "markdown",
    "html",
    "rawHtml",
    "rawBase64",
    "links",
    "images",
    "summary",
    "branding",
    "product",
    "menu",
    "audio",
    "video",
]
Name = Literal[PlainName, "json", "deterministicJson", "changeTracking", "screenshot", "screenshot@fullPage"]
Schema = Any
"""JSON Schema, whatever it is; a model gets it as it came."""


class Plain(Body):
    type: PlainName


class Json(Body):
    type: Literal["json", "deterministicJson"]
    schema_: Schema = Field(default=None, alias="schema")
    prompt: Prompt | None = None

    @field_validator("schema_")
    @classmethod
    def _closed(cls, schema: Schema) -> Schema:
        if _open_object(schema):
            raise refuse("An object of the schema takes any property and names none: name what is to be extracted")
        return schema


class Extract(Body):
    """The older name of `json`, of version 1 alone: its answer stands under that name."""

    type: Literal["extract"]
    schema_: Schema = Field(default=None, alias="schema")
    prompt: Prompt | None = None


class ChangeTracking(Body):
    type: Literal["changeTracking"]
    modes: list[Literal["json", "git-diff"]] = Field(default_factory=list)
    schema_: Schema = Field(default=None, alias="schema")
    prompt: str | None = None
    tag: str | None = None


class Viewport(Body):
    width: Annotated[Int, Field(gt=0, le=7680)]
    height: Annotated[Int, Field(gt=0, le=4320)]


class Screenshot(Loose):
    type: Literal["screenshot"]
    full_page: bool = False
    quality: Annotated[Int, Field(ge=1, le=100)] | None = None
    viewport: Viewport | None = None


class Selector(Body):
    selector: str
    attribute: str


class Attributes(Body):
    type: Literal["attributes"]
    selectors: list[Selector]


class Question(Body):
    type: Literal["question"]
    question: Annotated[str, Field(min_length=1, max_length=10_000)]


class Highlights(Body):
    type: Literal["highlights"]
    query: Annotated[str, Field(min_length=1, max_length=10_000)]


class Query(Body):
    type: Literal["query"]
    prompt: Prompt
    mode: Literal["freeform", "directQuote"] = "freeform"


FormatObject = Plain | Json | Extract | ChangeTracking | Screenshot | Attributes | Question | Highlights | Query

_TAGS = {
    "json": "json",
    "deterministicJson": "json",
    "changeTracking": "changeTracking",
    "screenshot": "screenshot",
    "attributes": "attributes",
    "question": "question",
    "highlights": "highlights",
    "query": "query",
}


def _tag(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return _TAGS.get(kind, "plain") if isinstance(kind, str) else "plain"


Format = Annotated[
    Annotated[Name, Tag("name")]
    | Annotated[Plain, Tag("plain")]
    | Annotated[Json, Tag("json")]
    | Annotated[ChangeTracking, Tag("changeTracking")]
    | Annotated[Screenshot, Tag("screenshot")]
    | Annotated[Attributes, Tag("attributes")]
    | Annotated[Question, Tag("question")]
    | Annotated[Highlights, Tag("highlights")]
    | Annotated[Query, Tag("query")],
    Discriminator(_tag),
]


def as_object(wanted: Name | FormatObject) -> FormatObject:
    """The object that a bare name stands for."""
    match wanted:
        case "json" | "deterministicJson":
            return Json(type=wanted)
        case "changeTracking":
            return ChangeTracking(type=wanted)
        case "screenshot":
            return Screenshot(type=wanted)
        case "screenshot@fullPage":
            return Screenshot.model_validate({"type": "screenshot", "fullPage": True})
        case str():
            return Plain(type=wanted)
        case _:
            return wanted


def check_together(formats: list[FormatObject]) -> None:
    """The rules for formats beside one another. Raises for the first that is broken."""
    kinds = [each.type for each in formats]
    if kinds.count("screenshot") > 1:
        raise refuse(ONE_SCREENSHOT)
    if "changeTracking" in kinds and "markdown" not in kinds:
        raise refuse(TRACKING_NEEDS_MARKDOWN)
    if "json" in kinds and "deterministicJson" in kinds:
        raise refuse(TWO_JSON)
    if "rawBase64" in kinds and len(set(kinds)) > 1:
        raise refuse(RAW_ALONE)


def _open_object(schema: Schema) -> bool:
    """Whether some part of a schema is an object that takes anything and names nothing."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if part.get("type") == "object" and part.get("additionalProperties") is True and not part.get("properties"):
                return True
            waiting += part.values()
    return False
