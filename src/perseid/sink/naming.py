"""Names at a target: of tables, of files, of columns."""

from __future__ import annotations

import hashlib
import re

from perseid.ports.sink import SinkFailure

_LONGEST = 63
"""Bytes of an identifier, after which PostgreSQL cuts it without a word."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.=-]*)*")


def table_of(table: str, site: str) -> str:
    """Dots and hyphens of a site's name would have to be quoted in each query: `shop.example` is `shop_example`."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", site)
    return identifier(table.replace("{site}", plain) if table else plain)


def path_of(table: str, site: str) -> str:
    """A relative path without its ending. Raises `SinkFailure` for one that could lead elsewhere."""
    path = table.replace("{site}", site) if table else site
    if not _PATH.fullmatch(path):
        raise SinkFailure(
            f"{path!r} is no name for a file: letters, digits, `_`, `.`, `=` and `-`, with `/` between folders, each"
            " beginning with a letter or digit; change `table` of the sink",
            lasting=True,
        )
    return path


def column(name: str, ending: str = "") -> str:
    """The column of a field. Names that are too long keep their beginning and a digest."""
    return identifier(name, ending)


def identifier(name: str, ending: str = "") -> str:
    clean = (_CONTROL.sub("", name) or "_") + ending
    if len(clean.encode("utf-8", "replace")) <= _LONGEST:
        return clean
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    room = _LONGEST - len(ending) - len(digest) - 1
    return f"{clean.encode('utf-8', 'replace')[:room].decode('utf-8', 'ignore')}_{digest}{ending}"


def quoted(name: str) -> str:
    """An identifier as SQL has it."""
    return '"' + name.replace('"', '""') + '"'
