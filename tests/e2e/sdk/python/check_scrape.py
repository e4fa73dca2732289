"""One page, in every form the server has."""

import pytest
from firecrawl.v2.types import Document, Location
from talk import HOME, SITE, sync

PAGE = f"{SITE}/guides/page-3"


def test_a_page_is_a_document_of_markdown() -> None:
    page = sync().scrape(PAGE)
    assert isinstance(page, Document)
    assert page.markdown.startswith("# Guides page 3")
    assert "Imprint" not in page.markdown


@pytest.mark.parametrize(
    ("name", "field", "part"),
    [
        ("markdown", "markdown", "## First things"),
        ("html", "html", "<h2>First things</h2>"),
        ("rawHtml", "raw_html", "<footer>Imprint of the orchard</footer>"),
        ("raw_html", "raw_html", "<!doctype html>"),
    ],
)
def test_formats_of_text(name: str, field: str, part: str) -> None:
    page = sync().scrape(PAGE, formats=[name])
    assert part in getattr(page, field)
    assert [key for key in ("markdown", "html", "raw_html", "links") if getattr(page, key) is not None] == [field]


def test_links_and_images() -> None:
    page = sync().scrape(f"{HOME}/", formats=["links", "images"])
    assert f"{HOME}/guides" in page.links
    assert page.images == [f"{HOME}/images/firecrawl-logo.png", f"{HOME}/images/river.jpg"]


def test_metadata_have_the_types_of_the_client() -> None:
    told = sync().scrape(PAGE).metadata
    assert (told.title, told.language, told.status_code) == ("Guides page 3", "en", 200)
    assert told.description == "What there is to say about /guides/page-3."
    assert told.source_url == told.url == PAGE
    assert told.proxy_used == "basic"
    assert told.credits_used == 1
    assert told.cache_state in {"hit", "miss"}


def test_a_redirect_keeps_the_requested_address() -> None:
    told = sync().scrape(f"{SITE}/moved").metadata
    assert (told.source_url, told.url) == (f"{SITE}/moved", f"{SITE}/about")


def test_selectors_and_the_whole_page() -> None:
    only = sync().scrape(PAGE, formats=["markdown"], include_tags=["h1", "h2"], only_main_content=False)
    assert only.markdown.split("\n\n") == ["# Guides page 3", "## First things"]
    whole = sync().scrape(PAGE, formats=["markdown"], only_main_content=False, exclude_tags=["nav"])
    assert "Imprint of the orchard" in whole.markdown
    assert "Home" not in whole.markdown


def test_every_option_is_taken() -> None:
    page = sync().scrape(
        f"{SITE}/echo",
        formats=["markdown"],
        headers={"X-Orchard": "walls"},
        timeout=30_000,
        wait_for=0,
        mobile=False,
        parsers=["pdf"],
        actions=[],
        location=Location(country="DE", languages=["de"]),
        skip_tls_verification=False,
        remove_base64_images=True,
        fast_mode=True,
        block_ads=True,
        proxy="basic",
        max_age=0,
        store_in_cache=False,
        integration="_perseid",
    )
    assert "x-orchard: walls" in page.markdown
    assert "accept-language: de" in page.markdown


def test_a_second_look_may_come_from_the_cache() -> None:
    address = f"{SITE}/guides/page-4"
    sync().scrape(address, formats=["markdown"], max_age=0)
    again = sync().scrape(address, formats=["markdown"], max_age=3_600_000)
    assert again.metadata.cache_state == "hit"
    assert again.metadata.cached_at


def test_an_error_page_is_a_page() -> None:
    page = sync().scrape(f"{SITE}/nowhere")
    assert page.metadata.status_code == 404
    assert "Not found" in page.markdown


def test_a_pdf_is_read() -> None:
    page = sync().scrape(f"{SITE}/paper.pdf", formats=["markdown"])
    assert "spectrophotometric observations" in page.markdown
    assert page.metadata.num_pages == 1


def test_json_by_a_schema_and_a_summary() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    page = sync().scrape(PAGE, formats=["summary", {"type": "json", "prompt": "The title", "schema": schema}])
    assert page.json == {"title": "Guides page 3"}
    assert page.summary == "Guides page 3, in a few words."


def test_changes_are_tracked() -> None:
    address = f"{SITE}/guides/page-5"
    asked = ["markdown", {"type": "changeTracking", "modes": ["git-diff"], "tag": f"t{id(object())}"}]
    assert sync().scrape(address, formats=asked, max_age=0).change_tracking["changeStatus"] == "new"
    assert sync().scrape(address, formats=asked, max_age=0).change_tracking["changeStatus"] == "same"


def test_what_needs_a_browser_leaves_a_warning() -> None:
    page = sync().scrape(PAGE, formats=["markdown", "screenshot"])
    assert page.screenshot is None
    assert "screenshot" in page.warning
