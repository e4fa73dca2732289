"""The flags that several commands share, as annotated types, and what their texts mean."""

import re
from pathlib import Path
from typing import Annotated

import typer

from perseid.errors import ConfigError

_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|m|min|h|d|w|)")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the result. Default: ./out/HOST."),
]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", metavar="N", help="Pages in flight in each process. Default: 16.")
]
Processes = Annotated[int | None, typer.Option("--processes", metavar="N", help="Processes that crawl. Default: 1.")]
Header = Annotated[
    list[str] | None,
    typer.Option("--header", "-H", metavar="'Name: value'", help="Header to send to the site's own host. Repeatable."),
]
Cookie = Annotated[list[str] | None, typer.Option("--cookie", metavar="NAME=VALUE", help="Cookie to send. Repeatable.")]
Proxy = Annotated[str | None, typer.Option("--proxy", metavar="URL", help="http://, https:// or socks5:// proxy.")]
UserAgent = Annotated[str | None, typer.Option("--user-agent", metavar="TEXT", help="Instead of our own name.")]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="markdown, html, rawHtml, links, images or text. Repeatable. Default: markdown.",
    ),
]
FullPage = Annotated[
    bool, typer.Option("--full-page", help="Keep menus, headers and footers; else the main content only.")
]
Revalidate = Annotated[
    bool,
    typer.Option("--revalidate", help="Ask sites only for what changed since the last crawl into the same OUT (ETag)."),
]
IgnoreRobots = Annotated[bool, typer.Option("--ignore-robots", help="Fetch what robots.txt forbids, too.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable JSON on stdout.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Begin anew, even if OUT holds a crawl that could be gone on with.")
]


def seconds(text: str) -> float:
    """`90`, `1.5s`, `10m`, `2h`, `7d` in seconds. Raises `ConfigError`."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise ConfigError(f"{text!r} is not a duration; write 30, 1.5s, 10m, 2h or 7d")
    return float(match[1]) * _SECONDS[match[2]]


def header(text: str) -> tuple[str, str]:
    """`Name: value`. Raises `ConfigError`; the value, which may be a secret, is not repeated."""
    name, colon, value = text.partition(":")
    if not colon or not _HEADER_NAME.fullmatch(name.strip()):
        raise ConfigError("--header wants 'Name: value', for example 'Authorization: Bearer …'")
    if any(character in value for character in "\r\n\0"):
        raise ConfigError(f"--header {name.strip()}: a header value holds no line breaks")
    return name.strip(), value.strip()


def cookie(text: str) -> tuple[str, str]:
    """`name=value`. Raises `ConfigError`; the value is not repeated."""
    name, equals, value = text.strip().partition("=")
    if not equals or not _HEADER_NAME.fullmatch(name):
        raise ConfigError("--cookie wants name=value; give the flag once for each cookie")
    if any(character in value for character in ";\r\n\0"):
        raise ConfigError(f"--cookie {name}: a cookie value holds no semicolon; give the flag once for each cookie")
    return name, value
