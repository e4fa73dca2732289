"""OUT is ours or left alone, and a new result replaces an old one whole, whenever the kill comes."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from perseid.errors import ConfigError, StoreUnavailable
from perseid.sink.place import (
    ENTRIES,
    Place,
    Record,
    load_record,
    prepare,
    recover,
    replace,
    save_record,
    write_whole,
)


def result(folder: Path, word: str) -> None:
    (folder / "pages" / "h").mkdir(parents=True, exist_ok=True)
    (folder / "pages" / "h" / f"{word}.md").write_text(word)
    for name in ENTRIES[1:]:
        (folder / name).write_text(word)


def words(place: Place) -> set[str]:
    return {(place.out / name).read_text() for name in ENTRIES[1:]} | {
        path.read_text() for path in place.out.glob("pages/h/*.md")
    }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path / "out")
    prepare(place)
    return place


def test_new_result_replaces_the_old_one(place: Place) -> None:
    result(place.out, "old")
    result(place.next, "new")
    (place.out / "notes.txt").write_text("mine")
    replace(place)
    assert words(place) == {"new"}
    assert (place.out / "notes.txt").read_text() == "mine"
    assert not place.next.exists()


def test_missing_lists_become_empty(place: Place) -> None:
    result(place.out, "old")
    (place.next / "pages").mkdir(parents=True)
    replace(place)
    assert words(place) == {""}


class Killed(BaseException):
    pass


@pytest.mark.parametrize("steps", range(8))
def test_kill_during_the_replacement_is_completed_by_the_next_start(
    place: Place, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    result(place.out, "old")
    result(place.next, "new")
    left = steps

    def step(real: object) -> object:
        def call(self: Path, *args: object, **kwargs: object) -> object:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(self, *args, **kwargs)  # type: ignore[operator]

        return call

    with monkeypatch.context() as patch:
        for name in ("replace", "rename", "unlink"):
            patch.setattr(Path, name, step(getattr(Path, name)))
        with suppress(Killed):
            replace(place)
    decided = place.swap.exists() or not place.next.exists()
    recover(place)
    assert words(place) == ({"new"} if decided else {"old"})
    assert decided == (steps >= 1)


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text("precious")
    with pytest.raises(ConfigError, match=r"pages\.jsonl but no crawl of ours"):
        prepare(Place(tmp_path))


def test_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="is no folder"):
        prepare(Place(tmp_path / "out"))


def test_record_is_read_back(place: Place) -> None:
    record = Record(uid="a", kind="crawl", url="https://h/", options=msgspec.Raw(b'{"limit":3}'), staged=True)
    save_record(place, record)
    loaded = load_record(place)
    assert loaded is not None
    assert (loaded.uid, loaded.staged, bytes(loaded.options)) == ("a", True, b'{"limit":3}')


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]"])
def test_unreadable_record_counts_as_none(place: Place, content: bytes) -> None:
    place.record.write_bytes(content)
    assert load_record(place) is None


def test_full_disk_keeps_the_old_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(place.record, b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        write_whole(place.record, b"new")
    assert place.record.read_bytes() == b"old"
