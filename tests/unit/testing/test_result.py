"""The check that chaos tests rely on sees every kind of damage that they look for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from perseid.testing import Site, in_thread
from perseid.testing.child import command
from perseid.testing.result import check, leases


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    with in_thread(Site()) as site:
        site.links({"/": ["/a", "/b", "/gone", "mailto:x@example.org"]})
        site.respond("/gone", 404)
        with command("crawl", site.url("/"), "--out", str(folder / "out"), "--json", folder=folder) as running:
            assert running.wait(60).status == 0
    return folder / "out"


@pytest.fixture
def out(crawled: Path, tmp_path: Path) -> Path:
    """A copy to do harm to."""
    return shutil.copytree(crawled, tmp_path / "out")


def test_a_whole_result_has_no_problems(crawled: Path) -> None:
    result = check(crawled)
    assert result.problems == []
    assert [url.rpartition("/")[2] for url in result.urls] == ["", "a", "b"]
    assert list(result.failures.values()) == ["http_404"]
    assert result.denied == {"NON_WEB_PROTOCOL": 1}


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def page(out: Path) -> Path:
    return next(path for path in (out / "pages").rglob("*.md") if path.name == "a.md")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda out: edit(out / "pages.jsonl", lambda data: data[:-20]), "torn line"),
        (lambda out: edit(out / "pages.jsonl", lambda data: data.split(b"\n", 1)[1]), "holds 2 lines"),
        (lambda out: edit(out / "pages.jsonl", lambda data: data + data), "holds 6 lines"),
        (lambda out: edit(out / "failed.jsonl", lambda _: b""), "failed.jsonl"),
        (lambda out: edit(out / "skipped.jsonl", lambda data: data + data), "skipped.jsonl"),
        (lambda out: page(out).unlink(), "is missing"),
        (lambda out: page(out).write_text("cut"), "no front matter"),
        (lambda out: page(out).with_name("odd.md").write_text("---\n"), "no page of the crawl has"),
        (lambda out: (out / ".perseid" / "cursor.json.part").touch(), "left behind"),
    ],
)
def test_damage_of_files_is_told(harm: Callable[[Path], object], told: str, out: Path) -> None:
    harm(out)
    assert told in "; ".join(check(out).problems)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM document WHERE seq = 2", "audit: documents of crawl"),
        ("UPDATE document SET body = (SELECT body FROM document WHERE seq = 2) WHERE seq = 3", "there twice"),
        ("UPDATE crawl SET open = 1, status = 0", "1 jobs are open"),
        ("UPDATE crawl SET done = done - 1", "ended"),
        ("UPDATE crawl SET discovered = discovered + 1", "audit: pages of crawl"),
        ("DELETE FROM ended WHERE state = 0", "audit:"),
    ],
)
def test_damage_of_the_store_is_told(statement: str, told: str, out: Path) -> None:
    with closing(apsw.Connection(str(out / ".perseid" / "perseid.db"))) as connection:
        connection.execute(statement)
    assert told in "; ".join(check(out).problems)


def test_leases_are_seen_with_their_process(out: Path) -> None:
    assert leases(out) == []
    with closing(apsw.Connection(str(out / ".perseid" / "perseid.db"))) as connection:
        connection.execute("INSERT INTO worker (id, host, pid, pid_started) VALUES (7, 'here', 4711, 1)")
        connection.execute(
            "INSERT INTO lease (job, crawl, lock, worker, queue, lane, host, team, started_at, expires_at)"
            " SELECT id, crawl, 1, 7, 1, 1, 1, 1, 0, 0 FROM url LIMIT 1"
        )
    (held,) = leases(out)
    assert held.pid == 4711
    assert leases(out, pid=4712) == []
