"""`perseid batch`: a list of URLs, without following links."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run, told
from perseid.errors import ConfigError


@click.command()
@click.argument("file", metavar="FILE|-", help="One URL a line; - reads stdin. # begins a comment.")
@click.option(
    "--out", "-o", type=flags.FOLDER, metavar="FOLDER", help="Folder of the result. Default: ./out/NAME-OF-FILE."
)
@flags.concurrency
@flags.processes
@flags.headers
@flags.cookies
@flags.proxy
@flags.user_agent
@flags.formats
@flags.full_page
@click.option(
    "--obey-robots",
    is_flag=True,
    help="Leave out what robots.txt forbids; URLs named one by one are else fetched.",
)
@flags.fresh
@flags.json
@click.pass_context
def batch(  # noqa: PLR0913  one parameter a flag
    ctx: click.Context,
    *,
    file: str,
    out: Path | None,
    concurrency: int | None,
    processes: int | None,
    headers: tuple[str, ...],
    cookies: tuple[str, ...],
    proxy: str | None,
    user_agent: str | None,
    formats: tuple[str, ...],
    full_page: bool,
    obey_robots: bool,
    fresh: bool,
    json: bool,
) -> None:
    """Scrape a list of URLs into a folder, as `crawl` does."""
    from perseid.cli.launch import Launch, crew_of, launch  # noqa: PLC0415  start-up time
    from perseid.cli.options import Fetching, scrape_options  # noqa: PLC0415  start-up time
    from perseid.cli.places import default_out  # noqa: PLC0415  start-up time
    from perseid.cli.plan import BatchOptions, Wanted  # noqa: PLC0415  start-up time

    with told(ctx):
        settings = loaded(ctx, worker__concurrency=concurrency, worker__processes=processes).settings
        urls = read_urls(file)
        fetching = Fetching(
            headers=headers,
            cookies=cookies,
            proxy=proxy,
            user_agent=user_agent,
            formats=formats,
            full_page=full_page,
            obey_robots=obey_robots,
        )
        scrape = scrape_options(fetching, settings)
        name = "stdin" if file == "-" else Path(file).name
        how = Launch(out or default_out(f"batch-{Path(name).stem}"), settings, json, crew_of(settings))
        wanted = Wanted("batch", name, BatchOptions(scrape=scrape, urls=len(urls), digest=_digest(urls)))
    work = launch(how, wanted, lambda client: client.start_batch(urls, scrape), fresh=fresh)
    ctx.exit(run(ctx, work))


def read_urls(file: str) -> list[str]:
    """The URLs of a list, in order, as absolute URLs. Raises `ConfigError` that names file and line."""
    from perseid.crawls.start import web_url  # noqa: PLC0415  start-up time
    from perseid.errors import InvalidURL  # noqa: PLC0415  start-up time

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    urls = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            web_url(text)
        except InvalidURL as error:
            raise ConfigError(f"{'stdin' if file == '-' else file}, line {number}: {error}") from None
        urls.append(text)
    if not urls:
        raise ConfigError(f"{'stdin' if file == '-' else file} holds no URL; write one a line")
    return urls


def _digest(urls: list[str]) -> str:
    from hashlib import blake2b  # noqa: PLC0415  start-up time

    return blake2b("\n".join(urls).encode("utf-8", "replace"), digest_size=16).hexdigest()
