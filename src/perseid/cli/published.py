"""What `perseid rules` and `perseid config` have in common: publishing, versions, and folders of files."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, sited
from perseid.cli.context import run
from perseid.cli.exits import Exit
from perseid.cli.output import count, emit, emit_json, flush, say, when
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perseid.ports.configs import ConfigKind, Version
    from perseid.publishing.folder import Step
    from perseid.publishing.publisher import Published

RULE = "rule"
KINDS = ("rule", "proxy_pool", "identity_pool", "limits", "block_list", "seed_template", "sink")
_KIND = click.argument("kind", metavar="KIND", type=click.Choice(KINDS), help=f"{', '.join(KINDS)}.")
_FORCE = click.option("--force", is_flag=True, help="Publish even what fails its tests.")

number = click.option("--version", "number", type=click.IntRange(1), metavar="N", help="Not the one in use.")


def install(group: click.Group, fixed: str | None) -> None:
    """Add the commands to a group: for objects of one kind, or of the kind that the first argument names."""
    noun = "SITE" if fixed == RULE else "NAME"
    name = click.argument("name", metavar=noun, help="The rule's site_id." if fixed == RULE else "Its name.")

    def add(title: str, work: Callable[..., None], *parameters: Callable[[Any], Any]) -> None:
        command = click.pass_context(_of(work, fixed))
        for parameter in reversed(parameters if fixed else (_KIND, *parameters)):
            command = parameter(command)
        group.command(title)(command)

    files = click.argument("files", nargs=-1, required=True, type=flags.FOLDER, metavar="FILE...")
    named = () if fixed else (click.option("--name", metavar="NAME", default="", help="Default: the file's name."),)
    common = (sited.author, sited.message, sited.data, flags.json)
    to = click.argument("to", metavar="[VERSION]", type=click.IntRange(1), required=False, help="Default: the last.")
    add("publish", publish, files, *named, _FORCE, *common)
    add("history", history, name, sited.limit, sited.data, flags.json)
    add("rollback", rollback, name, to, *common)
    add("retire", retire, name, sited.data)
    if fixed:
        add("show", show, name, number, sited.data, flags.json)
    add("list", list_published, sited.data, flags.json)
    old = click.argument("old", metavar="OLD", help=f"A file, or {noun}@VERSION; {noun} alone is the one in use.")
    new = click.argument("new", metavar="NEW", help="The same.")
    add("diff", diff, old, new, sited.data, flags.json)
    folder = click.argument("folder", type=flags.FOLDER, metavar="FOLDER")
    watch = click.option("--watch", is_flag=True, help="Go on: publish each file as soon as it changes.")
    _folders(group, fixed, folder, (folder, watch, _FORCE, *common))


def _folders(group: click.Group, fixed: str | None, folder: Any, parameters: tuple[Any, ...]) -> None:
    """`sync` and `export` name no kind: of a folder that holds several, its own folders tell."""
    for title, work, given in (("sync", sync, parameters), ("export", export, (folder, sited.data))):
        command = click.pass_context(_of(work, fixed))
        for parameter in reversed(given):
            command = parameter(command)
        group.command(title)(command)


def _of(work: Callable[..., None], fixed: str | None) -> Callable[..., None]:
    @wraps(work)
    def command(ctx: click.Context, **given: Any) -> None:
        from perseid.ports.configs import ConfigKind  # noqa: PLC0415  start-up time

        kind = given.pop("kind", fixed)
        work(ctx, kind=ConfigKind(kind) if kind else None, **given)

    return command


def publish(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    kind: ConfigKind,
    files: tuple[Path, ...],
    name: str = "",
    force: bool,
    author: str | None,
    message: str,
    data: Path,
    json: bool,
) -> None:
    """Publish files: workers use them from their next task on.

    A rule passes its saved tests first. What is published already is left as it is.
    """

    async def work() -> None:
        from perseid.publishing.folder import Source, drafted  # noqa: PLC0415  start-up time

        if name and len(files) > 1:
            raise ConfigError("--name is for one file")
        async with sited.sites(ctx, data, create=True, author=author) as sites:
            for file in files:
                new = drafted(Source(kind, file, name), sites.publishing.targets)
                pages = None if force else file.parent
                _tell(await sites.publishing.publish(new, message=message, pages=pages), json=json)

    run(ctx, work())


def history(ctx: click.Context, *, kind: ConfigKind, name: str, limit: int, data: Path, json: bool) -> None:
    """List versions, the newest first."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            _list(await sites.publishing.history(kind, name, limit=limit), json=json)

    run(ctx, work())


def rollback(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    kind: ConfigKind,
    name: str,
    to: int | None,
    author: str | None,
    message: str,
    data: Path,
    json: bool,
) -> None:
    """Publish an earlier version again, by default the one before."""

    async def work() -> None:
        async with sited.sites(ctx, data, author=author) as sites:
            _tell(await sites.publishing.rollback(kind, name, to, message=message), json=json)

    run(ctx, work())


def retire(ctx: click.Context, *, kind: ConfigKind, name: str, data: Path) -> None:
    """Take it out of use; its versions stay, and publishing takes it up again."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            await sites.publishing.retire(kind, name)
        say(f"{name} is out of use")

    run(ctx, work())


def list_published(ctx: click.Context, *, kind: ConfigKind, data: Path, json: bool) -> None:
    """List what is in use."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            _list(await sites.publishing.all_heads(kind), json=json, named=True)

    run(ctx, work())


