"""The life of what is published: versions are added, restored, compared and taken out of use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perseid.errors import ConfigError, NotFound
from perseid.ports.configs import ConfigKind, Configs, NewVersion, Version
from perseid.publishing.draft import Draft, redraft
from perseid.publishing.kinds import Targets, references
from perseid.rules.difference import Change, changes
from perseid.rules.trying import Outcome, run_tests

if TYPE_CHECKING:
    from pathlib import Path

_PAGE = 1_000


class RuleFails(ConfigError):
    """A rule does not find on its saved pages what it should; nothing was published."""

    code = "tests_failed"

    def __init__(self, name: str, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        failed = [outcome for outcome in outcomes if not outcome.passed]
        lines = [f"{outcome.page}: {miss}" for outcome in failed for miss in outcome.misses][:12]
        super().__init__(
            f"the rule of {name!r} fails {len(failed)} of its {len(outcomes)} tests, and was not published:\n"
            + "\n".join(lines)
        )


class Published(NamedTuple):
    """`fresh` where a version was added; else its body was the head's already."""

    version: Version
    fresh: bool
    notes: tuple[str, ...] = ()
    """Warnings, in sentences."""


class Publisher:
    """Publishes for one team, in the name of one author."""

    def __init__(self, configs: Configs, team: int, *, author: str = "", targets: Targets | None = None) -> None:
        self._configs = configs
        self._team = team
        self._author = author
        self.targets = targets

    async def publish(
        self, new: Draft, *, message: str = "", expected: int | None = None, pages: Path | None = None
    ) -> Published:
        """Make it the head. With `pages`, the folder of a rule's saved pages, its tests must pass first.

        Raises `RuleFails`, `VersionConflict`.
        """
        if pages is not None and new.kind is ConfigKind.RULE and new.value.tests:
            outcomes = await asyncio.to_thread(run_tests, new.value, pages)
            if not all(outcome.passed for outcome in outcomes):
                raise RuleFails(new.name, outcomes)
        notes = [*map(str, new.warnings), *await self._missing(new)]
        return await self._publish(new, message=message, expected=expected, notes=tuple(notes))

    async def rollback(
        self, kind: ConfigKind, name: str, to: int | None = None, *, message: str = "", expected: int | None = None
    ) -> Published:
        """Publish what an earlier version said, by default that before the head. Raises `NotFound`."""
        head = await self.head(kind, name)
        number = to if to is not None else (head.restores or head.version) - 1
        if number < 1:
            raise NotFound(f"{name!r} has no version before the one in use; name the one to go back to")
        old = await self.version(kind, name, number)
        said = message or f"back to version {number}"
        return await self._publish(redraft(old), message=said, expected=expected, restores=old.version)

    async def retire(self, kind: ConfigKind, name: str) -> None:
        """Take it out of use; its versions stay. Raises `NotFound`."""
        if not await self._configs.retire(self._team, kind, name):
            raise NotFound(f"there is no {words(kind)} {name!r} in use")

    async def head(self, kind: ConfigKind, name: str) -> Version:
        """Raises `NotFound`."""
        found = await self._configs.head(self._team, kind, name)
        if found is None:
            raise NotFound(f"there is no {words(kind)} {name!r}")
        return found

    async def version(self, kind: ConfigKind, name: str, number: int | None = None) -> Version:
        """The one of that number, the head by default. Raises `NotFound`."""
        if number is None:
            return await self.head(kind, name)
        found = await self._configs.version(self._team, kind, name, number)
        if found is None:
            raise NotFound(f"there is no version {number} of the {words(kind)} {name!r}")
        return found

    async def history(
        self, kind: ConfigKind, name: str, *, before: int | None = None, limit: int = 100
    ) -> list[Version]:
        """Newest first, of a retired object too. Raises `NotFound` where there never was one."""
        found = await self._configs.history(self._team, kind, name, before=before, limit=limit)
        if not found and before is None:
            raise NotFound(f"there is no {words(kind)} {name!r}")
        return found

    async def heads(self, kind: ConfigKind, *, after: str = "", limit: int = 100) -> list[Version]:
        """What is in use, by name."""
        return await self._configs.heads(self._team, kind, after=after, limit=limit)

    async def all_heads(self, kind: ConfigKind) -> list[Version]:
        found: list[Version] = []
        while rows := await self.heads(kind, after=found[-1].name if found else "", limit=_PAGE):
            found += rows
        return found

    async def diff(self, kind: ConfigKind, name: str, old: int | None = None, new: int | None = None) -> list[Change]:
        """What changed from one version to another: by default from the one before to the head. Raises `NotFound`."""
        later = await self.version(kind, name, new)
        number = later.version - 1 if old is None else old
        earlier: Any = {} if number == 0 else said(await self.version(kind, name, number))
        return changes(earlier, said(later))

    async def _publish(
        self,
        new: Draft,
        *,
        message: str,
        expected: int | None,
        restores: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> Published:
        head = await self._configs.head(self._team, new.kind, new.name)
        version = await self._configs.publish(
            NewVersion(
                team=self._team,
                kind=new.kind,
                name=new.name,
                body=new.body,
                author=self._author,
                message=message,
                restores=restores,
                expected=expected,
            )
        )
        return Published(version, head is None or version.version != head.version, notes)

    async def _missing(self, new: Draft) -> list[str]:
        """Other objects that it names and that nobody has published; they may come later."""
        return [
            f"{new.name}: {where} names the {words(kind)} {name!r}, which nobody has published yet"
            for where, kind, name in references(new.kind, new.value)
            if await self._configs.head(self._team, kind, name) is None
        ]


def said(version: Version) -> Any:
    """A version's body as a JSON value."""
    return msgspec.json.decode(version.body)


def words(kind: ConfigKind) -> str:
    """`proxy pool`."""
    return kind.value.replace("_", " ")
