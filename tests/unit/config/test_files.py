"""Which files are read, and errors that say where."""

from __future__ import annotations

from pathlib import Path

import pytest

from perseid.config.files import find, read
from perseid.config.loading import load
from perseid.errors import ConfigError


def test_folder_file_comes_after_user_file(tmp_path: Path) -> None:
    user = tmp_path / "xdg" / "perseid" / "perseid.toml"
    user.parent.mkdir(parents=True)
    user.write_text("[log]\nlevel = 'info'\nformat = 'text'\n")
    (tmp_path / "perseid.toml").write_text("[log]\nlevel = 'debug'\n")
    found = find({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path, tmp_path)
    assert found == [user, tmp_path / "perseid.toml"]
    log = load({}, [read(path) for path in found]).settings.log
    assert (log.level, log.format) == ("debug", "text")


def test_relative_xdg_folder_is_ignored(tmp_path: Path) -> None:
    home_file = tmp_path / ".config" / "perseid" / "perseid.toml"
    home_file.parent.mkdir(parents=True)
    home_file.touch()
    assert find({"XDG_CONFIG_HOME": "somewhere"}, tmp_path, tmp_path) == [home_file]


def test_named_file_replaces_the_others(tmp_path: Path) -> None:
    (tmp_path / "perseid.toml").touch()
    assert find({"PERSEID_CONFIG": "mine.toml"}, tmp_path, tmp_path) == [Path("mine.toml")]
    assert find({"PERSEID_CONFIG": "mine.toml"}, tmp_path, tmp_path, Path("flag.toml")) == [Path("flag.toml")]


@pytest.mark.parametrize("content", [b"[fetch\n", b"\xff\xfe", b"a = \n"])
def test_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "perseid.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="no valid TOML"):
        read(path)


def test_missing_named_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        read(tmp_path / "none.toml")
