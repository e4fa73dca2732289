"""From the text of any file that people write to a value of its type, or to all that is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from perseid.errors import ConfigError
from perseid.pattern import later
from perseid.rules.checking import Checker, type_of
from perseid.rules.complaint import Complaints, Invalid
from perseid.rules.json_text import read_json
from perseid.rules.place import Places
from perseid.rules.tree import Branch, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path as File

T = TypeVar("T", bound=msgspec.Struct)
_PARTS = later(r"(?:^|\.|(\[))([^.\[\]]+)")

MAX_BYTES = 1_000_000
SUFFIXES = (".yaml", ".yml", ".json")


def file_body(path: File, what: str) -> bytes:
    """What stands in a file; `what` is its name in messages. Raises ConfigError."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the {what} {str(path)!r} can't be read: {error.strerror}") from error
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"the {what} {str(path)!r} must end in .yaml, .yml or .json")
    return body


def shaped(
    text: str | bytes,
    kind: type[T],
    name: str,
    *,
    is_json: bool | None = None,
    prepare: Callable[[Branch], Branch] | None = None,
    faults: Callable[[T], Iterable[tuple[str, str]]] | None = None,
) -> T:
    """A value of that type; JSON where `is_json`, or where None and the text begins with a brace, else YAML.

    `prepare` writes short forms out; `faults` tells what makes no sense: (path, sentence), the path as `tree.shown`
    writes it. Raises `Invalid` with all complaints.
    """
    complaints = Complaints(name)
    root = tree(text, complaints, is_json=is_json)
    if root is None:
        raise Invalid(complaints.sorted())
    full = root if prepare is None else prepare(root)
    value = Checker(complaints).value(type_of(kind), full, ())
    if not complaints.fatal:
        try:
            made = msgspec.convert(value, kind)
        except (msgspec.ValidationError, ValueError, TypeError) as error:
            complaints.error((), root.place, str(error))
        else:
            for path, sentence in () if faults is None else faults(made):
                _found(complaints, full, path).error(sentence)
            if not complaints.fatal:
                return made
    raise Invalid(complaints.sorted())


def _found(complaints: Complaints, root: Branch, path: str) -> Places:
    """The part at that path; what isn't written stands where its nearest parent does."""
    parts = [int(part) if bracket else part for bracket, part in _PARTS.findall(path)]
    return Places(complaints, root, root.place).below(*parts)


def tree(
    body: str | bytes, complaints: Complaints, *, is_json: bool | None = None, max_bytes: int = MAX_BYTES
) -> Branch | None:
    """The text as a tree that knows its places; None after a complaint."""
    if len(body) > max_bytes:
        complaints.error((), Place(1, 1), f"the file is larger than {max_bytes} bytes")
        return None
    try:
        text = body.decode("utf-8-sig") if isinstance(body, bytes) else body
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        complaints.error((), Place(line, 1), "the file is not UTF-8; save it as UTF-8")
        return None
    if is_json is None:
        is_json = text.lstrip().startswith("{")
    return read_json(text, complaints) if is_json else _yaml(text, complaints)


def _yaml(text: str, complaints: Complaints) -> Branch | None:
    from perseid.rules.yaml_text import read_yaml  # noqa: PLC0415  only what needs it needs PyYAML

    return read_yaml(text, complaints)
