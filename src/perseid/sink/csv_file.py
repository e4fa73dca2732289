"""Items as rows of CSV files (RFC 4180) in a folder; a new column begins a further file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure
from perseid.sink import fitting, journal
from perseid.sink.appending import append
from perseid.sink.arranging import Arranged, Arranger
from perseid.sink.folder import FolderSink
from perseid.sink.rows import OWN, Row, by_file, stamps, without_nul


class CsvSink(FolderSink):
    """`Sink`; its position is JSON of the settled length of each file. Of `NAME.csv` the parts are `NAME.2.csv` …"""

    def _write(self, batch: Batch, began: float) -> Reached:
        root = journal.root_of(self._folder)
        settled: dict[str, int] = msgspec.json.decode(batch.position or b"{}", type=dict[str, int])
        notes: list[str] = []
        try:
            for name, found in by_file(self._spec, batch.items).items():
                notes += self._append(root, name, found, settled, batch.number, began)
        except OSError as error:
            raise journal.failure(error, root) from error
        return Reached(msgspec.json.encode(settled), tuple(notes))

    def _append(
        self, root: Path, name: str, found: Sequence[Row], settled: dict[str, int], number: int, began: float
    ) -> tuple[str, ...]:
        part = 1
        while _part(name, part + 1) in settled:
            part += 1
        file = _part(name, part)
        columns = _header(root / file) if settled.get(file) else []
        arranged = self._arrange(found, columns)
        if columns and arranged.missing:
            file = _part(name, part + 1)
        if not settled.get(file) and _is_foreign(root / file):
            raise SinkFailure(
                f"{root / file} is there already, with columns of its own: move it away, or change `table` of the sink",
                lasting=True,
            )
        columns = columns + [column for column in arranged.columns if column not in columns]

        def content(first: bool) -> bytes:
            return _text(found, arranged, columns, header=first)

        settled[file] = append(root / file, number, settled.get(file), content, began=began)
        return arranged.notes

    def _arrange(self, found: Sequence[Row], columns: list[str]) -> Arranged:
        known = dict.fromkeys(columns, fitting.text)
        # The first file of all makes its columns itself.
        return Arranger(known, lambda _kind: fitting.text, create=self._spec.create or not columns).arrange(found)


def _part(name: str, part: int) -> str:
    return f"{name}.csv" if part == 1 else f"{name}.{part}.csv"


def _is_foreign(path: Path) -> bool:
    """It holds something that no batch of a sink began."""
    return path.exists() and path.stat().st_size > 0 and not journal.journal_of(path).exists()


def _header(path: Path) -> list[str]:
    """Names of the columns behind those of each row; empty where the file is not there any more."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return next(csv.reader(file), [])[len(OWN) :]
    except FileNotFoundError:
        return []


def _text(found: Sequence[Row], arranged: Arranged, columns: list[str], *, header: bool) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    if header:
        writer.writerow([*OWN, *columns])
    for row, cells in zip(found, arranged.cells, strict=True):
        writer.writerow([*stamps(row).values(), *(without_nul(cells.get(column, "")) for column in columns)])
    return out.getvalue().encode("utf-8", "replace")
