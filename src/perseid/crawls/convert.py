"""Makes documents of pages, the slow and hostile ones in child processes."""

from __future__ import annotations

import msgspec

from perseid.content.conversion import Pdf, Request
from perseid.content.pipeline import Built, Convert, Failed, Page, build, of_pdf
from perseid.content.sniff import Kind
from perseid.crawls.child import Child, ChildLimits
from perseid.model.options import ScrapeOptions
from perseid.model.verdict import FailureCode


class Converter:
    """One for an event loop."""

    def __init__(self, limits: ChildLimits = ChildLimits()) -> None:  # noqa: B008  # frozen
        self._limits = limits
        self._child = Child("perseid.content.child", limits)

    async def document_of(self, page: Page, options: ScrapeOptions) -> Built | Failed:
        """The document of a page. Expected trouble (encrypted, broken, too slow) is a `Failed`."""
        made = build(page, options)
        if not isinstance(made, Convert):
            return made
        request = Request(
            kind=made.kind,
            memory_bytes=self._limits.memory_bytes,
            cpu_s=self._limits.cpu_s,
            url=page.url,
            source_url=page.source_url,
            status=page.status,
            headers=list(page.headers),
            fetched_at=page.fetched_at,
            options=options,
        )
        answer = await self._child.ask(msgspec.json.encode(request) + b"\n", page.body, f"the {made.kind.value}")
        if isinstance(answer, Failed):
            return answer
        try:
            if made.kind is Kind.PDF:
                return of_pdf(page, options, msgspec.json.decode(answer, type=Pdf))
            built, failed = msgspec.json.decode(answer, type=tuple[Built | None, Failed | None])
        except msgspec.DecodeError as error:
            return Failed(FailureCode.CONVERSION, f"The converter gave no usable answer: {error}")
        return built or failed or Failed(FailureCode.CONVERSION, "The converter gave no answer.")
