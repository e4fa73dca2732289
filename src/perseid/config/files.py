"""Where configuration files lie and how they are read (TOML)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perseid.config.loading import FileSource
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "perseid.toml"


def find(env: Mapping[str, str], home: Path, cwd: Path, explicit: Path | None = None) -> list[Path]:
    """Files to read, weakest first: that of the user (XDG base directories), then that of the folder.

    A file named by `--config` or `PERSEID_CONFIG` replaces both and must exist.
    """
    if explicit is None and env.get("PERSEID_CONFIG"):
        explicit = Path(env["PERSEID_CONFIG"])
    if explicit is not None:
        return [explicit]
    xdg = env.get("XDG_CONFIG_HOME", "")
    base = Path(xdg) if xdg.startswith("/") else home / ".config"
    return [path for path in (base / "perseid" / NAME, cwd / NAME) if path.is_file()]


def read(path: Path) -> FileSource:
    """Parse one file. Raises `ConfigError` with line and column where it is no TOML."""
    import tomllib  # noqa: PLC0415  most runs have no file, and start-up time is felt

    try:
        return FileSource(str(path), tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: no valid TOML: {error}") from None
