"""How one page is to be read: the options of both versions, and of each what only it has."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from perseid.api.firecrawl.body import action
from perseid.api.firecrawl.body.action import Action
from perseid.api.firecrawl.body.base import Body, Int, Loose, Prompt, refuse
from perseid.api.firecrawl.body.formats import (
    ONE_SCREENSHOT,
    ChangeTracking,
    Extract,
    Format,
    FormatObject,
    Json,
    Plain,
    Schema,
    as_object,
    check_together,
)
from perseid.api.firecrawl.body.parsers import DEFAULT_PARSERS, Parsers, Parsing, parsing

WAIT_TOO_LONG = "waitFor must not exceed half of timeout"
WAIT_TOTAL = "The actions and waitFor together may wait for at most 60 seconds"
TOO_MANY_ACTIONS = f"At most {action.MOST} actions may be given"
EXTRACT_PAIR = "When 'extract' or 'json' format is specified, corresponding options must be provided, and vice versa"
_MOST_WAIT_MS = 60_000
_COUNTRY = r"^(?:[A-Za-z]{2}|us-generic|us-whitelist|US-GENERIC|US-WHITELIST)$"

Milliseconds = Annotated[Int, Field(ge=0, le=10**13)]


Proxy = Literal["basic", "stealth", "enhanced", "auto"]


class Location(Loose):
    country: Annotated[str, Field(pattern=_COUNTRY)] = "us-generic"
    languages: list[str] | None = None


class Audit(Loose):
    username: Annotated[str, Field(max_length=1024)] | None = None


class Request(Body):
    """What nearly every body may carry besides what it is about."""

    origin: str = "api"
    integration: str = ""

    @property
    def from_website(self) -> bool:
        return "website" in self.origin


class Page(Body):
    """The options that both versions have. `formats_wanted`, `parsing` and `place` are the same for both."""

    headers: dict[str, str] | None = None
    include_tags: list[str] | None = None
    exclude_tags: list[str] | None = None
    only_main_content: bool = True
    only_clean_content: bool = False
    timeout: Annotated[Int, Field(ge=1000, le=10**10)] | None = None
    wait_for: Annotated[Int, Field(ge=0, le=_MOST_WAIT_MS)] = 0
    mobile: bool = False
    actions: list[Action] | None = None
    location: Location | None = None
    skip_tls_verification: bool | None = None
    remove_base64_images: bool = True
    fast_mode: bool = False
    block_ads: bool = True
    proxy: Proxy = "auto"
    max_age: Milliseconds | None = None
    store_in_cache: bool = True
    use_mock: str | None = None
    threat_protection: dict[str, Any] | None = None
    audit_metadata: Audit | None = None

    @field_validator("actions")
    @classmethod
    def _few_actions(cls, actions: list[Action] | None) -> list[Action] | None:
        if actions and len(actions) > action.MOST:
            raise refuse(TOO_MANY_ACTIONS)
        return actions

    @model_validator(mode="after")
    def _wait_within_timeout(self) -> Self:
        if self.timeout is not None and self.wait_for > self.timeout / 2:
            raise refuse(WAIT_TOO_LONG, "waitFor")
        if self.wait_for + action.waiting_ms(self.actions or []) > _MOST_WAIT_MS:
            raise refuse(WAIT_TOTAL, "actions" if self.actions else "waitFor")
        return self

    @property
    def formats_wanted(self) -> list[FormatObject]:
        raise NotImplementedError

    @property
    def parsing(self) -> Parsing:
        raise NotImplementedError

    @property
    def place(self) -> Location | None:
        return self.location

    @property
    def redacts(self) -> bool:
        return False

    @property
    def cache_only(self) -> CacheOnly:
        return CacheOnly()


class CacheOnly(NamedTuple):
    """Nothing may be fetched: a copy of this age at least, or any copy at all."""

    min_age_ms: int | None = None
    lockdown: bool = False


class Redaction(Body):
    mode: Literal["accurate", "aggressive", "fast"] = "accurate"
    entities: list[Literal["PERSON", "EMAIL", "PHONE", "LOCATION", "FINANCIAL", "SECRET"]] | None = None
    replace_style: Literal["tag", "mask", "remove"] = "tag"


class Profile(Loose):
    name: Annotated[str, Field(min_length=1, max_length=128)]
    save_changes: bool = True


class PageV2(Page):
    """Version 2: formats may be objects."""

    formats: list[Format] = Field(default=["markdown"])
    parsers: Parsers = DEFAULT_PARSERS
    min_age: Milliseconds | None = None
    lockdown: bool = False
    redact_pii: bool | Redaction = Field(default=False, alias="redactPII")
    profile: Profile | None = None

    @field_validator("formats")
    @classmethod
    def _together(cls, formats: list[Format]) -> list[Format]:
        check_together([as_object(each) for each in formats])
        return formats

    @property
    def formats_wanted(self) -> list[FormatObject]:
        return [as_object(each) for each in self.formats]

    @property
    def parsing(self) -> Parsing:
        return parsing(self.parsers)

    @property
    def redacts(self) -> bool:
        return self.redact_pii is not False

    @property
    def cache_only(self) -> CacheOnly:
        return CacheOnly(self.min_age, self.lockdown)


class ExtractAgent(Body):
    model: str | None = None
    prompt: str | None = None


class ExtractOptions(Body):
    """How a language model is asked, in version 1."""

    mode: Literal["llm"] = "llm"
    schema_: Schema = Field(default=None, alias="schema")
    system_prompt: Prompt | None = None
    prompt: Prompt | None = None
    temperature: float | None = None
    agent: ExtractAgent | None = None


class ChangeTrackingOptions(Body):
    prompt: str | None = None
    schema_: Schema = Field(default=None, alias="schema")
    modes: list[Literal["json", "git-diff"]] = Field(default_factory=list)
    tag: str | None = None


NameV1 = Literal[
    "markdown",
    "html",
    "rawHtml",
    "rawBase64",
    "links",
    "screenshot",
    "screenshot@fullPage",
    "extract",
    "json",
    "summary",
    "changeTracking",
    "branding",
    "product",
    "menu",
]


class PageV1(Page):
    """Version 1: formats are names, and what they need stands beside them."""

    formats: list[NameV1] = Field(default=["markdown"])
    extract: ExtractOptions | None = None
    json_options: ExtractOptions | None = None
    change_tracking_options: ChangeTrackingOptions | None = None
    parse_pdf: bool = Field(default=True, alias="parsePDF")
    proxy: Proxy = "basic"
    geolocation: Location | None = None

    @field_validator("formats")
    @classmethod
    def _one_screenshot(cls, formats: list[NameV1]) -> list[NameV1]:
        if {"screenshot", "screenshot@fullPage"} <= set(formats):
            raise refuse(ONE_SCREENSHOT)
        return formats

    @model_validator(mode="after")
    def _paired(self) -> Self:
        for name, options in (("extract", self.extract), ("json", self.json_options)):
            if (name in self.formats) != (options is not None):
                raise refuse(EXTRACT_PAIR)
        check_together(self.formats_wanted)
        return self

    @property
    def formats_wanted(self) -> list[FormatObject]:
        return [self._as_object(name) for name in dict.fromkeys(self.formats)]

    def _as_object(self, name: NameV1) -> FormatObject:
        match name:
            case "json":
                options = self.json_options or ExtractOptions()
                return Json(type=name, schema=options.schema_, prompt=options.prompt)
            case "extract":
                options = self.extract or ExtractOptions()
                return Extract(type=name, schema=options.schema_, prompt=options.prompt)
            case "changeTracking":
                tracking = self.change_tracking_options or ChangeTrackingOptions()
                return ChangeTracking(
                    type=name,
                    modes=tracking.modes,
                    schema=tracking.schema_,
                    prompt=tracking.prompt,
                    tag=tracking.tag,
                )
            case "screenshot" | "screenshot@fullPage":
                return as_object(name)
            case _:
                return Plain(type=name)

    @property
    def parsing(self) -> Parsing:
        return Parsing(pdf=self.parse_pdf)

    @property
    def place(self) -> Location | None:
        return self.location or self.geolocation
