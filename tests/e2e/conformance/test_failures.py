"""Scrapes that bring no page, and scrapes asked for again by their id."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest

from perseid.testing import Answer, Site

from .conftest import Server
from .file import docx, pdf

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


@contextlib.contextmanager
def over_tls(context: ssl.SSLContext) -> Iterator[str]:
    """The address of a page that is served with that certificate."""
    loop = asyncio.new_event_loop()
    body = b"<h1>Secret</h1>"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
        writer.close()

    listening = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    finally:
        asyncio.run_coroutine_threadsafe(_over(listening), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _over(listening: asyncio.Server) -> None:
    """With the connections that the other side has left by now: some have not noticed yet."""
    listening.close()
    for _ in range(50):
        await asyncio.sleep(0)


@VERSIONS
def test_a_certificate_that_nobody_vouches_for_is_a_failure_where_it_matters(
    server: Server, self_signed: ssl.SSLContext, version: str
) -> None:
    with over_tls(self_signed) as url:
        answer = server.post(f"/{version}/scrape", url=url, skipTlsVerification=False)
    assert (answer.status_code, answer.json()["success"]) == (500, False)
    assert answer.json()["code"] == "SCRAPE_SSL_ERROR"


@VERSIONS
@pytest.mark.parametrize(
    "options", [{}, {"skipTlsVerification": True}, {"skipTlsVerification": True, "headers": {"X": "1"}}]
)
def test_a_certificate_is_not_looked_at_unasked(
    server: Server, self_signed: ssl.SSLContext, version: str, options: dict[str, object]
) -> None:
    with over_tls(self_signed) as url:
        assert server.page(url, version=version, maxAge=0, **options)["markdown"] == "# Secret"


@VERSIONS
def test_headers_of_the_caller_make_certificates_matter(
    server: Server, self_signed: ssl.SSLContext, version: str
) -> None:
    with over_tls(self_signed) as url:
        answer = server.post(f"/{version}/scrape", url=url, headers={"X-Key": "1"}, maxAge=0)
    assert (answer.status_code, answer.json()["code"]) == (500, "SCRAPE_SSL_ERROR")


@VERSIONS
def test_a_name_that_leads_nowhere_is_a_200_without_success(server: Server, version: str) -> None:
    answer = server.post(f"/{version}/scrape", url="https://no-such-name.invalid/")
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (200, False, "SCRAPE_DNS_RESOLUTION_ERROR")
    assert told["error"]


@VERSIONS
def test_a_page_that_takes_too_long_is_a_408(server: Server, web: Site, version: str) -> None:
    web.respond("/fail/slow", hang=True)
    answer = server.post(f"/{version}/scrape", url=web.url("/fail/slow"), timeout=1000)
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (408, False, "SCRAPE_TIMEOUT")
    assert told.get("details", {}).get("state") != "processing_continues"


@VERSIONS
@pytest.mark.parametrize("name", ["refused", "reset"])
def test_a_site_that_does_not_answer_is_a_500(server: Server, web: Site, version: str, name: str) -> None:
    web.respond("/fail/reset", reset=True)
    url = {"refused": "http://127.0.0.1:9/", "reset": web.url("/fail/reset")}[name]
    answer = server.post(f"/{version}/scrape", url=url, timeout=20_000)
    told = answer.json()
    assert (answer.status_code, told["success"]) == (500, False)
    assert told["code"] in {"SCRAPE_SITE_ERROR", "SCRAPE_ALL_ENGINES_FAILED"}


@VERSIONS
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(50)),
        ("video/mp4", bytes(50)),
        ("audio/mpeg", b"ID3" + bytes(50)),
        ("application/zip", b"PK\x03\x04" + bytes(50)),
    ],
)
def test_files_without_text_are_unsupported(server: Server, web: Site, version: str, kind: str, body: bytes) -> None:
    path = f"/fail/file-{kind.replace('/', '-')}"
    web.respond(path, headers={"Content-Type": kind}, body=body)
    answer = server.post(f"/{version}/scrape", url=web.url(path))
    assert (answer.status_code, answer.json()["code"]) == (500, "SCRAPE_UNSUPPORTED_FILE_ERROR")


@VERSIONS
def test_an_empty_page_is_no_page(server: Server, web: Site, version: str) -> None:
    web.page("/fail/empty", "")
    answer = server.post(f"/{version}/scrape", url=web.url("/fail/empty"))
    assert (answer.status_code, answer.json()["code"]) == (500, "SCRAPE_ALL_ENGINES_FAILED")


@VERSIONS
def test_actions_are_not_supported(server: Server, web: Site, version: str) -> None:
    web.page("/fail/actions", "<h1>Act</h1>")
    answer = server.post(
        f"/{version}/scrape", url=web.url("/fail/actions"), actions=[{"type": "wait", "milliseconds": 10}]
    )
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (400, False, "SCRAPE_ACTIONS_NOT_SUPPORTED")


def test_no_actions_are_no_fault(server: Server, web: Site) -> None:
    web.page("/fail/no-actions", "<h1>Still</h1>")
    assert server.page(web.url("/fail/no-actions"), actions=[])["markdown"] == "# Still"


@pytest.mark.parametrize(
    ("options", "code"),
    [({"minAge": 1}, "SCRAPE_NO_CACHED_DATA"), ({"lockdown": True}, "SCRAPE_LOCKDOWN_CACHE_MISS")],
)
def test_what_is_only_looked_up_is_a_404_where_it_is_not_kept(
    server: Server, web: Site, options: dict[str, object], code: str
) -> None:
    answer = server.post("/v2/scrape", url=web.url("/fail/never"), **options)
    assert (answer.status_code, answer.json()["code"]) == (404, code)
    assert "/fail/never" not in web.counts()


@VERSIONS
@pytest.mark.parametrize("status", [404, 500])
def test_a_bad_status_without_a_word_is_a_success_all_the_same(
    server: Server, web: Site, version: str, status: int
) -> None:
    web.respond(f"/fail/mute-{status}", status)
    document = server.page(web.url(f"/fail/mute-{status}"), version=version)
    assert document["metadata"]["statusCode"] == status


def test_redirects_that_go_round_end(server: Server, web: Site) -> None:
    web.redirect("/fail/round", "/fail/about")
    web.redirect("/fail/about", "/fail/round")
    answer = server.post("/v2/scrape", url=web.url("/fail/round"))
    assert (answer.status_code, answer.json()["success"]) == (500, False)


@VERSIONS
def test_a_scrape_may_be_read_again_by_its_id(server: Server, web: Site, version: str) -> None:
    web.page("/fail/again", "<h1>Again</h1>")
    document = server.page(web.url("/fail/again"), version=version)
    told = server.told(f"/{version}/scrape/{document['metadata']['scrapeId']}")
    assert (told["success"], told["data"]["markdown"]) == (True, "# Again")


@VERSIONS
def test_scrapes_that_nobody_knows(server: Server, version: str) -> None:
    answer = server.get(f"/{version}/scrape/{uuid4()}")
    assert (answer.status_code, answer.json()) == (404, {"success": False, "error": "Job not found."})
    assert server.get(f"/{version}/scrape/nonsense").status_code == 400
    assert server.get(f"/{version}/scrape/nonsense").json()["success"] is False


@VERSIONS
def test_a_pdf_is_read(server: Server, web: Site, version: str) -> None:
    web.respond("/fail/a.pdf", headers={"Content-Type": "application/pdf"}, body=pdf("Of stones", pages=3))
    document = server.page(web.url("/fail/a.pdf"), version=version)
    assert "Of stones" in document["markdown"]
    metadata = document["metadata"]
    assert (metadata["numPages"], metadata["contentType"], metadata["title"]) == (3, "application/pdf", "The Title")
    assert metadata["creditsUsed"] == 3


def test_few_pages_of_a_pdf_may_be_asked_for(server: Server, web: Site) -> None:
    web.respond("/fail/few.pdf", headers={"Content-Type": "application/pdf"}, body=pdf("Of stones", pages=3))
    document = server.page(web.url("/fail/few.pdf"), parsers=[{"type": "pdf", "maxPages": 1}])
    assert (document["metadata"]["numPages"], document["metadata"]["totalPages"]) == (1, 3)


@pytest.mark.parametrize(("version", "option"), [("v1", {"parsePDF": False}), ("v2", {"parsers": []})])
def test_a_pdf_that_is_not_to_be_read_comes_as_base64(
    server: Server, web: Site, version: str, option: dict[str, object]
) -> None:
    data = pdf("Of stones")
    web.respond("/fail/raw.pdf", headers={"Content-Type": "application/pdf"}, body=data)
    document = server.page(web.url("/fail/raw.pdf"), version=version, **option)
    assert base64.b64decode(document["markdown"]) == data


@VERSIONS
def test_a_word_document_is_read(server: Server, web: Site, version: str) -> None:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    web.respond("/fail/a.docx", headers={"Content-Type": kind}, body=docx("Of stones"))
    document = server.page(web.url("/fail/a.docx"), version=version)
    assert "Of stones" in document["markdown"]
    assert document["metadata"]["contentType"] == kind


def test_a_broken_pdf_is_a_failure(server: Server, web: Site) -> None:
    web.respond("/fail/broken.pdf", headers={"Content-Type": "application/pdf"}, body=b"%PDF-1.7\nbroken")
    answer = server.post("/v2/scrape", url=web.url("/fail/broken.pdf"))
    assert (answer.status_code, answer.json()["success"]) == (500, False)


@VERSIONS
def test_headers_reach_the_site(server: Server, web: Site, version: str) -> None:
    web.handle("/fail/echo", lambda request: Answer(body=f"<p>{request.headers.get('x-own')}</p>"))
    assert server.page(web.url("/fail/echo"), version=version, headers={"X-Own": "stone"})["markdown"] == "stone"


@VERSIONS
def test_languages_reach_the_site(server: Server, web: Site, version: str) -> None:
    web.handle("/fail/tongue", lambda request: Answer(body=f"<p>{request.headers.get('accept-language')}</p>"))
    told = server.page(web.url("/fail/tongue"), version=version, location={"country": "DE", "languages": ["de"]})
    assert told["markdown"].startswith("de")


def test_answers_never_tell_of_paths_or_frames_of_the_server(server: Server, web: Site) -> None:
    answer = server.post("/v2/scrape", url=web.url("/fail/reset"), timeout=20_000, maxAge=0)
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text


def test_a_body_of_unknown_code_points_is_still_an_answer(server: Server, web: Site) -> None:
    web.respond("/fail/bytes", headers={"Content-Type": "text/html"}, body=b"<h1>a\xff\xfeb</h1>")
    assert server.page(web.url("/fail/bytes"))["markdown"].startswith("# a")


def test_zero_retention_is_honoured_and_leaves_nothing_to_ask_for(server: Server, web: Site) -> None:
    web.page("/fail/forget", "<h1>Forget</h1>")
    document = server.page(web.url("/fail/forget"), zeroDataRetention=True)
    assert document["markdown"] == "# Forget"
    assert server.get(f"/v2/scrape/{document['metadata']['scrapeId']}").status_code == 404


@VERSIONS
def test_names_within_the_machine_are_answered_in_words(server: Server, version: str) -> None:
    answer = server.post(f"/{version}/scrape", url="http://localhost:9/", timeout=20_000)
    assert answer.status_code == 500
    assert answer.json()["success"] is False