def show(ctx: click.Context, *, kind: ConfigKind, name: str, number: int | None, data: Path, json: bool) -> None:
    """Print what is in use, or another version."""

    async def work() -> None:
        from perseid.publishing.publisher import said  # noqa: PLC0415  start-up time
        from perseid.publishing.writing import text_of  # noqa: PLC0415  start-up time

        async with sited.sites(ctx, data) as sites:
            version = await sites.publishing.version(kind, name, number)
        if json:
            emit_json({**_shown(version), "body": said(version)})
        else:
            emit(text_of(said(version)), end=b"")

    run(ctx, work())


def diff(ctx: click.Context, *, kind: ConfigKind, old: str, new: str, data: Path, json: bool) -> None:
    """Print what changed from one file or published version to another; nothing where both mean the same."""

    async def work() -> None:
        from perseid.rules.difference import changes  # noqa: PLC0415  start-up time

        said = [_in_file(kind, word) or await _in_store(ctx, kind, word, data) for word in (old, new)]
        for change in changes(*said):
            if json:
                emit_json(change)
            else:
                emit(str(change))

    run(ctx, work())


def _in_file(kind: ConfigKind, word: str) -> Any:
    """What a file says, as a JSON value; None where the word names none."""
    from perseid.publishing.folder import Source, drafted  # noqa: PLC0415  start-up time
    from perseid.rules.loading import dumped  # noqa: PLC0415  start-up time
    from perseid.rules.shaped import SUFFIXES  # noqa: PLC0415  start-up time

    path = Path(word)
    if path.suffix.lower() in SUFFIXES or path.exists():
        return dumped(drafted(Source(kind, path), None).value)
    return None


async def _in_store(ctx: click.Context, kind: ConfigKind, word: str, data: Path) -> Any:
    """What `NAME@VERSION` says."""
    from perseid.publishing.publisher import said  # noqa: PLC0415  start-up time

    name, at, number = word.rpartition("@")
    if at and not number.isdecimal():
        raise ConfigError(f"{word!r} is no version; write NAME@3, or the name of a file that ends in .yaml or .json")
    async with sited.sites(ctx, data) as sites:
        return said(await sites.publishing.version(kind, name if at else word, int(number) if at else None))


def sync(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    kind: ConfigKind | None,
    folder: Path,
    watch: bool,
    force: bool,
    author: str | None,
    message: str,
    data: Path,
    json: bool,
) -> None:
    """Publish what changed in a folder of files.

    What is wrong with a file is told, and what was published before stays; then the command ends with 2. A file that
    went retires nothing.
    """

    async def work() -> int:
        from perseid.publishing.folder import Folder, Watched  # noqa: PLC0415  start-up time
        from perseid.publishing.folder import watch as watching  # noqa: PLC0415  start-up time

        done: dict[str, int] = {"published": 0, "unchanged": 0, "refused": 0}
        async with sited.sites(ctx, data, create=True, author=author) as sites:
            kept, watched = Folder(sites.publishing, folder, kind), Watched(folder, kind)
            async for step in kept.sync(message=message, force=force):
                done[step.outcome] += 1
                _tell_step(step, json=json)
            say(f"{done['published']} published, {done['unchanged']} as before, {done['refused']} refused")
            if watch:
                say(f"watching {folder}; Ctrl-C ends it")
                async for step in watching(kept, watched, message=message, force=force):
                    _tell_step(step, json=json)
        return Exit.USAGE if done["refused"] else Exit.OK

    ctx.exit(run(ctx, work()))


def _tell_step(step: Step, *, json: bool) -> None:
    if json:
        emit_json(
            {
                "file": str(step.source.path),
                "kind": step.source.kind,
                "name": step.name,
                "outcome": step.outcome,
                "version": step.version,
                "message": step.message,
                "notes": step.notes,
            }
        )
        flush()
        return
    if step.outcome == "refused":
        say(step.message)
    elif step.outcome == "published":
        say_notes(step.notes)
        say(f"{step.name}: version {step.version} published")


def export(ctx: click.Context, *, kind: ConfigKind | None, folder: Path, data: Path) -> None:
    """Write what is in use into a folder of files, which `sync` reads again."""

    async def work() -> None:
        from perseid.ports.configs import ConfigKind  # noqa: PLC0415  start-up time
        from perseid.publishing.kinds import FOLDERS  # noqa: PLC0415  start-up time
        from perseid.publishing.writing import write_out  # noqa: PLC0415  start-up time

        written = 0
        async with sited.sites(ctx, data) as sites:
            for each in ConfigKind if kind is None else (kind,):
                for version in await sites.publishing.all_heads(each):
                    write_out(version, folder / FOLDERS[each] if kind is None else folder)
                    written += 1
        say(f"{count(written, 'file')} in {folder}")

    run(ctx, work())


def say_notes(notes: Sequence[str]) -> None:
    """Warnings on stderr."""
    for note in notes:
        say(note if "warning:" in note else f"warning: {note}")


def _tell(done: Published, *, json: bool) -> None:
    version = done.version
    say_notes(done.notes)
    if json:
        emit_json({**_shown(version), "published": done.fresh})
    else:
        what = "published" if done.fresh else "in use already, and says the same"
        say(f"{version.name}: version {version.version} {what}")


def _list(versions: list[Version], *, json: bool, named: bool = False) -> None:
    if json:
        for each in versions:
            emit_json(_shown(each))
        return
    first = ("NAME", "VERSION") if named else ("VERSION",)
    rows = [
        (
            *((each.name,) if named else ()),
            str(each.version),
            when(each.at),
            each.author,
            str(each.restores or ""),
            each.message,
        )
        for each in versions
    ]
    sited.show((*first, "PUBLISHED", "AUTHOR", "RESTORES", "MESSAGE"), rows)


def _shown(version: Version) -> dict[str, Any]:
    return {
        "kind": version.kind,
        "name": version.name,
        "version": version.version,
        "published_at": when(version.at),
        "author": version.author,
        "message": version.message,
        "restores": version.restores,
    }
