"""`perseid scrape` and `perseid map`: one question to a site, answered on stdout."""

from typing import TYPE_CHECKING, Annotated

import typer

from perseid.cli import flags
from perseid.cli.context import loaded, run
from perseid.cli.output import emit, say

if TYPE_CHECKING:
    from perseid.model.document import Document


def scrape(  # noqa: PLR0913  one parameter a flag
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page.")],
    *,
    header: flags.Header = None,
    cookie: flags.Cookie = None,
    proxy: flags.Proxy = None,
    user_agent: flags.UserAgent = None,
    formats: flags.Formats = None,
    full_page: flags.FullPage = False,
    obey_robots: Annotated[
        bool,
        typer.Option("--obey-robots", help="Refuse what robots.txt forbids; a page named by its URL is else fetched."),
    ] = False,
    json: flags.Json = False,
) -> None:
    """Print one page as markdown.

    Or in another --format, or with --json all that is known of it; several formats ask for --json.
    """
    from perseid.cli.options import Fetching, scrape_options  # noqa: PLC0415  start-up time

    async def fetch() -> None:
        from perseid.crawls.start import web_url  # noqa: PLC0415  start-up time
        from perseid.errors import ConfigError  # noqa: PLC0415  start-up time
        from perseid.facade import scrape  # noqa: PLC0415  start-up time

        settings = loaded(ctx).settings
        fetching = Fetching(
            headers=header,
            cookies=cookie,
            proxy=proxy,
            user_agent=user_agent,
            formats=formats,
            full_page=full_page,
            obey_robots=obey_robots,
        )
        options = scrape_options(fetching, settings)
        if len(options.formats) > 1 and not json:
            raise ConfigError("several formats fit only into JSON; add --json, or ask for one format")
        document = await scrape(web_url(url), options, settings=settings)
        if json:
            import msgspec  # noqa: PLC0415  start-up time

            emit(msgspec.json.encode(document))
        else:
            _print(document, options.formats[0])
        for warning in document.warnings:
            say(f"warning: {warning}")

    run(ctx, fetch())


def _print(document: "Document", wanted: str) -> None:
    content = getattr(document, "raw_html" if wanted == "rawHtml" else wanted)
    if isinstance(content, list):
        for item in content:
            emit(str(item))
    elif content:
        emit(content, b"" if content.endswith("\n") else b"\n")


def map_site(  # noqa: PLR0913  one parameter a flag
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The site.")],
    *,
    search: Annotated[
        str | None, typer.Option("--search", metavar="WORDS", help="URLs that fit the words first.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Most URLs. Default: 5000.")] = None,
    subdomains: Annotated[bool, typer.Option("--subdomains/--no-subdomains", help="Sub-domains, too.")] = True,
    sitemap: Annotated[
        str, typer.Option("--sitemap", metavar="include|skip|only", help="What to do with the site's sitemaps.")
    ] = "include",
    ignore_query: Annotated[
        bool, typer.Option("--ignore-query", help="URLs that differ in their query only are one.")
    ] = False,
    header: flags.Header = None,
    cookie: flags.Cookie = None,
    proxy: flags.Proxy = None,
    user_agent: flags.UserAgent = None,
    ignore_robots: flags.IgnoreRobots = False,
    json: flags.Json = False,
) -> None:
    """Print the URLs of a site, one a line.

    They come from its sitemaps and its start page. With --json one object a line: url, title, description.
    """
    from perseid.cli.options import Fetching, scrape_options, sitemap_mode  # noqa: PLC0415  start-up time
    from perseid.model.options import CrawlOptions, ScopeRules  # noqa: PLC0415  start-up time

    async def look() -> None:
        import msgspec  # noqa: PLC0415  start-up time

        from perseid.facade import map_site  # noqa: PLC0415  start-up time

        settings = loaded(ctx).settings
        fetching = Fetching(
            headers=header, cookies=cookie, proxy=proxy, user_agent=user_agent, obey_robots=not ignore_robots
        )
        options = CrawlOptions(
            scope=ScopeRules(entire_domain=True, subdomains=subdomains, ignore_query=ignore_query),
            scrape=scrape_options(fetching, settings),
            sitemap=sitemap_mode(sitemap),
            max_sitemap_files=settings.crawl.max_sitemap_files,
        )
        for link in await map_site(url, search=search, options=options, limit=limit or 5000, settings=settings):
            emit(msgspec.json.encode(_fields(link)) if json else link.url)

    def _fields(link: object) -> dict[str, object]:
        return {name: getattr(link, name) for name in ("url", "title", "description")}

    run(ctx, look())
