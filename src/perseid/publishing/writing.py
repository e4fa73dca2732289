"""What was published as files again: YAML where it means the same to those who read it, else JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from perseid.errors import ConfigError
from perseid.publishing.draft import draft
from perseid.publishing.publisher import said

if TYPE_CHECKING:
    from pathlib import Path

    from perseid.ports.configs import Version


def as_yaml(value: Any) -> str | None:
    """None without PyYAML."""
    try:
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415  # no types; an optional extra
    except ImportError:
        return None
    written: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=120)
    return written


def text_of(value: Any) -> str:
    """YAML, or JSON where nothing here writes YAML; either can be published."""
    return as_yaml(value) or as_json(value)


def as_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def write_out(version: Version, folder: Path) -> Path:
    """Write a version into a folder, under its object's name; an older file of it is replaced at once.

    Raises `ConfigError` where that can't be done.
    """
    value = said(version)
    text = as_yaml(value)
    if text is not None and _means(text, version):
        path, other = folder / f"{version.name}.yaml", folder / f"{version.name}.json"
    else:
        text, path, other = as_json(value), folder / f"{version.name}.json", folder / f"{version.name}.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        half = folder / f".{path.name}.part"
        half.write_text(text, encoding="utf-8")
        half.replace(path)
        other.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror or os.strerror(error.errno or 0)}") from error
    return path


def _means(text: str, version: Version) -> bool:
    try:
        return draft(version.kind, text, name=version.name, is_json=False).body == version.body
    except ConfigError:
        return False
