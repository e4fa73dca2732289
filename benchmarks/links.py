"""Cost of links in CPU time: join alone, judge per link, discover and judge per page.

    python benchmarks/links.py [FOLDER OF HTML FILES]

Default folder: the PostgreSQL documentation as Debian installs it, where it is there. A second table is of
an invented site with 45 links a page, 36 of which stand on every page.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from perseid.dom import tree, url
from perseid.links.discover import discover
from perseid.links.scope import Scope
from perseid.model.options import ScopeRules

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path("/usr/share/doc/postgresql-doc-15/html")
SITE = "https://docs.example.org/15/"
PAGES = 400
REPEATS = 5


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, pages in ((str(folder), read_pages(folder)), ("invented site", invented_pages())):
        if pages:
            print(f"{name}: ", end="")
            table(pages)


def table(pages: list[tuple[str, str]]) -> None:
    trees = [(page, tree.parse(html)) for page, html in pages]
    found = [(page, discover(parsed, page)) for page, parsed in trees]
    links = sum(len(each.hrefs) for _, each in found)
    print(f"{len(pages)} pages, {links} links, {links / len(pages):.0f} a page\n")

    def join() -> None:
        for _, each in found:
            url.Base(each.base).join_all(each.hrefs)

    def judge(rules: ScopeRules, *, fresh: bool) -> Callable[[], None]:
        kept = Scope(rules, SITE, key_seed=1)

        def run() -> None:
            for page, each in found:
                scope = Scope(rules, SITE, key_seed=1) if fresh else kept
                scope.judge(each.hrefs, base=each.base, page_url=page, page_depth=0)

        return run

    def crawl() -> None:
        scope = Scope(ScopeRules(), SITE, key_seed=1)
        for page, each in found:
            scope.judge(each.hrefs, base=each.base, page_url=page, page_depth=0)

    def discovery() -> None:
        for page, parsed in trees:
            discover(parsed, page)

    patterned = ScopeRules(include=("^/15/",), exclude=("/release-", r"\.(?:a|b)$"), max_depth=9)
    rows = [
        ("join alone", join, links, "link"),
        ("judge, every link new", judge(ScopeRules(), fresh=True), links, "link"),
        ("judge, as a crawl meets them", crawl, links, "link"),
        ("judge, every link known", judge(ScopeRules(), fresh=False), links, "link"),
        ("judge with patterns, new", judge(patterned, fresh=True), links, "link"),
        (
            "judge with similar folded, new",
            judge(ScopeRules(deduplicate_similar=True), fresh=True),
            links,
            "link",
        ),
        ("discover", discovery, len(pages), "page"),
        ("discover + judge, as a crawl", lambda: (discovery(), crawl()), len(pages), "page"),
    ]
    for name, work, count, unit in rows:
        print(f"{name:<34}{cpu_s(work) / count * 1e6:8.2f} us/{unit}")
    print()


def read_pages(folder: Path) -> list[tuple[str, str]]:
    files = sorted(folder.glob("*.html"))[:PAGES]
    return [(SITE + file.name, file.read_text(errors="replace")) for file in files]


def invented_pages() -> list[tuple[str, str]]:
    menu = "".join(f'<li><a href="/15/part-{n}/index.html">Part {n}</a></li>' for n in range(36))
    return [
        (
            f"{SITE}part-{n % 36}/page-{n}.html",
            f"<html><body><ul>{menu}</ul>"
            + "".join(f'<p>Text <a href="page-{n * 9 + m}.html#top">{m}</a> text.</p>' for m in range(9)),
        )
        for n in range(PAGES)
    ]


def cpu_s(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


if __name__ == "__main__":
    main()
