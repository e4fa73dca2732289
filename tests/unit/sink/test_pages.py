"""The folder of pages is whole again after any kill, and a full disk is told plainly."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perseid.errors import StoreUnavailable
from perseid.model.document import Document
from perseid.sink.pages import PageWriter


def page(number: int) -> tuple[int, bytes, Document]:
    document = Document(
        url=f"https://h/p{number}",
        source_url=f"https://h/p{number}",
        status=200,
        title=f"Page {number}",
        markdown=f"# {number}\n",
    )
    return number, msgspec.json.encode(document), document


PAGES = [page(number) for number in range(1, 11)]


def feed(folder: Path, *, until: int = 10, uid: str = "a") -> PageWriter:
    """What the drain does: everything after the cursor, from the store."""
    with PageWriter(folder, folder / "cursor", uid) as writer:
        for seq, line, document in PAGES[writer.seq : until]:
            writer.write(seq, line, document)
    return writer


def seen(folder: Path) -> list[str]:
    return [json.loads(line)["url"] for line in (folder / "pages.jsonl").read_bytes().splitlines()]


ALL = [document.url for _, _, document in PAGES]


def test_page_is_a_file_and_a_line(tmp_path: Path) -> None:
    feed(tmp_path, until=1)
    assert seen(tmp_path) == ALL[:1]
    text = (tmp_path / "pages" / "h" / "p1.md").read_text()
    assert text == "---\nurl: https://h/p1\ntitle: Page 1\nstatus: 200\n---\n\n# 1\n"


def test_second_run_goes_on(tmp_path: Path) -> None:
    feed(tmp_path, until=4)
    writer = feed(tmp_path)
    assert not writer.repaired
    assert seen(tmp_path) == ALL


def test_pages_of_another_crawl_are_written_anew(tmp_path: Path) -> None:
    feed(tmp_path, until=4)
    writer = feed(tmp_path, uid="b")
    assert writer.repaired
    assert seen(tmp_path) == ALL


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_torn_end_is_cut_and_written_again(tmp_path: Path, cut: int) -> None:
    feed(tmp_path, until=4)
    whole = (tmp_path / "pages.jsonl").read_bytes()
    (tmp_path / "pages.jsonl").write_bytes(whole + PAGES[4][1][:cut])
    writer = feed(tmp_path)
    assert writer.repaired
    assert seen(tmp_path) == ALL


@settings(max_examples=60, deadline=None)
@given(keep=st.integers(0, 2000), cursor=st.sampled_from(["kept", "lost", "torn", "of another"]))
def test_any_damage_is_repaired(tmp_path_factory: pytest.TempPathFactory, keep: int, cursor: str) -> None:
    folder = tmp_path_factory.mktemp("out")
    feed(folder, until=6)
    lines = folder / "pages.jsonl"
    lines.write_bytes(lines.read_bytes()[:keep])
    path = folder / "cursor"
    match cursor:
        case "lost":
            path.unlink()
        case "torn":
            path.write_bytes(path.read_bytes()[:9])
        case "of another":
            path.write_bytes(b'{"uid":"z","seq":3,"size":10}')
    feed(folder)
    assert seen(folder) == ALL


def test_killed_before_the_commit_nothing_is_doubled(tmp_path: Path) -> None:
    writer = PageWriter(tmp_path, tmp_path / "cursor", "a")
    for seq, line, document in PAGES[:3]:
        writer.write(seq, line, document)
    writer._lines.flush()  # the lines are in the file, the cursor does not know
    feed(tmp_path)
    assert seen(tmp_path) == ALL
    writer._lines.close()


def test_page_without_markdown_is_a_line_only(tmp_path: Path) -> None:
    with PageWriter(tmp_path, tmp_path / "cursor", "a") as writer:
        writer.write(1, b'{"url":"https://h/x"}', Document(url="https://h/x", source_url="https://h/x", status=200))
    assert seen(tmp_path) == ["https://h/x"]
    assert not list((tmp_path / "pages").iterdir())


def test_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    with PageWriter(tmp_path, tmp_path / "cursor", "a") as writer:
        document = Document(url="https://h/x", source_url="https://h/x", status=200, title="\ud800", markdown="\ud800")
        writer.write(1, b"{}", document)
    assert (tmp_path / "pages/h/x.md").read_bytes().endswith(b"\n?\n")


def test_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(tmp_path, until=2)
    real, calls = os.write, 0

    def full(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreUnavailable, match=r"No space left on device.*Nothing fetched is lost"):
        feed(tmp_path)
    monkeypatch.undo()
    feed(tmp_path)
    assert seen(tmp_path) == ALL
    assert len(list((tmp_path / "pages/h").iterdir())) == 10


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:5]))
    feed(tmp_path, until=1)
    assert (tmp_path / "pages/h/p1.md").read_text().endswith("# 1\n")
