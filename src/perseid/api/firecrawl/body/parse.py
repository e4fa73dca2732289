"""POST /parse: a file of the caller's own, with options like those of a page."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from perseid.api.firecrawl.body.base import Body
from perseid.api.firecrawl.body.page import PageV2, Request


class ParseOptions(PageV2, Request):
    """The options of a page; those that only a site can answer to are refused by `translate.parse`."""

    zero_data_retention: bool = False


class ParseReference(ParseOptions):
    """The second of two steps: the file was uploaded before."""

    upload_ref: Annotated[str, Field(min_length=1, max_length=200)]


class UploadRequest(Body):
    """The first of two steps: a place to upload to is asked for."""

    filename: Annotated[str, Field(min_length=1, max_length=1024)]
    content_type: Annotated[str, Field(max_length=256)] | None = None
    size: Annotated[int, Field(ge=0)] | None = None
    origin: str = "api"
    integration: str = ""
