"""Items as Parquet files in a folder: `TABLE/000000000042.parquet`, one for each batch and table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkSpec
from perseid.sink import fitting, journal
from perseid.sink.arranging import Arranger
from perseid.sink.fitting import Fit, Kind
from perseid.sink.folder import FolderSink
from perseid.sink.numbered import Columns, batch_name, read_columns, write_files
from perseid.sink.rows import UNFIT, Row, by_file, stamps

_PRECISION, _SCALE = 38, 9
_INSTANT = pa.timestamp("us", tz="UTC")
_OWN = {
    "site_id": pa.string(),
    "unique_key": pa.string(),
    "task_id": pa.int64(),
    "seed_id": pa.string(),
    "rule_version": pa.int32(),
    "fetched_at": _INSTANT,
    "updated_at": _INSTANT,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _decimal(value: Any) -> Decimal:
    return Decimal(fitting.decimal(_PRECISION, _SCALE)(value))


_KINDS: Mapping[Kind, tuple[Any, Fit]] = {
    Kind.TEXT: (pa.string(), fitting.text),
    Kind.NUMBER: (pa.float64(), fitting.floating),
    Kind.AMOUNT: (pa.decimal128(_PRECISION, _SCALE), _decimal),
    Kind.BOOLEAN: (pa.bool_(), fitting.boolean),
    Kind.JSON: (pa.string(), fitting.json_text),
}


def to_parquet(some: Sequence[Row], known: dict[str, Kind]) -> tuple[bytes, tuple[str, ...]]:
    """A file of these rows, and notes. Columns that it brings up are added to `known`: the files of a table agree."""
    fits: dict[str, Fit] = {UNFIT: fitting.json_text, **{name: _KINDS[kind][1] for name, kind in known.items()}}
    arranged = Arranger(fits, lambda kind: _KINDS[kind][1], create=True).arrange(some)
    known.update(arranged.missing)
    schema = pa.schema(
        [*_OWN.items(), *((name, _KINDS[kind][0]) for name, kind in known.items()), (UNFIT, pa.string())]
    )
    lines = [
        {
            **stamps(row),
            "fetched_at": _EPOCH + timedelta(microseconds=row.fetched_at),
            "updated_at": _EPOCH + timedelta(microseconds=row.updated_at),
            **cells,
        }
        for row, cells in zip(some, arranged.cells, strict=True)
    ]
    out = BytesIO()
    pq.write_table(pa.Table.from_pylist(lines, schema=schema), out, compression="zstd")
    return out.getvalue(), arranged.notes


class ParquetSink(FolderSink):
    """`Sink`; its position is JSON of the columns of each table so far."""

    def _write(self, batch: Batch, began: float) -> Reached:  # noqa: ARG002 - whole files replace one another
        root = journal.root_of(self._folder)
        columns = read_columns(batch.position)
        files, notes = encoded(self._spec, batch, columns, to_parquet)
        try:
            write_files(root, batch.name, batch.number, {f"{path}.parquet": content for path, content in files.items()})
        except OSError as error:
            raise journal.failure(error, root) from error
        return Reached(msgspec.json.encode(columns), notes)


def encoded(
    spec: SinkSpec,
    batch: Batch,
    columns: Columns,
    encode: Callable[[Sequence[Row], dict[str, Kind]], tuple[bytes, tuple[str, ...]]],
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files of a batch by their paths without endings, and notes."""
    files: dict[str, bytes] = {}
    notes: list[str] = []
    for table, found in by_file(spec, batch.items).items():
        files[f"{table}/{batch_name(batch.number)}"], more = encode(found, columns.setdefault(table, {}))
        notes += more
    return files, tuple(notes)
