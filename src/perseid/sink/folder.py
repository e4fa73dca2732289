"""What sinks have in common that write files into a folder."""

from __future__ import annotations

import asyncio
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink import journal, naming


class FolderSink(ABC):
    """`Sink`, but for how a batch becomes files: that is `_write`, which runs in a thread."""

    def __init__(self, spec: SinkSpec, folder: str) -> None:
        self._spec = spec
        self._folder = folder

    async def check(self) -> list[str]:
        return await asyncio.to_thread(self._check)

    async def write(self, batch: Batch) -> Reached:
        return await asyncio.to_thread(self._write, batch, time.monotonic())

    async def close(self) -> None:  # noqa: B027 - nothing stays open between batches
        pass

    @abstractmethod
    def _write(self, batch: Batch, began: float) -> Reached:
        """`began` is when the batch was asked for (monotonic, s). Raises `SinkFailure`."""

    def _check(self) -> list[str]:
        try:
            root = journal.root_of(self._folder)
            naming.path_of(self._spec.table, "site")
            with tempfile.TemporaryFile(dir=root):
                pass
        except SinkFailure as error:
            return [str(error)]
        except OSError as error:
            return [str(journal.failure(error, Path(self._folder)))]
        return []
