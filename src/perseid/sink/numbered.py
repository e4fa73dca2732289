"""Files that hold a batch each, named by its number: the same batch again replaces what its first try wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from perseid.sink import journal
from perseid.sink.fitting import Kind
from perseid.sink.journal import Begun

Columns = dict[str, dict[str, Kind]]
"""What each file's columns hold, by the name of its table: files of one table agree, however long the line."""


def read_columns(position: bytes) -> Columns:
    return msgspec.json.decode(position or b"{}", type=Columns)


def write_files(root: Path, name: str, number: int, files: Mapping[str, bytes]) -> None:
    """`files` are paths below `root`; `name` is the sink's. Raises `SinkFailure`, `OSError`."""
    said = journal.journal_of(root / name)
    begun = journal.read(said, number)
    if begun is not None and begun.number == number:
        for left in set(begun.files) - files.keys():
            (root / left).unlink(missing_ok=True)
    journal.write(said, Begun(number=number, files=tuple(files)))
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        journal.write_whole(root / path, content)


def batch_name(number: int) -> str:
    """Their order is that of their names."""
    return f"{number:012d}"
