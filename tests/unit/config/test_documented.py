"""docs/settings.md tells every setting, its default and what is allowed, and none that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

from perseid._version import __version__
from perseid.config.loading import allowed, declared, entry, mappings
from perseid.config.old_names import OLD_NAMES, WITHOUT_EFFECT

DOCS = Path(__file__).resolve().parents[3] / "docs" / "settings.md"


def shown(default: object) -> str:
    match default:
        case bool():
            return str(default).lower()
        case "" | ():
            return "empty"
        case tuple():
            return ", ".join(default)
        case float():
            return f"{default:g}"
        case _:
            return str(default).replace(__version__, "VERSION")


def test_documented_settings_are_the_real_ones() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| ([^|]+) \| ([^|]+) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(field.name, shown(field.default), allowed(field)) for field in declared()]


def test_documented_mappings_are_the_real_ones() -> None:
    rows = re.findall(r"^\| `([a-z_]+)\.NAME` \| ([^|]+) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(section, allowed(entry(section, "x"))) for section in mappings()]


def test_documented_names_of_other_systems_are_the_real_ones() -> None:
    text = DOCS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (?:`([a-z_.]+)`|none) \|", text, re.MULTILINE)
    assert rows == [*((old.variable, old.setting) for old in OLD_NAMES), *((name, "") for name in WITHOUT_EFFECT)]
