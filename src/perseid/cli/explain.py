"""`perseid explain`: why is this page here, or why not?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perseid.cli import flags
from perseid.cli.context import run
from perseid.cli.exits import Exit
from perseid.cli.output import emit, say
from perseid.cli.stores import stores

if TYPE_CHECKING:
    from perseid.ports.inspect import Explanation

UNKNOWN = "unknown"


@click.command()
@click.argument("url", metavar="URL", help="The page that is, or should be, there.")
@click.option("--out", "-o", type=flags.FOLDER, metavar="FOLDER", help="Folder of the crawl. Default: all under ./out.")
@flags.json
@click.pass_context
def explain(ctx: click.Context, *, url: str, out: Path | None, json: bool) -> None:
    """Say why a page is, or is not, in the result.

    With verdict and rule, the links that led to it, and the attempts made.

    Exit code 4 if no crawl has seen the URL.
    """

    async def ask() -> int:
        found: list[Explanation] = []
        async for store in stores(ctx, out):
            found += await store.client.explain(url, store.only or None)
        seen = [explanation for explanation in found if explanation.state != UNKNOWN]
        for explanation in seen or found:
            _print(explanation, json=json)
        if not found:
            say(f"perseid: there is no crawl under {out or './out'}; --out names the folder of one")
        return Exit.OK if seen else Exit.NOT_FOUND

    ctx.exit(run(ctx, ask()))


def _print(explanation: Explanation, *, json: bool) -> None:
    if json:
        import msgspec  # noqa: PLC0415  start-up time

        emit(msgspec.json.encode(explanation))
        return
    for line in lines(explanation):
        emit(line)


def lines(explanation: Explanation) -> list[str]:
    """The answer for people."""
    verdict = explanation.state
    if explanation.reason:
        verdict += f" ({explanation.reason})"
    shown = [explanation.url, f"  verdict   {verdict}"]
    if explanation.message:
        shown.append(f"  because   {explanation.message}")
    if explanation.seen_as and explanation.seen_as != explanation.url:
        shown.append(f"  seen as   {explanation.seen_as}")
    if explanation.final_url and explanation.final_url != explanation.url:
        shown.append(f"  ends at   {explanation.final_url}")
    if explanation.status is not None:
        shown.append(f"  status    {explanation.status}")
    if explanation.depth is not None:
        shown.append(f"  depth     {explanation.depth} from the start page")
    if explanation.attempts or explanation.stalls:
        stalls = f", given back {explanation.stalls} times" if explanation.stalls else ""
        shown.append(f"  attempts  {explanation.attempts}{stalls}")
    shown += [
        f"  {'found on' if not number else '  from  '}  {url}" for number, url in enumerate(explanation.referrers)
    ]
    shown.append(f"  crawl     {explanation.crawl}")
    return shown
