"""The list of URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perseid.cli.batch import read_urls
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def test_one_url_a_line_with_comments_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_bytes(b"\xef\xbb\xbfhttps://h/a\r\n\r\n# not this\n  https://h/b  \nhttps://h/a\n")
    assert read_urls(str(path)) == ["https://h/a", "https://h/b", "https://h/a"]


def test_wrong_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("https://h/a\nmailto:x@h\n")
    with pytest.raises(ConfigError, match="line 2"):
        read_urls(str(path))


@pytest.mark.parametrize("content", ["", "\n# only this\n"])
def test_empty_list_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "urls.txt"
    path.write_text(content)
    with pytest.raises(ConfigError, match="holds no URL"):
        read_urls(str(path))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_urls(str(tmp_path / "none"))
