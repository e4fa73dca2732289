"""Files of the caller's own, turned into text like pages: in one step, or uploaded before."""

import time
from typing import Annotated, Any, NamedTuple
from uuid import uuid4

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.body.parse import ParseOptions, ParseReference, UploadRequest
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes, takes_form
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError, answer
from perseid.api.firecrawl.reading import body_of, parsed, reading_for, validated
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Base, InForce, Serving
from perseid.api.firecrawl.translate.page import PagePlan, plan_page
from perseid.api.firecrawl.translate.parse import FORMATS, UNSUPPORTED_TYPE, check_file, check_options
from perseid.api.firecrawl.translate.unsupported import ignored
from perseid.api.firecrawl.uploads import LIFETIME_S, MOST_BYTES, Uploads
from perseid.api.firecrawl.wire.answers import ParseFormats, Scraped, Upload, Uploaded
from perseid.api.firecrawl.wire.document import wire_document
from perseid.api.firecrawl.wire.failure import scrape_error
from perseid.api.firecrawl.wire.instant import iso
from perseid.config.settings import Settings
from perseid.content.conversion import office_installed
from perseid.errors import ScrapeFailed
from perseid.model.verdict import FailureCode
from perseid.runtime.service import Service

_UPLOAD_EXAMPLE = {"filename": "report.pdf", "contentType": "application/pdf"}


class _Sent(NamedTuple):
    """A file and what is wanted of it."""

    filename: str
    content_type: str | None
    data: bytes
    options: ParseOptions


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)
    if dialect.name == "v1":
        return routes
    uploads = Uploads(time.monotonic)

    @routes.post(
        "/parse",
        summary="Turn a file into text",
        responses=answers(Scraped, 400, 404, 413, 501),
        openapi_extra=takes_form(ParseOptions, ParseReference),
    )
    async def parse(request: Request, caller: Called, service: Serving, settings: InForce) -> Response:
        sent = await _sent(request, uploads, caller.team, settings)
        check_options(sent.options)
        check_file(sent.filename, sent.content_type)
        page = plan_page(sent.options, settings, keep=False)
        return answer({"success": True, "data": await _converted(service, sent, page)})

    @routes.get("/parse/formats", summary="The files that can be sent", responses=answers(ParseFormats))
    async def formats(caller: Called) -> Response:
        del caller
        told = [
            {
                "format": each.name,
                "kind": "document",
                "extensions": each.extensions,
                "mimeTypes": each.types,
                "available": each.readable and (each.name != "docx" or office_installed()),
            }
            for each in FORMATS
        ]
        return answer({"success": True, "data": {"formats": told}})

    @routes.post(
        "/parse/upload-url",
        summary="An address to upload a file to",
        responses=answers(Upload, 400, 413),
        openapi_extra=takes(UploadRequest, _UPLOAD_EXAMPLE),
    )
    async def reserve(
        caller: Called, base: Base, body: Annotated[UploadRequest, Depends(body_of(UploadRequest))]
    ) -> Response:
        check_file(body.filename, body.content_type)
        reference = uploads.reserve(caller.team, body.filename, body.content_type)
        told = {
            "success": True,
            "uploadUrl": f"{base}{dialect.prefix}/parse/upload/{reference}",
            "uploadRef": reference,
            "expiresAt": iso(time.time_ns() // 1_000 + int(LIFETIME_S * 1_000_000)),
        }
        return answer(told)

    @routes.put(
        "/parse/upload/{upload_id}",
        summary="Upload a file; the address itself is the right to",
        responses=answers(Uploaded, 404, 409, 413),
        openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}}},
    )
    async def fill(upload_id: str, request: Request) -> Response:
        uploads.fill(upload_id, await request.body())
        return answer({"success": True, "uploadRef": upload_id})

    return routes


async def _sent(request: Request, uploads: Uploads, team: int, settings: Settings) -> _Sent:
    reading = reading_for(settings)
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        body = validated(ParseReference, parsed(await request.body()), reading)
        upload = uploads.take(team, body.upload_ref)
        return _Sent(upload.filename, upload.content_type, upload.data or b"", body)
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            file, options = form.get("file"), form.get("options")
            if not isinstance(file, UploadFile):
                raise WireError(400, "The form has no file: it comes as the field `file`", BAD_REQUEST)
            data = await file.read(MOST_BYTES + 1)
            text = options if isinstance(options, str) else ""
    except MultiPartException as error:
        raise WireError(400, f"The form can't be read: {error.message}", BAD_REQUEST) from None
    if len(data) > MOST_BYTES:
        raise WireError(413, f"A file may have {MOST_BYTES // 2**20} MB at most")
    body_ = validated(ParseOptions, parsed(text.encode("utf-8", "replace")), reading)
    return _Sent(file.filename or "upload", file.content_type, data, body_)


async def _converted(service: Service, sent: _Sent, page: PagePlan) -> dict[str, Any]:
    try:
        document = await service.upload(
            sent.data, sent.filename, sent.content_type, page.options, timeout_s=page.timeout_s
        )
    except ScrapeFailed as failed:
        if failed.failure == FailureCode.UNSUPPORTED_FILE.value:
            raise WireError(400, failed.reason, UNSUPPORTED_TYPE) from failed
        raise scrape_error(failed.failure, failed.reason) from failed
    asked = Asked(nothing=page.nothing, credits=page.credits)
    warnings = (*page.warnings, *ignored(sent.options))
    return wire_document(document, asked, scrape_id=str(uuid4()), warnings=warnings)
