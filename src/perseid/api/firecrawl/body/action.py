"""What a browser is to do on a page. Checked in full: a wrong list is another fault than one we can't carry out."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, model_validator

from perseid.api.firecrawl.body.base import Int, Loose, refuse
from perseid.api.firecrawl.body.formats import Viewport

MOST = 50
EITHER = "Either 'milliseconds' or 'selector' must be provided, but not both."


class Wait(Loose):
    type: Literal["wait"]
    milliseconds: Annotated[Int, Field(gt=0)] | None = None
    selector: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.milliseconds is None) == (self.selector is None):
            raise refuse(EITHER)
        return self


class Click(Loose):
    type: Literal["click"]
    selector: str
    all: bool = False


class Screenshot(Loose):
    type: Literal["screenshot"]
    full_page: bool = False
    quality: Annotated[Int, Field(ge=1, le=100)] | None = None
    viewport: Viewport | None = None


class Write(Loose):
    type: Literal["write"]
    text: str


class Press(Loose):
    type: Literal["press"]
    key: str


class Scroll(Loose):
    type: Literal["scroll"]
    direction: Literal["up", "down"] = "down"
    selector: str | None = None


class Scrape(Loose):
    type: Literal["scrape"]


class ExecuteJavascript(Loose):
    type: Literal["executeJavascript"]
    script: str


class Pdf(Loose):
    type: Literal["pdf"]
    landscape: bool = False
    scale: float = 1
    format: Literal["A0", "A1", "A2", "A3", "A4", "A5", "A6", "Letter", "Legal", "Tabloid", "Ledger"] = "Letter"


Action = Annotated[
    Wait | Click | Screenshot | Write | Press | Scroll | Scrape | ExecuteJavascript | Pdf, Discriminator("type")
]


def waiting_ms(actions: list[Action]) -> int:
    """How long these actions wait in all; one for an element counts as a second."""
    waits = [each for each in actions if isinstance(each, Wait)]
    return sum(1000 if each.milliseconds is None else each.milliseconds for each in waits)
