"""A folder of files that is kept published: what changed in it becomes new versions, and nothing else does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from perseid.errors import ConfigError, StoreUnavailable
from perseid.ports.configs import ConfigKind
from perseid.publishing.draft import Draft, draft
from perseid.publishing.kinds import FOLDERS, Targets
from perseid.publishing.publisher import Publisher, words
from perseid.rules.shaped import SUFFIXES, file_body


class Source(NamedTuple):
    """A file, and what it is supposed to hold."""

    kind: ConfigKind
    path: Path
    called: str = ""

    @property
    def name(self) -> str:
        """Of the object: as it is called, or as its file is; a rule says its own."""
        return "" if self.kind is ConfigKind.RULE else self.called or self.path.stem


class Step(NamedTuple):
    """What became of one file. A refused one leaves what was published as it is; `message` says why."""

    source: Source
    outcome: Literal["published", "unchanged", "refused"]
    name: str = ""
    version: int = 0
    message: str = ""
    notes: tuple[str, ...] = ()


def sources(folder: Path, kind: ConfigKind | None = None) -> list[Source]:
    """The files below a folder: all of that kind, or of any kind in folders called `rules`, `sinks` and so on.

    Raises `ConfigError` where there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r}")
    if kind is not None:
        return [Source(kind, path) for path in _files(folder)]
    return [Source(each, path) for each, name in FOLDERS.items() for path in _files(folder / name)]


class Folder:
    """Publishes what changed in a folder; `kind` is that of all its files, None where its own folders tell."""

    def __init__(self, publisher: Publisher, path: Path, kind: ConfigKind | None = None) -> None:
        self.path = path
        self.kind = kind
        self._publisher = publisher
        self._pages: dict[Path, frozenset[Path]] = {}
        """By rule file, the saved pages that it is tested on: JSON ones among them are no rules themselves."""

    async def sync(
        self, found: Sequence[Source] | None = None, *, message: str = "", force: bool = False
    ) -> AsyncIterator[Step]:
        """Publish what changed, in all of the folder or in the files named. Rules pass their tests first, unless
        `force`. Raises `ConfigError` where the folder can't be read; what is wrong with a file is a step.
        """
        drafts, refused = await asyncio.to_thread(self._drafts, found)
        for step in refused:
            yield step
        taken: dict[tuple[ConfigKind, str], Path] = {}
        for source, new in drafts:
            other = taken.setdefault((new.kind, new.name), source.path)
            if other is not source.path:
                said = f"{source.path}: {new.name!r} stands in {other} as well"
                yield Step(source, "refused", new.name, message=said)
            else:
                yield await self._step(source, new, message, force=force)

    async def _step(self, source: Source, new: Draft, message: str, *, force: bool) -> Step:
        try:
            done = await self._publisher.publish(new, message=message, pages=None if force else source.path.parent)
        except ConfigError as error:
            return Step(source, "refused", new.name, message=str(error))
        outcome: Literal["published", "unchanged"] = "published" if done.fresh else "unchanged"
        return Step(source, outcome, new.name, done.version.version, notes=done.notes)

    def _drafts(self, found: Sequence[Source] | None) -> tuple[list[tuple[Source, Draft]], list[Step]]:
        """What can be read, and what can't."""
        drafts: list[tuple[Source, Draft]] = []
        refused: list[Step] = []
        for source in sources(self.path, self.kind) if found is None else found:
            try:
                new = drafted(source, self._publisher.targets)
            except ConfigError as error:
                refused.append(Step(source, "refused", message=str(error)))
            else:
                drafts.append((source, new))
                if new.kind is ConfigKind.RULE:
                    beside = source.path.parent
                    self._pages[source.path] = frozenset((beside / test.page).resolve() for test in new.value.tests)
        pages = frozenset().union(*self._pages.values())
        return (
            [(source, new) for source, new in drafts if source.path.resolve() not in pages],
            [step for step in refused if step.source.path.resolve() not in pages],
        )


async def watch(
    folder: Folder, watched: Watched, *, message: str = "", force: bool = False, every_s: float = 1.0
) -> AsyncIterator[Step]:
    """Publish what changes, since `watched` was made and without end. While the store is away, what changed waits.

    Make `watched` before what is there is published: what is written meanwhile may have been read too early.
    """
    waiting: dict[Source, None] = {}
    while True:
        await asyncio.sleep(every_s)
        try:
            waiting.update(dict.fromkeys(await asyncio.to_thread(watched.changed)))
            if waiting:
                async for step in folder.sync(list(waiting), message=message, force=force):
                    waiting.pop(step.source, None)
                    yield step
                waiting.clear()
        except (StoreUnavailable, ConfigError) as error:
            yield Step(Source(folder.kind or ConfigKind.RULE, folder.path), "refused", message=str(error))


def drafted(source: Source, targets: Targets | None) -> Draft:
    """Raises as `draft` does, and `ConfigError` where the file can't be read."""
    body = file_body(source.path, words(source.kind))
    is_json = source.path.suffix.lower() == ".json"
    return draft(source.kind, body, name=source.name, file=str(source.path), is_json=is_json, targets=targets)


class Watched:
    """Notices files that changed since it looked last, by their times and sizes.

    A file counts as changed once it stayed the same between two looks: what is being written may be whole by chance
    and yet not what its writer means.
    """

    def __init__(self, folder: Path, kind: ConfigKind | None = None) -> None:
        self._folder = folder
        self._kind = kind
        self._done = self._look()
        self._seen = self._done

    def changed(self) -> list[Source]:
        """Look; the files to be read anew. Raises `ConfigError` where the folder is gone."""
        now = self._look()
        settled = [
            source for source, mark in now.items() if self._seen.get(source) == mark and self._done.get(source) != mark
        ]
        self._done = {source: self._done[source] for source in now if source in self._done}
        self._done.update({source: now[source] for source in settled})
        self._seen = now
        return settled

    def _look(self) -> dict[Source, tuple[int, int]]:
        marks: dict[Source, tuple[int, int]] = {}
        for source in sources(self._folder, self._kind):
            try:
                known = source.path.stat()
            except OSError:  # it went meanwhile
                continue
            marks[source] = known.st_mtime_ns, known.st_size
        return marks


def _files(folder: Path) -> list[Path]:
    """Below it, in order; hidden ones, editors' among them, are left out."""
    found: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(here, name) for name in names if Path(name).suffix.lower() in SUFFIXES and not name.startswith(".")
        ]
    return sorted(found)
