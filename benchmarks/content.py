"""CPU time per page of the content pipeline, step by step.

    python benchmarks/content.py [FOLDER_OF_HTML ...]

Defaults are the documentation packages of Debian that are installed. Figures are milliseconds of CPU per
page, the least of several repeats.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from perseid.content.decode import decode
from perseid.content.main import main_content
from perseid.content.markdown import to_markdown
from perseid.content.metadata import read_head
from perseid.content.pipeline import Built, Page, build
from perseid.content.resolver import Resolver
from perseid.content.selfcheck import check
from perseid.content.sniff import sniff
from perseid.dom.tree import parse
from perseid.links.discover import discover
from perseid.model.options import ScrapeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FOLDERS = (
    "/usr/share/doc/postgresql-doc-15/html",
    "/usr/share/cppreference/doc/html/en",
    "/usr/share/doc/python3-doc/html",
    "/usr/share/doc/python3.11/html",
)
URL = "https://docs.example/en/page.html"
REPEATS = 5
MOST_PAGES = 200


def pages(folder: str) -> list[bytes]:
    files = sorted(Path(folder).rglob("*.html"))
    return [path.read_bytes() for path in files[:: max(1, len(files) // MOST_PAGES)]]


def least(step: Callable[[object], object], make: Callable[[], Iterable[object]]) -> float:
    """Milliseconds of CPU per item, the least of the repeats; `make` gives fresh input to each."""
    best = float("inf")
    for _ in range(REPEATS):
        items = list(make())
        start = time.process_time()
        for item in items:
            step(item)
        best = min(best, (time.process_time() - start) * 1000 / max(1, len(items)))
    return best


def measure(bodies: list[bytes]) -> list[tuple[str, float]]:
    texts = [decode(body).text for body in bodies]
    resolve = Resolver(URL)

    def whole(body: object) -> None:
        page = Page(URL, URL, 200, (("content-type", "text/html"),), body, 0)  # type: ignore[arg-type]
        built = build(page, ScrapeOptions(formats=("markdown", "links")))
        if not isinstance(built, Built):
            raise SystemExit(f"not built: {built}")

    def trees() -> list[object]:
        return [parse(text) for text in texts]

    def mains() -> list[object]:
        return [(tree, main_content(tree, url=URL).node) for tree in trees()]

    def markdown(pair: object) -> str:
        tree, node = pair  # type: ignore[misc]
        return to_markdown(tree, [node], Resolver(URL))

    documents = [markdown(pair) for pair in mains()]
    return [
        ("sniff + decode", least(lambda body: (sniff(body), decode(body)), lambda: bodies)),  # type: ignore[arg-type]
        ("parse", least(parse, lambda: texts)),  # type: ignore[arg-type]
        ("links", least(lambda tree: Resolver(URL).listed(discover(tree, URL).hrefs), trees)),  # type: ignore[arg-type]
        ("metadata", least(lambda tree: read_head(tree, resolve), trees)),  # type: ignore[arg-type]
        ("main content", least(lambda tree: main_content(tree, url=URL), trees)),  # type: ignore[arg-type]
        ("markdown", least(markdown, mains)),
        ("self-check", least(check, lambda: documents)),  # type: ignore[arg-type]
        ("whole pipeline", least(whole, lambda: bodies)),
    ]


def main() -> None:
    for folder in sys.argv[1:] or FOLDERS:
        bodies = pages(folder)
        if not bodies:
            continue
        mean = sum(map(len, bodies)) / len(bodies) / 1000
        print(f"{folder}: {len(bodies)} pages, {mean:.0f} kB mean")
        for name, cost in measure(bodies):
            print(f"  {name:16} {cost:7.3f} ms")


if __name__ == "__main__":
    main()
