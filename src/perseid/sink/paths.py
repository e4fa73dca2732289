"""URL → relative path of its page: two URLs never share one, on any file system.

Ordinary URLs keep their look: `https://h/docs/a?page=2` → `h/docs/a@page=2.md`, `https://h/docs/` →
`h/docs/index.md`. Everything else is spelt out, so that the URL could be read back (docs/cli.md has the table):

- `,xx` is a byte that can't stand in a name; `,2f` a `/` inside a query; a bare `@` begins the query.
- `~` and hex digits at the end of a name say which letters are upper case (lower in percent escapes), since
  some file systems fold case; a bare `~` marks a name that would else have a second meaning.
- `~z` and 26 characters are a hash, where the name itself would be too long.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from functools import lru_cache

from perseid.pattern import later

MAX_NAME = 150
"""Longest file or folder name in bytes; file systems allow 255."""
MAX_PATH = 600
"""Longest path in bytes; macOS allows 1,024 with the folder it stands in."""

_PLAIN_FOLDER = later(r"[a-z0-9_][a-z0-9_.+=()-]*(?<!\.)(?<!\.md)", re.ASCII)
_PLAIN_FILE = re.compile(r"[a-z0-9_][a-z0-9_.+=()-]*", re.ASCII)
_URL = re.compile(r"(https?)://([^/?#]*)(/[^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_PIECE = later(r"(?:%[0-9A-Fa-f]{2})+|[A-Za-z0-9_.+=()&-]+|~|.", re.DOTALL)
_SAFE = later(r"[A-Za-z0-9_.+=()&-]+|~")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_LETTER = re.compile(r"[A-Za-z]")
_DEVICE = re.compile(r"(con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9]|lpt[0-9])(?![^.])", re.IGNORECASE)
_LONGEST_PLAIN = MAX_NAME - 8
_ELSEWHERE = "~other"
_PORT = later(r"[1-9][0-9]{0,4}", re.ASCII)
_OWN_PORT = {"http": "80", "https": "443"}


def page_path(url: str) -> str:
    """Path of the markdown file of a URL, relative to the folder of pages, with `/` between names."""
    match = _URL.fullmatch(url)
    if match is None:
        return f"{_ELSEWHERE}/{_digest(url)}.md"
    scheme, authority, path, query, fragment = match.groups()
    *folders, last = path[1:].split("/")
    names = [_host(scheme, authority), *map(_folder, folders), _file(last, query, fragment)]
    joined = "/".join(names)
    if len(joined) > MAX_PATH and len(joined.encode()) > MAX_PATH:
        return f"{names[0]}/~long/{_digest(url)}.md"
    return joined


@lru_cache(maxsize=4096)
def _host(scheme: str, authority: str) -> str:
    """`h` for https on its own port, else `h+80`, `h+8080`, `h+8443+tls`."""
    whole = f"{scheme}://{authority}"
    host, colon, port = authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    if not colon:
        host, port = authority, ""
    if "@" in authority or (colon and (not _PORT.fullmatch(port) or port == _OWN_PORT[scheme])):
        # Unusual spelling, or credentials, which don't belong into a name.
        return _escaped(authority.rpartition("@")[2])[:60] + _mark(whole)
    suffix = f"+{port or 80}" if scheme == "http" else f"+{port}+tls" if port else ""
    return _finish(_escaped(host).replace("+", ",2b") + suffix, whole, folder=True)


@lru_cache(maxsize=4096)
def _folder(raw: str) -> str:
    if len(raw) < _LONGEST_PLAIN and _PLAIN_FOLDER.fullmatch(raw) and not _DEVICE.match(raw):
        return raw
    return _finish(_escaped(raw, at=True), raw, folder=True)


def _file(raw: str, query: str | None, fragment: str | None) -> str:
    if query is None and fragment is None:
        if not raw:
            return "index.md"
        if len(raw) < _LONGEST_PLAIN and _PLAIN_FILE.fullmatch(raw) and raw != "index" and not _DEVICE.match(raw):
            return f"{raw}.md"
    name = ",69ndex" if raw == "index" else _escaped(raw) or "index"
    if query is not None:
        name += "@" + _escaped(query[1:], first=False)
    if fragment is not None:
        name += _escaped(fragment, first=False)
    return _finish(name, raw + (query or "") + (fragment or ""), folder=False) + ".md"


def _finish(name: str, raw: str, *, folder: bool) -> str:
    """Add the case mark, or the hash that replaces what is too long."""
    mask = _case_mask(name)
    if mask or "~" in name or not name or (folder and (name.endswith((".", ".md")))):
        name = f"{name}~{mask:x}" if mask else f"{name}~"
    if len(name) <= MAX_NAME - 3 and (name.isascii() or len(name.encode()) <= MAX_NAME - 3):
        return name
    # No cut may leave half an escape, though for being unique only the hash counts.
    head = name.encode()[:80].decode("utf-8", "ignore").rstrip(".")
    return head + _mark(raw)


def _escaped(raw: str, *, at: bool = False, first: bool = True) -> str:
    """Spell out what can't stand in a name; with `first`, also what may not begin one."""
    parts = []
    for piece in _PIECE.findall(raw):
        if _SAFE.fullmatch(piece) or (at and piece == "@"):
            parts.append(piece)
        elif piece.startswith("%") and len(piece) > 1:
            parts.append(_readable(piece))
        else:
            parts.append("".join(f",{byte:02x}" for byte in piece.encode("utf-8", "surrogatepass")))
    name = "".join(parts)
    if first and name and (name[0] in ".-" or _DEVICE.match(name)):
        # Hidden files, options of commands, and the devices of Windows.
        name = f",{ord(name[0]):02x}{name[1:]}"
    return name


def _readable(escapes: str) -> str:
    """Percent escapes as the letters they stand for, where no file system could confuse those."""
    if escapes.upper() != escapes or "%" not in escapes[1:]:
        return escapes
    try:
        text = bytes.fromhex(escapes.replace("%", "")).decode()
    except UnicodeDecodeError:
        return escapes
    return "".join(
        character if _unmistakable(character) else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )


@lru_cache(maxsize=4096)
def _unmistakable(character: str) -> bool:
    """A letter beyond ASCII that has no case and no other spelling, alone or with its neighbours."""
    return (
        character > "\x7f"
        and unicodedata.category(character) == "Lo"
        and unicodedata.normalize("NFKD", character) == character
        and character == character.lower() == character.upper() == character.casefold()
        and not "\u1100" <= character <= "\u11ff"  # conjoining jamo compose with each other
        and not "\ua960" <= character <= "\ua97f"
        and not "\ud7b0" <= character <= "\ud7ff"
    )


def _case_mask(name: str) -> int:
    """Bit i is set where the i-th letter is not in its usual case: lower, but upper in percent escapes."""
    if name.islower() and "%" not in name:
        return 0
    mask, position, at = 0, 0, 0
    while at < len(name):
        escape = _ESCAPE.match(name, at)
        end = escape.end() if escape else at + 1
        for letter in _LETTER.findall(name, at, end):
            if letter.islower() == bool(escape):
                mask |= 1 << position
            position += 1
        at = end
    return mask


def _digest(text: str) -> str:
    """128 bits: nobody finds two URLs with one digest on purpose."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def _mark(raw: str) -> str:
    return f"~z{_digest(raw)}"
