"""`perseid seeds run`: from rules and addresses to items, in the foreground."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from perseid.cli import flags, sited
from perseid.cli.context import run
from perseid.cli.exits import Exit
from perseid.cli.output import count, emit_json, say
from perseid.cli.published import say_notes
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.ports.items import RunStats
    from perseid.runtime.seeding import RunView
    from perseid.runtime.sites import Sites

_POLL_S = 0.5
_FAILURES = 3
"""That are told one by one."""


class _Wanted(NamedTuple):
    words: tuple[str, ...]
    rules: tuple[Path, ...]
    site: str
    force: bool


@click.command()
@click.argument("words", nargs=-1, metavar="[SEED|FILE|URL]...", help="Seeds by name or from files, or addresses.")
@click.option("--rule", "rules", multiple=True, type=flags.FOLDER, metavar="FILE", help="Publish this rule first.")
@click.option("--site", default="", metavar="SITE", help="Site of the addresses. Default: that of --rule.")
@click.option("--force", is_flag=True, help="Collect pages again that were collected before.")
@click.option("--print", "shown", is_flag=True, help="Print the items on stdout, one JSON object a line.")
@flags.concurrency
@sited.data
@flags.json
@click.pass_context
def run_seeds(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    words: tuple[str, ...],
    rules: tuple[Path, ...],
    site: str,
    force: bool,
    shown: bool,
    concurrency: int | None,
    data: Path,
    json: bool,
) -> None:
    """Run seeds now and work until they are done; without any, all that are due.

    Ctrl-C finishes the pages in flight; the same command goes on. Ends with 1 when no page could be had.
    """
    wanted = _Wanted(words, rules, site, force)

    async def work() -> int:
        async with sited.sites(ctx, data, create=True) as sites:
            names = await _ready(sites, wanted)
            begun = time.time_ns() // 1_000
            code = await _work(sites, names, concurrency or 16)
            if shown:
                await _print(sites, names, begun)
            return code or await _tell(sites, names, json=json)

    ctx.exit(run(ctx, work()))


async def _ready(sites: Sites, wanted: _Wanted) -> list[str]:
    """Publish the rules, and have the seeds due; their names."""
    site = wanted.site
    for file in wanted.rules:
        site = site or await _publish(sites, file)
    names: list[str] = []
    urls = [word for word in wanted.words if "://" in word]
    for word in wanted.words:
        if word in urls:
            continue
        if Path(word).suffix.lower() in (".yaml", ".yml", ".json"):
            read = await sites.seeds_in(Path(word))
            say_notes(read.notes)
            names += [await sites.seeding.go_on(forced(seed) if wanted.force else seed) for seed in read.seeds]
        else:
            row = await sites.seeding.row(word)
            names.append(word if row.running else (await sites.seeding.run(word)).seed)
    if urls:
        if not site:
            raise ConfigError("say how these pages are to be read: --rule FILE, or --site SITE of a published rule")
        digest = hashlib.sha256("\n".join(urls).encode()).hexdigest()[:16]
        given = {"seed_id": f"{site[:60]}-{digest}", "site_id": site, "urls": urls, "force": wanted.force}
        one = await sites.seed_of(given)
        say_notes(one.notes)
        names.append(await sites.seeding.go_on(one.seed))
    return names


def forced(seed: Any) -> Any:
    """The seed, collecting pages again."""
    import msgspec  # noqa: PLC0415  start-up time

    return msgspec.structs.replace(seed, force=True)


async def _publish(sites: Sites, file: Path) -> str:
    """The site of the rule."""
    from perseid.ports.configs import ConfigKind  # noqa: PLC0415  start-up time
    from perseid.publishing.folder import Source, drafted  # noqa: PLC0415  start-up time

    done = await sites.publishing.publish(drafted(Source(ConfigKind.RULE, file), None), pages=file.parent)
    say_notes(done.notes)
    if done.fresh:
        say(f"{done.version.name}: version {done.version.version} published")
    return done.version.name


async def _work(sites: Sites, names: Sequence[str], concurrency: int) -> int:
    """Until the end, or a signal; the exit code of that."""
    import asyncio  # noqa: PLC0415  start-up time
    import signal  # noqa: PLC0415  start-up time

    from perseid.cli.interrupt import Interrupt, signals  # noqa: PLC0415  start-up time
    from perseid.cli.progress import Progress  # noqa: PLC0415  start-up time
    from perseid.worker.stop import Stop  # noqa: PLC0415  start-up time

    stop = Stop()
    async with signals(Interrupt(stop)) as interrupt:
        working = asyncio.create_task(sites.collect(names, stop, concurrency=concurrency))
        try:
            with Progress(show=True) as progress:
                while not working.done():
                    await asyncio.wait({working}, timeout=_POLL_S)
                    if progress.shown:
                        progress.count([view.stats for view in await _views(sites, names)])
        except BaseException:
            stop.ask()
            await asyncio.wait({working})
            raise
        await working
    if interrupt.signal is None:
        return Exit.OK
    say("stopped; the same command goes on")
    return Exit.TERMINATED if interrupt.signal is signal.SIGTERM else Exit.INTERRUPTED


async def _views(sites: Sites, names: Sequence[str]) -> list[RunView]:
    """The newest runs of the seeds, as far as they have begun."""
    rows = [await sites.seeding.row(name) for name in names]
    found = [await sites.seeding.newest(row) for row in rows]
    return [view for view in found if view is not None]


async def _print(sites: Sites, names: Sequence[str], begun: int) -> None:
    from perseid.sink.rows import document, rows  # noqa: PLC0415  start-up time

    for seed in names or (None,):
        async for item in sites.all_items(seed=seed):
            if item.fetched_at >= begun:
                emit_json(document(rows([item])[0]))


async def _tell(sites: Sites, names: Sequence[str], *, json: bool) -> int:
    """How it went, and the exit code of that."""
    code = Exit.OK
    for name in names:
        row = await sites.seeding.row(name)
        site = await sites.site(row.site)
        if site.paused:
            say(f"{name}: the site {site.name} is paused: {site.reason}; `perseid sites resume {site.name}` goes on")
        view = await sites.seeding.newest(row)
        if view is None:
            continue
        if json:
            figures = {**stats_json(view.stats), **source_json(view)}
            emit_json({"seed_id": name, "site_id": row.site, "run": view.crawl.uid, **figures})
        else:
            say(f"{name}: {_figures(view.stats)}")
        await _tell_trouble(sites, name, view)
        if view.crawl.error or view.trouble or (view.stats.failed and not view.stats.done):
            code = Exit.ERROR
    for sink in await sites.sinks():
        if sink.state is not None and sink.state.waiting:
            say(f"{count(sink.state.waiting, 'item')} in line for {sink.name}: {sink.state.error or 'not tried yet'}")
    return code


async def _tell_trouble(sites: Sites, name: str, view: RunView) -> None:
    error = view.crawl.error or view.trouble
    for line in (*([error] if error else ()), *left_out(view)):
        say(f"{name}: {line}")
    if view.stats.failed:
        for failed in await sites.seeding.failures(view, limit=_FAILURES):
            say(f"  {failed.url}: {failed.message or failed.code} ({failed.code}; task {failed.job})")
    if not (view.stats.tasks or error or view.left_out):
        say(f"{name}: all of its pages were collected before; --force collects them again")


def _figures(stats: RunStats) -> str:
    words = [count(stats.done, "page"), count(stats.items, "item")]
    if stats.exceptions:
        words.append(f"{stats.exceptions:,} kept back (`perseid exceptions groups`)")
    if stats.empty:
        words.append(f"{stats.empty:,} without items")
    if stats.failed:
        words.append(f"{stats.failed:,} failed")
    return ", ".join(words)


def left_out(view: RunView) -> list[str]:
    """What its source had that makes no task, in sentences."""
    if not view.left_out:
        return list(view.notes)
    return [f"{view.left_out:,} left out of what its source holds", *view.notes]


def source_json(view: RunView) -> dict[str, Any]:
    """How the source of a run was read."""
    return {"left_out": view.left_out, "notes": list(view.notes), "trouble": view.trouble}


def stats_json(stats: RunStats) -> dict[str, Any]:
    """The figures of a run."""
    return {name: getattr(stats, name) for name in stats.__struct_fields__}
