"""Where results lie by default, and one writer at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perseid.cli.places import default_out, known, sole_writer
from perseid.errors import NotFound, StoreUnavailable
from perseid.sink.place import Place, prepare


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("https://Example.org/docs/", "out/example.org"),
        ("http://127.0.0.1:8080/", "out/127.0.0.1_8080"),
        ("https://u:p@h/", "out/h"),
        ("https://[::1]/x", "out/1"),
        ("https://../x", "out/site"),
        ("batch-urls", "out/batch-urls"),
    ],
)
def test_default_folder_is_named_for_the_host(url: str, folder: str) -> None:
    assert default_out(url) == Path(folder)


def test_stores_under_out_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert known(None) == []
    place = Place(Path("out/h"))
    prepare(place)
    assert known(None) == []
    place.database.touch()
    assert known(None) == [place]


def test_folder_without_a_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="holds no crawl"):
        known(tmp_path)


def test_second_writer_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path)
    prepare(place)
    with sole_writer(place), pytest.raises(StoreUnavailable, match="another perseid is writing"), sole_writer(place):
        pass


def test_writer_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    prepare(place)
    script = (
        "import os, sys; from pathlib import Path; from perseid.sink.place import Place; from perseid.cli.places import *\n"
        "with sole_writer(Place(Path(sys.argv[1]))): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    with sole_writer(place):
        assert (place.state / "lock").exists()
