"""`perseid crawl` and `perseid resume`."""

from __future__ import annotations

from pathlib import Path

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run, told
from perseid.errors import ConfigError, NotFound


@click.command()
@click.argument("url", metavar="URL", help="Where to begin.")
@flags.out
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Most pages. Default: no bound.")
@click.option("--include", multiple=True, metavar="REGEX", help="Only paths that match one of these. Repeatable.")
@click.option("--exclude", multiple=True, metavar="REGEX", help="No path that matches one of these. Repeatable.")
@click.option("--regex-on-full-url", is_flag=True, help="Match patterns on the whole URL, query included.")
@click.option("--max-depth", type=click.IntRange(min=0), metavar="N", help="Most path segments of a URL (/a/b has 2).")
@click.option(
    "--max-discovery-depth",
    type=click.IntRange(min=0),
    metavar="N",
    help="Most links between the start and a page.",
)
@click.option("--entire-domain", is_flag=True, help="Siblings and parents of the start path, too.")
@click.option("--subdomains", is_flag=True, help="Sub-domains, too.")
@click.option("--external", is_flag=True, help="Pages of other sites that are linked from this one, too.")
@flags.sitemap
@flags.ignore_query
@click.option("--delay", metavar="TIME", help="Pause between two pages: 2, 1.5s, 1m.")
@flags.concurrency
@flags.processes
@flags.headers
@flags.cookies
@flags.proxy
@flags.user_agent
@flags.formats
@flags.full_page
@flags.ignore_robots
@flags.revalidate
@flags.fresh
@flags.json
@click.pass_context
def crawl(  # noqa: PLR0913  one parameter a flag
    ctx: click.Context,
    *,
    url: str,
    out: Path | None,
    limit: int | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    regex_on_full_url: bool,
    max_depth: int | None,
    max_discovery_depth: int | None,
    entire_domain: bool,
    subdomains: bool,
    external: bool,
    sitemap: str,
    ignore_query: bool,
    delay: str | None,
    concurrency: int | None,
    processes: int | None,
    headers: tuple[str, ...],
    cookies: tuple[str, ...],
    proxy: str | None,
    user_agent: str | None,
    formats: tuple[str, ...],
    full_page: bool,
    ignore_robots: bool,
    revalidate: bool,
    fresh: bool,
    json: bool,
) -> None:
    """Crawl a site into a folder of markdown.

    Writes OUT/pages/<host>/<path>.md, OUT/pages.jsonl, OUT/skipped.jsonl and OUT/failed.jsonl. Ctrl-C finishes what
    is in flight; the same command goes on.
    """
    from perseid.cli.launch import Launch, crew_of, launch  # noqa: PLC0415  start-up time
    from perseid.cli.options import Fetching, scrape_options, sitemap_mode  # noqa: PLC0415  start-up time
    from perseid.cli.places import default_out  # noqa: PLC0415  start-up time
    from perseid.cli.plan import Wanted  # noqa: PLC0415  start-up time
    from perseid.crawls.start import check_crawl, web_url  # noqa: PLC0415  start-up time
    from perseid.model.options import CrawlOptions, ScopeRules  # noqa: PLC0415  start-up time

    with told(ctx):
        settings = loaded(ctx, worker__concurrency=concurrency, worker__processes=processes).settings
        start = web_url(url)
        fetching = Fetching(
            headers=headers,
            cookies=cookies,
            proxy=proxy,
            user_agent=user_agent,
            formats=formats,
            full_page=full_page,
            obey_robots=not ignore_robots,
            revalidate=revalidate,
        )
        options = CrawlOptions(
            scope=ScopeRules(
                include=include,
                exclude=exclude,
                regex_on_full_url=regex_on_full_url,
                max_depth=max_depth,
                max_discovery_depth=max_discovery_depth,
                entire_domain=entire_domain,
                subdomains=subdomains,
                external=external,
                ignore_query=ignore_query,
            ),
            scrape=scrape_options(fetching, settings),
            limit=limit or settings.crawl.limit or None,
            sitemap=sitemap_mode(sitemap),
            delay_s=_delay(delay),
            max_sitemap_files=settings.crawl.max_sitemap_files,
            max_denied_rows=settings.crawl.max_denied_rows,
        )
        check_crawl(options)
        how = Launch(out or default_out(start), settings, json, crew_of(settings))
        wanted = Wanted("crawl", start, options)
    work = launch(how, wanted, lambda client: client.start_crawl(start, options), fresh=fresh)
    ctx.exit(run(ctx, work))


def _delay(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return flags.seconds(text) or None
    except ConfigError as error:
        raise ConfigError(f"--delay: {error}") from None


@click.command()
@click.argument("crawl_id", metavar="[ID]", default="", help="As `perseid list` shows it.")
@flags.out
@flags.concurrency
@flags.processes
@flags.json
@click.pass_context
def resume(
    ctx: click.Context,
    *,
    crawl_id: str,
    out: Path | None,
    concurrency: int | None,
    processes: int | None,
    json: bool,
) -> None:
    """Go on with an unfinished crawl or batch, with the options it was started with."""
    from perseid.cli.launch import Launch, crew_of  # noqa: PLC0415  start-up time
    from perseid.cli.launch import resume as go_on  # noqa: PLC0415  start-up time
    from perseid.runtime.stores import is_shared  # noqa: PLC0415  start-up time

    with told(ctx):
        settings = loaded(ctx, worker__concurrency=concurrency, worker__processes=processes).settings
        how = Launch(_unfinished(crawl_id, out, shared=is_shared(settings)), settings, json, crew_of(settings))
    ctx.exit(run(ctx, go_on(how)))


def _unfinished(crawl_id: str, out: Path | None, *, shared: bool) -> Path:
    """The folder whose crawl is meant. Raises `NotFound`, or `ConfigError` where several could be."""
    from perseid.cli.places import known  # noqa: PLC0415  start-up time
    from perseid.sink.place import load_record  # noqa: PLC0415  start-up time

    records = [(place, record) for place in known(out, shared=shared) if (record := load_record(place)) is not None]
    if crawl_id:
        found = [place.out for place, record in records if record.uid == crawl_id]
        if not found:
            raise NotFound(
                f"no crawl {crawl_id} under {out or './out'}; `perseid list` shows them, --out names a folder"
            )
        return found[0]
    if out is not None and records:
        return out
    open_ones = [(place.out, record) for place, record in records if not record.done]
    if not open_ones:
        raise NotFound(f"no unfinished crawl under {out or './out'}; --out names another folder")
    if len(open_ones) > 1:
        choices = "; ".join(f"{record.uid} ({folder})" for folder, record in open_ones)
        raise ConfigError(f"several crawls are unfinished, name one: {choices}")
    return open_ones[0][0]
