"""`perseid crawl` and `perseid resume`."""

from pathlib import Path
from typing import Annotated

import typer

from perseid.cli import flags
from perseid.cli.context import loaded, run, told
from perseid.errors import ConfigError, NotFound


def crawl(  # noqa: PLR0913  one parameter a flag
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to begin.")],
    *,
    out: flags.Out = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Most pages. Default: no bound.")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="REGEX", help="Only paths that match one of these. Repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="REGEX", help="No path that matches one of these. Repeatable."),
    ] = None,
    regex_on_full_url: Annotated[
        bool, typer.Option("--regex-on-full-url", help="Match patterns on the whole URL, query included.")
    ] = False,
    max_depth: Annotated[
        int | None, typer.Option("--max-depth", metavar="N", min=0, help="Most path segments of a URL (/a/b has 2).")
    ] = None,
    max_discovery_depth: Annotated[
        int | None,
        typer.Option("--max-discovery-depth", metavar="N", min=0, help="Most links between the start and a page."),
    ] = None,
    entire_domain: Annotated[
        bool, typer.Option("--entire-domain", help="Siblings and parents of the start path, too.")
    ] = False,
    subdomains: Annotated[bool, typer.Option("--subdomains", help="Sub-domains, too.")] = False,
    external: Annotated[
        bool, typer.Option("--external", help="Pages of other sites that are linked from this one, too.")
    ] = False,
    sitemap: Annotated[
        str, typer.Option("--sitemap", metavar="include|skip|only", help="What to do with the site's sitemaps.")
    ] = "include",
    ignore_query: Annotated[
        bool, typer.Option("--ignore-query", help="URLs that differ in their query only are one page.")
    ] = False,
    delay: Annotated[
        str | None, typer.Option("--delay", metavar="TIME", help="Pause between two pages: 2, 1.5s, 1m.")
    ] = None,
    concurrency: flags.Concurrency = None,
    processes: flags.Processes = None,
    header: flags.Header = None,
    cookie: flags.Cookie = None,
    proxy: flags.Proxy = None,
    user_agent: flags.UserAgent = None,
    formats: flags.Formats = None,
    full_page: flags.FullPage = False,
    ignore_robots: flags.IgnoreRobots = False,
    revalidate: flags.Revalidate = False,
    fresh: flags.Fresh = False,
    json: flags.Json = False,
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
            headers=header,
            cookies=cookie,
            proxy=proxy,
            user_agent=user_agent,
            formats=formats,
            full_page=full_page,
            obey_robots=not ignore_robots,
            revalidate=revalidate,
        )
        options = CrawlOptions(
            scope=ScopeRules(
                include=tuple(include or ()),
                exclude=tuple(exclude or ()),
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
    raise typer.Exit(run(ctx, work))


def _delay(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return flags.seconds(text) or None
    except ConfigError as error:
        raise ConfigError(f"--delay: {error}") from None


def resume(
    ctx: typer.Context,
    crawl_id: Annotated[str, typer.Argument(metavar="[ID]", help="As `perseid list` shows it.")] = "",
    out: flags.Out = None,
    concurrency: flags.Concurrency = None,
    processes: flags.Processes = None,
    json: flags.Json = False,
) -> None:
    """Go on with an unfinished crawl or batch, with the options it was started with."""
    from perseid.cli.launch import Launch, crew_of, resume  # noqa: PLC0415  start-up time

    with told(ctx):
        settings = loaded(ctx, worker__concurrency=concurrency, worker__processes=processes).settings
        how = Launch(_unfinished(crawl_id, out), settings, json, crew_of(settings))
    raise typer.Exit(run(ctx, resume(how)))


def _unfinished(crawl_id: str, out: Path | None) -> Path:
    """The folder whose crawl is meant. Raises `NotFound`, or `ConfigError` where several could be."""
    from perseid.cli.places import known  # noqa: PLC0415  start-up time
    from perseid.sink.place import load_record  # noqa: PLC0415  start-up time

    records = [(place, record) for place in known(out) if (record := load_record(place)) is not None]
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
