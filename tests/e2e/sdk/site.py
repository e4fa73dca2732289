"""The web site that the clients are pointed at: 150 linked pages, documents, trouble; and services behind the server."""

from __future__ import annotations

import json
from typing import Any

from perseid.testing import Answer, Request
from perseid.testing.site import Pages

from .files import pdf

SECTIONS = ("guides", "api", "blog", "docs", "recipes", "changes", "people")
PER_SECTION = 20
PAGES = 3 + len(SECTIONS) * (1 + PER_SECTION)
"""All that a crawl from the front page finds: 150."""
PAPER = "We present spectrophotometric observations of the Broad Line Radio Galaxy"
_JSON = {"Content-Type": "application/json"}


def furnish(site: Pages, per_section: int = PER_SECTION, delay_s: float = 0.0) -> None:
    """The pages, so many below each section; the front page after a delay, as any crawl from it is then running."""
    site.page("/", _front(), delay_s=delay_s)
    for path in ("/about", "/contact"):
        site.page(path, _article(path, f"The page {path}", "Where to find us, and what we do all day long."))
    paths = [path for section in SECTIONS for path in _section(site, section, per_section)]
    site.robots("User-agent: *\nDisallow: /private/\nSitemap: /sitemap.xml\n")
    site.sitemap("/sitemap.xml", ["/", "/about", "/contact", *paths])
    site.respond("/paper.pdf", headers={"Content-Type": "application/pdf"}, body=pdf(PAPER))
    site.respond("/paper", headers={"Content-Type": "application/pdf"}, body=pdf(PAPER))
    site.redirect("/moved", "/about", 301)
    site.handle("/echo", _echo)
    site.respond("/slow", hang=True)
    site.page("/private/diary", _article("/private/diary", "Diary", "Nobody should read this."))
    _late(site)


def serve_model(site: Pages, path: str = "/v1/chat/completions") -> None:
    """A language model that fills whatever schema it is given from the headline of what it reads."""
    site.handle(path, _complete)


def serve_search(site: Pages, target: str, path: str = "/search") -> None:
    """A SearXNG that finds pages below `target`, each with the words that were asked for."""

    def answer(request: Request) -> Answer:
        results = [
            {
                "url": f"{target}/guides/page-{number}",
                "title": f"Firecrawl and artificial intelligence, part {number}",
                "content": "Paris is the capital of France; machine learning is not.",
                "img_src": f"{target}/images/logo.png",
                "resolution": "640 x 480",
            }
            for number in range(12)
        ]
        return Answer(headers=_JSON, body=json.dumps({"results": results, "unresponsive_engines": []}))

    site.handle(path, answer)


def _front() -> str:
    sections = "".join(f'<li><a href="/{section}">{section.title()}</a></li>' for section in SECTIONS)
    pictures = '<img src="/images/firecrawl-logo.png" alt="Logo"><img src="/images/river.jpg" alt="The river">'
    further = '<p><a href="/about">About</a> and <a href="/contact">contact</a></p>'
    return _article("/", "The orchard", f"{pictures}<ul>{sections}</ul>{further}")


def _section(site: Pages, section: str, count: int) -> list[str]:
    """Its front and its pages; returns their paths."""
    pages = [f"/{section}/page-{number}" for number in range(count)]
    links = "".join(f'<li><a href="{path}">Page {path}</a></li>' for path in pages)
    site.page(f"/{section}", _article(f"/{section}", f"All {section}", f"<ul>{links}</ul>"))
    for number, path in enumerate(pages):
        site.page(path, _article(path, f"{section.title()} page {number}", _text(section, number)))
    return [f"/{section}", *pages]


def _late(site: Pages) -> None:
    """Pages that no other page links to, and that keep a crawl busy for some seconds."""
    paths = [f"/late/{number}" for number in range(40)]
    links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
    site.page("/late", _article("/late", "Late pages", f"<ul>{links}</ul>"))
    for path in paths:
        site.page(path, _article(path, f"Late {path}", "This page takes its time, and then it is here."), delay_s=0.4)


def _text(section: str, number: int) -> str:
    return "".join(
        f"<p>Paragraph {n} of page {number} among the {section}: in its {number * 7 + n}th year the orchard keeps its "
        "old walls, and boats lie in the river below them until somebody brings bread from the market.</p>"
        for n in range(4)
    )


def _article(path: str, title: str, content: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="description" content="What there is to say about {path}.">'
        f'<meta property="og:title" content="{title}"><link rel="icon" href="/favicon.ico"></head><body>'
        '<nav class="menu"><a href="/">Home</a> <a href="/about">About</a></nav>'
        f"<main><article><h1>{title}</h1><h2>First things</h2><p>This is the text of the page at {path}, which is a "
        f"page like others, with some sentences to read.</p>{content}</article></main>"
        "<footer>Imprint of the orchard</footer></body></html>"
    )


def _echo(request: Request) -> Answer:
    """What was sent, as text."""
    told = "".join(f"<li>{name}: {value}</li>" for name, value in sorted(request.headers.items()))
    return Answer(body=_article("/echo", "What you sent", f"<ul>{told}</ul>"))


def _complete(request: Request) -> Answer:
    body = json.loads(request.body)
    question = "\n".join(str(message["content"]) for message in body["messages"])
    headline = next((line.lstrip("# ") for line in question.splitlines() if line.startswith("# ")), "The orchard")
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    text = f"{headline}, in a few words." if schema is None else json.dumps(_filled(schema, headline))
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Answer(headers=_JSON, body=json.dumps({"choices": [choice], "usage": {"total_tokens": 20}}))


def _filled(schema: dict[str, Any], headline: str, name: str = "") -> Any:
    """A value that follows `schema`; of objects what must be there, and what a crawl's options are called."""
    if name == "includePaths":
        return ["blog/.*", "docs/.*"]
    if "enum" in schema:
        return schema["enum"][0]
    for choices in (schema.get("anyOf"), schema.get("oneOf")):
        if choices:
            return _filled(choices[0], headline, name)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        wanted = {*schema.get("required", ()), "includePaths"}
        fields = schema.get("properties", {})
        return {key: _filled(fields[key], headline, key) for key in fields if key in wanted}
    plain = {"array": [], "integer": 1, "number": 1, "boolean": False, "null": None}
    return plain.get(kind, headline)
