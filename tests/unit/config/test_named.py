"""Connections and folders: named by the operator, found by that name, explained where they are not."""

from __future__ import annotations

import msgspec
import pytest

from perseid.config import named
from perseid.config.loading import FileSource, load
from perseid.config.settings import Settings
from perseid.errors import ConfigError

FILE = FileSource(
    "perseid.toml",
    {"connections": {"shop": "postgresql://u:p@h/d", "lake": "s3://bucket"}, "folders": {"out": "/srv/out"}},
)


def test_the_environment_wins_over_the_file_name_by_name() -> None:
    loaded = load({"PERSEID_CONNECTIONS__SHOP": "sqlite:///srv/shop.db"}, [FILE])
    assert named.connection(loaded.settings, "shop") == "sqlite:///srv/shop.db"
    assert named.connection(loaded.settings, "lake") == "s3://bucket"
    assert named.folder(loaded.settings, "out") == "/srv/out"
    assert (loaded.origins["connections.shop"], loaded.origins["folders.out"]) == (
        "PERSEID_CONNECTIONS__SHOP",
        "perseid.toml",
    )


def test_a_name_that_is_nowhere_is_told_with_those_that_are() -> None:
    settings = load({}, [FILE]).settings
    with pytest.raises(ConfigError, match=r"no connection is named 'shops' in the settings; there are: lake, shop\."):
        named.connection(settings, "shops")
    with pytest.raises(ConfigError, match=r"there is none\. .*PERSEID_FOLDERS__OUT"):
        named.folder(Settings(), "out")


@pytest.mark.parametrize(
    ("section", "values", "words"),
    [
        ("connections", {"shop": "no address hunter2"}, ["perseid.toml: connections.shop = ***", "with its scheme"]),
        ("connections", {"My-Shop": "s3://b"}, ["connections.My-Shop", "lower-case letters"]),
        ("connections", {"shop": 3}, ["connections.shop"]),
        ("folders", {"out": "here"}, ["folders.out = 'here'", "from / on"]),
    ],
)
def test_what_is_wrong_is_said_without_the_secret(section: str, values: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        load({}, [FileSource("perseid.toml", {section: values})])
    assert all(word in str(raised.value) for word in words)
    assert "hunter2" not in str(raised.value)


def test_one_underscore_too_few_is_noticed() -> None:
    with pytest.raises(ConfigError, match="did you mean PERSEID_FOLDERS__OUT"):
        load({"PERSEID_FOLDERS_OUT": "/srv"})


def test_settings_with_names_travel_to_other_processes() -> None:
    settings = load({}, [FILE]).settings
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings
