"""Where results lie: the default folder, the folders found under ./out, and one writer at a time."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perseid.errors import NotFound, StoreUnavailable
from perseid.pattern import later
from perseid.sink.place import Place, load_record

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_ROOT = Path("out")
_UNSAFE = later(r"[^a-z0-9._-]+")


def default_out(url: str) -> Path:
    """./out/HOST, for a URL or for anything else that has a name."""
    name = url.partition("://")[2] or url
    host = re.split(r"[/?#\\]", name, maxsplit=1)[0].rpartition("@")[2]
    return DEFAULT_ROOT / (_UNSAFE.sub("_", host.lower()).strip("._-") or "site")


def known(out: Path | None, *, shared: bool = False) -> list[Place]:
    """Folders that hold a store: `out`, or all under ./out. Raises `NotFound` where `out` holds none.

    With `shared` those that show a crawl: its store lies elsewhere.
    """
    if out is not None:
        place = Place(out)
        if not _holds(place, shared=shared):
            raise NotFound(f"{out} holds no crawl; name the folder of one with --out")
        return [place]
    if not DEFAULT_ROOT.is_dir():
        return []
    return [place for path in sorted(DEFAULT_ROOT.iterdir()) if _holds(place := Place(path), shared=shared)]


def _holds(place: Place, *, shared: bool) -> bool:
    return load_record(place) is not None if shared else place.database.is_file()


@contextmanager
def sole_writer(place: Place) -> Iterator[None]:
    """Hold OUT for this process. Raises `StoreUnavailable` while another one holds it."""
    try:
        import fcntl  # noqa: PLC0415  not on every system
    except ImportError:
        yield
        return
    descriptor = os.open(place.state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreUnavailable(f"another perseid is writing {place.out}; wait for it or stop it") from None
        yield
    finally:
        os.close(descriptor)
