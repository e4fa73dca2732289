"""Options of a crawl or scrape from flags, and how two sets of them differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from perseid.cli.flags import cookie, header
from perseid.errors import ConfigError
from perseid.model.options import FORMATS, ScrapeOptions, SitemapMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.config.settings import Settings

_SECRET = frozenset({"headers", "cookies", "proxy"})
_NO_OTHER_RESULT = frozenset({"revalidate"})
"""Options that change how a result comes about, not what it is."""


class Fetching(msgspec.Struct, frozen=True, kw_only=True):
    """The flags about fetching and converting, as they were typed."""

    headers: Sequence[str] | None = None
    cookies: Sequence[str] | None = None
    proxy: str | None = None
    user_agent: str | None = None
    formats: Sequence[str] | None = None
    full_page: bool = False
    obey_robots: bool = True
    revalidate: bool = False


def scrape_options(flags: Fetching, settings: Settings) -> ScrapeOptions:
    """Raises `ConfigError` that names the flag."""
    formats = tuple(dict.fromkeys(part for text in flags.formats or ("markdown",) for part in text.split(",")))
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"--format {name}: unknown format; choose from {', '.join(FORMATS)}")
    return ScrapeOptions(
        formats=formats,  # type: ignore[arg-type]  # each was found in FORMATS
        only_main_content=not flags.full_page,
        headers=tuple(header(text) for text in flags.headers or ()),
        cookies=tuple(cookie(text) for text in flags.cookies or ()),
        user_agent=flags.user_agent or None,
        proxy=flags.proxy or settings.fetch.proxy or None,
        timeout_s=settings.fetch.page_timeout_s,
        max_attempts=settings.fetch.max_attempts,
        obey_robots=flags.obey_robots,
        revalidate=flags.revalidate,
    )


def sitemap_mode(text: str) -> SitemapMode:
    """Raises `ConfigError`."""
    modes: tuple[SitemapMode, ...] = get_args(SitemapMode)
    for mode in modes:
        if mode == text:
            return mode
    raise ConfigError(f"--sitemap {text}: choose from {', '.join(modes)}")


def differences(old: msgspec.Struct, new: msgspec.Struct) -> list[str]:
    """`scope.max_depth: none → 3`, one for each option that differs; secrets are only named."""
    before, after = dict(_flat(old)), dict(_flat(new))
    found = []
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) == after.get(name) or name.rpartition(".")[2] in _NO_OTHER_RESULT:
            continue
        if name.rpartition(".")[2] in _SECRET:
            found.append(f"{name}: another value")
        else:
            found.append(f"{name}: {_shown(before.get(name))} → {_shown(after.get(name))}")
    return found


def _flat(value: msgspec.Struct, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in value.__struct_fields__:
        member = getattr(value, name)
        if isinstance(member, msgspec.Struct):
            found.extend(_flat(member, f"{prefix}{name}."))
        else:
            found.append((f"{prefix}{name}", member))
    return found


def _shown(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
