"""The process that converts slow and hostile documents: `python -m perseid.content.child`.

One request on stdin, one answer on stdout (`perseid.content.conversion`); limits are set before a byte of
the document is looked at. Started by `perseid.crawls.convert`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from perseid.content.conversion import Request
from perseid.content.sniff import Kind

if TYPE_CHECKING:
    from perseid.content.pipeline import Built, Failed


def limit(memory_bytes: int, cpu_s: int) -> None:
    """Bound address space and CPU of this process, where the platform can; no core dumps."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  # not on Windows

    for which, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        _soft, hard = resource.getrlimit(which)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (bound, hard if which == resource.RLIMIT_CPU else bound))


def answer(request: Request, body: bytes) -> bytes:
    """The answer as JSON: a `Pdf`, or what became of a page: `Built` and null, or null and `Failed`."""
    if request.kind is Kind.PDF:
        from perseid.content.pdf import read_pdf  # noqa: PLC0415  # only what this document needs is loaded

        return msgspec.json.encode(read_pdf(body, max_pages=request.options.pdf_max_pages))
    return msgspec.json.encode(_page(request, body))


def _page(request: Request, body: bytes) -> tuple[Built | None, Failed | None]:
    from perseid.content.pipeline import Built, Page, build, of_office  # noqa: PLC0415  # as above

    page = Page(request.url, request.source_url, request.status, tuple(request.headers), body, request.fetched_at)
    if request.kind is Kind.DOCX:
        from perseid.content.docx import read_docx  # noqa: PLC0415  # as above

        made = of_office(page, request.options, read_docx(body))
        return (made, None) if isinstance(made, Built) else (None, made)
    built = build(page, request.options, in_child=True)
    if not isinstance(built, Built):
        raise TypeError(f"not a page: {built}")
    return built, None


def main() -> int:
    stdin = sys.stdin.buffer
    request = msgspec.json.decode(stdin.readline(), type=Request)
    limit(request.memory_bytes, request.cpu_s)
    try:
        body = stdin.read()
        made = answer(request, body)
    except MemoryError:
        return 3
    sys.stdout.buffer.write(made)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
