"""`perseid scrape` and `perseid map`: one question to a site, answered on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run
from perseid.cli.output import emit, say

if TYPE_CHECKING:
    from perseid.model.document import Document


@click.command()
@click.argument("url", metavar="URL", help="The page.")
@flags.headers
@flags.cookies
@flags.proxy
@flags.user_agent
@flags.formats
@flags.full_page
@click.option(
    "--obey-robots", is_flag=True, help="Refuse what robots.txt forbids; a page named by its URL is else fetched."
)
@flags.json
@click.pass_context
def scrape(  # noqa: PLR0913  one parameter a flag
    ctx: click.Context,
    *,
    url: str,
    headers: tuple[str, ...],
    cookies: tuple[str, ...],
    proxy: str | None,
    user_agent: str | None,
    formats: tuple[str, ...],
    full_page: bool,
    obey_robots: bool,
    json: bool,
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
            headers=headers,
            cookies=cookies,
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


def _print(document: Document, wanted: str) -> None:
    content = getattr(document, "raw_html" if wanted == "rawHtml" else wanted)
    if isinstance(content, list):
        for item in content:
            emit(str(item))
    elif content:
        emit(content, b"" if content.endswith("\n") else b"\n")


@click.command()
@click.argument("url", metavar="URL", help="The site.")
@click.option("--search", metavar="WORDS", help="URLs that fit the words first.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Most URLs. Default: 5000.")
@click.option("--subdomains/--no-subdomains", default=True, show_default=True, help="Sub-domains, too.")
@flags.sitemap
@flags.ignore_query
@flags.headers
@flags.cookies
@flags.proxy
@flags.user_agent
@flags.ignore_robots
@flags.json
@click.pass_context
def map_site(  # noqa: PLR0913  one parameter a flag
    ctx: click.Context,
    *,
    url: str,
    search: str | None,
    limit: int | None,
    subdomains: bool,
    sitemap: str,
    ignore_query: bool,
    headers: tuple[str, ...],
    cookies: tuple[str, ...],
    proxy: str | None,
    user_agent: str | None,
    ignore_robots: bool,
    json: bool,
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
            headers=headers, cookies=cookies, proxy=proxy, user_agent=user_agent, obey_robots=not ignore_robots
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
