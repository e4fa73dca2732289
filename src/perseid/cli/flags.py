"""The flags that several commands share, as decorators, and what their texts mean."""

from __future__ import annotations

from pathlib import Path

import click

from perseid.errors import ConfigError
from perseid.pattern import later

_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = later(r"([0-9]+(?:\.[0-9]+)?)\s*(s|m|min|h|d|w|)")
_HEADER_NAME = later(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

FOLDER = click.Path(path_type=Path)

out = click.option("--out", "-o", type=FOLDER, metavar="FOLDER", help="Folder of the result. Default: ./out/HOST.")
any_out = click.option(
    "--out", "-o", type=FOLDER, metavar="FOLDER", help="Folder of a crawl. Default: all under ./out."
)
concurrency = click.option("--concurrency", type=int, metavar="N", help="Pages in flight in each process. Default: 16.")
processes = click.option("--processes", type=int, metavar="N", help="Processes that crawl. Default: 1.")
data = click.option(
    "--data",
    type=FOLDER,
    default=Path("perseid-data"),
    show_default=True,
    envvar="PERSEID_DATA",
    metavar="FOLDER",
    help="Folder of the server's store; with PERSEID_STORE__URL only of its metrics.",
)
headers = click.option(
    "--header",
    "-H",
    "headers",
    multiple=True,
    metavar="'Name: value'",
    help="Header to send to the site's own host. Repeatable.",
)
cookies = click.option("--cookie", "cookies", multiple=True, metavar="NAME=VALUE", help="Cookie to send. Repeatable.")
proxy = click.option("--proxy", metavar="URL", help="http://, https:// or socks5:// proxy.")
user_agent = click.option("--user-agent", metavar="TEXT", help="Instead of our own name.")
formats = click.option(
    "--format",
    "-f",
    "formats",
    multiple=True,
    metavar="FORMAT",
    help="markdown, html, rawHtml, links, images or text. Repeatable. Default: markdown.",
)
full_page = click.option(
    "--full-page", is_flag=True, help="Keep menus, headers and footers; else the main content only."
)
revalidate = click.option(
    "--revalidate",
    is_flag=True,
    help="Ask sites only for what changed since the last crawl into the same OUT (ETag).",
)
ignore_robots = click.option("--ignore-robots", is_flag=True, help="Fetch what robots.txt forbids, too.")
json = click.option("--json", is_flag=True, help="Machine-readable JSON on stdout.")
fresh = click.option("--fresh", is_flag=True, help="Begin anew, even if OUT holds a crawl that could be gone on with.")
ignore_query = click.option("--ignore-query", is_flag=True, help="URLs that differ in their query only are one page.")
sitemap = click.option(
    "--sitemap",
    default="include",
    show_default=True,
    metavar="include|skip|only",
    help="What to do with the site's sitemaps.",
)


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
