"""Whole crawls of real documentation: every page that an independent walk finds, each once, and good Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from perseid.testing.child import command, served
from perseid.testing.result import Result, check
from perseid.testing.walk import Walk, walk

pytestmark = pytest.mark.slow

ROBOTS = "User-agent: *\nDisallow: /_sources/\nDisallow: /bug\nDisallow: /en/c/experimental\nAllow: /\n"
TIMEOUT_S = 600
HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)


class Crawled(NamedTuple):
    """A crawl beside what an independent walk over the same site found; paths are without scheme and host."""

    result: Result
    truth: Walk
    requests: dict[str, int]
    markdown: dict[str, str]

    @property
    def pages(self) -> set[str]:
        return set(self.markdown)


def crawled(root: Path, start: str, folder: Path, *, processes: int) -> Crawled:
    with served("perseid.testing.folder", str(root), "--robots", ROBOTS) as server:
        found = walk(server.url + start)
        before = server.requests()
        out = folder / "out"
        how = ("--processes", str(processes), "--json")
        with command("crawl", server.url + start, "--out", str(out), *how, folder=folder) as running:
            ended = running.wait(TIMEOUT_S, every_s=0.2)
        assert ended.status == 0, ended.stderr
        requests = {path: n - before.get(path, 0) for path, n in server.requests().items()}
    documents = [msgspec.json.decode(line) for line in (out / "pages.jsonl").read_bytes().splitlines()]
    truth = Walk(*(set(map(path_of, part)) for part in (found.html, found.other, found.missing, found.disallowed)))
    return Crawled(check(out), truth, requests, {path_of(page["url"]): page["markdown"] for page in documents})


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


@pytest.fixture(scope="module")
def manual(documentation: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """PostgreSQL's, as it comes: with XML declarations before the doctype."""
    root = documentation("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html")
    assert (root / "sql-select.html").read_bytes().startswith(b"<?xml version=")
    return crawled(root, "", tmp_path_factory.mktemp("manual"), processes=1)


@pytest.fixture(scope="module")
def reference(documentation: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """cppreference's, a wiki with 4,382 pages, by two processes."""
    root = documentation("cppreference-doc-en-html", "/usr/share/cppreference/doc/html")
    return crawled(root, "en/index.html", tmp_path_factory.mktemp("reference"), processes=2)


@pytest.fixture(params=["manual", "reference"])
def site(request: pytest.FixtureRequest) -> Crawled:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Crawled)
    return found


def test_documents_are_the_reachable_pages(site: Crawled) -> None:
    assert len(site.truth.html) > 1_000
    assert sorted(site.truth.html - site.pages) == []
    assert sorted(site.pages - site.truth.html) == []


def test_result_is_whole(site: Crawled) -> None:
    assert site.result.problems == []


def test_each_page_is_fetched_once(site: Crawled) -> None:
    assert {path: n for path in site.truth.html if (n := site.requests.get(path, 0)) != 1} == {}


def test_what_robots_forbid_is_not_fetched(site: Crawled) -> None:
    assert site.truth.disallowed
    assert [path for path in site.truth.disallowed if site.requests.get(path, 0)] == []
    assert site.result.denied["ROBOTS_TXT"] == len(site.truth.disallowed)


def test_nothing_of_a_real_site_is_taken_for_a_trap(site: Crawled) -> None:
    assert "TRAP" not in site.result.denied


def test_failures_are_the_dead_links(site: Crawled) -> None:
    # urllib, by which the walk joins, drops empty path segments; the URL standard keeps them.
    failed = {path_of(url).replace("//", "/") for url in site.result.failures}
    assert failed == {path.replace("//", "/") for path in site.truth.missing}


def test_every_page_has_a_heading_and_text(site: Crawled) -> None:
    assert [path for path, text in site.markdown.items() if len(text) < 40] == []
    bare = [path for path, text in site.markdown.items() if not HEADING.search(text)]
    assert set(bare) <= {"/legalnotice.html"}  # which has none in its HTML either


def test_fences_are_balanced(site: Crawled) -> None:
    odd = [
        path
        for path, text in site.markdown.items()
        if sum(line.lstrip().startswith("```") for line in text.splitlines()) % 2
    ]
    assert odd == []


def test_synopsis_of_a_command_is_a_code_block(manual: Crawled) -> None:
    text = manual.markdown["/sql-select.html"]
    synopsis = text[text.index("## Synopsis") : text.index("## Description")]
    assert re.search(r"^#+ SELECT$", text, re.MULTILINE)
    assert synopsis.count("```") == 2
    assert "\nSELECT [ ALL | DISTINCT [ ON ( expression [, ...] ) ] ]\n    [ { * | expression" in synopsis


def test_table_of_types_is_a_table(manual: Crawled) -> None:
    text = manual.markdown["/datatype-numeric.html"]
    assert "| Name | Storage Size | Description | Range |\n| --- | --- | --- | --- |\n| `smallint` | 2 bytes |" in text


def test_links_of_a_page_are_absolute(manual: Crawled) -> None:
    targets = re.findall(r"\]\(([^) ]+)", manual.markdown["/datatype-numeric.html"])
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith("http://127.0.0.1:")] == []


def test_example_of_a_class_is_a_block_of_its_language(reference: Crawled) -> None:
    text = reference.markdown["/en/cpp/container/vector.html"]
    assert text.startswith("# std::vector\n")
    assert "```cpp\n#include <iostream>\n#include <vector>\n" in text


def test_invalidation_rules_of_a_class_are_a_table_of_links(reference: Crawled) -> None:
    text = reference.markdown["/en/cpp/container/vector.html"]
    assert re.search(r"^\| \[push\\?_back\]\(http://127[^|]+\| If the vector changed capacity", text, re.MULTILINE)
