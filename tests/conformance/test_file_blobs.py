"""Bodies in files keep every promise of the contract."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from perseid.ports.blob import Blobs
from perseid.store.blobs import FileBlobs
from perseid.testing.conformance.blobs import blob_suite

_MEMORY = Path("/dev/shm")
_PLACE = _MEMORY if _MEMORY.is_dir() else None


@asynccontextmanager
async def files() -> AsyncIterator[Blobs]:
    with tempfile.TemporaryDirectory(dir=_PLACE) as folder:
        yield FileBlobs(Path(folder) / "blobs")


globals().update(blob_suite(files))
