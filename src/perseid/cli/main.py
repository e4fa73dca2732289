"""The program: global flags, the commands, and the last net for errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import (
    batch,
    completion,
    crawl,
    db,
    exceptions,
    explain,
    export,
    flags,
    items,
    operate,
    rules,
    scrape,
    seeds,
    serve,
    sinks,
    sites,
    stored,
    worker,
)
from perseid.cli.context import Globals, tell
from perseid.cli.exits import Exit
from perseid.cli.output import say
from perseid.errors import PerseidError
from perseid.worker.garbage import collect_rarely

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS: dict[str, click.Command] = {
    "crawl": crawl.crawl,
    "scrape": scrape.scrape,
    "map": scrape.map_site,
    "batch": batch.batch,
    "explain": explain.explain,
    "list": stored.list_crawls,
    "jobs": stored.jobs,
    "resume": crawl.resume,
    "cancel": stored.cancel,
    "prune": stored.prune,
    "export": export.export,
    "rules": rules.rules,
    "seeds": seeds.seeds,
    "items": items.items,
    "exceptions": exceptions.exceptions,
    "sites": sites.sites,
    "sinks": sinks.sinks,
    "serve": serve.serve,
    "worker": worker.worker,
    "keys": serve.keys,
    "db": db.db,
    "doctor": operate.doctor,
    "config": operate.config,
}


class Program(click.Group):
    """Lists its commands in the order above, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  as click calls it
        return list(self.commands)


@click.group(
    cls=Program,
    commands=COMMANDS,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--config", type=flags.FOLDER, metavar="FILE", help="Settings from this TOML file only.")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning, error or off.")
@click.option("--debug", is_flag=True, help="Tracebacks with errors.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _option, wanted: _show_version(ctx) if wanted else None,
    help="Print the version.",
)
@completion.install
@completion.show
@click.pass_context
def app(ctx: click.Context, *, config: Path | None, log_level: str | None, debug: bool) -> None:
    """Turns web sites into clean, structured, LLM-ready data and never loses a page."""
    settings: dict[str, Any] = {} if log_level is None else {"log.level": log_level}
    ctx.obj = Globals(config=config, debug=debug, flags=settings)


def _show_version(ctx: click.Context) -> None:
    from perseid._version import __version__  # noqa: PLC0415  start-up time

    print(f"perseid {__version__}")
    ctx.exit()


def main() -> None:
    """Entry point of the `perseid` program."""
    collect_rarely()
    debug = "--debug" in sys.argv
    try:
        app(prog_name="perseid")
    except PerseidError as error:  # outside of a command's own work
        sys.exit(tell(error, debug=debug))
    except Exception as error:
        if debug:
            raise
        say(f"perseid: unexpected {type(error).__name__}: {error}; this is a bug, --debug shows where")
        sys.exit(Exit.ERROR)
