"""Items as lines of JSON in files of a folder: one line for each version of an item, the newest last."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from perseid.ports.items import Batch
from perseid.ports.sink import Reached
from perseid.sink import journal
from perseid.sink.appending import append
from perseid.sink.folder import FolderSink
from perseid.sink.rows import Row, by_file, document

LINES = "application/x-ndjson"


def lines(some: Sequence[Row]) -> bytes:
    return b"".join(msgspec.json.encode(document(row)) + b"\n" for row in some)


def _content(text: bytes, _first: bool) -> bytes:
    return text


class JsonLinesSink(FolderSink):
    """`Sink`; its position is JSON of the settled length of each file."""

    def _write(self, batch: Batch, began: float) -> Reached:
        root = journal.root_of(self._folder)
        settled: dict[str, int] = msgspec.json.decode(batch.position or b"{}", type=dict[str, int])
        try:
            for path, found in by_file(self._spec, batch.items).items():
                name = f"{path}.jsonl"
                content = partial(_content, lines(found))
                settled[name] = append(root / name, batch.number, settled.get(name), content, began=began)
        except OSError as error:
            raise journal.failure(error, root) from error
        return Reached(msgspec.json.encode(settled))
