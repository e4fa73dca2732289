"""The program: global flags, the commands, and the last net for errors."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import completion, flags
from perseid.cli.context import Globals, tell
from perseid.cli.exits import Exit
from perseid.cli.output import say
from perseid.errors import PerseidError

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "crawl": "crawl",
    "scrape": "scrape",
    "map": "scrape.map_site",
    "batch": "batch",
    "explain": "explain",
    "list": "stored.list_crawls",
    "jobs": "stored",
    "resume": "crawl",
    "cancel": "stored",
    "prune": "stored",
    "export": "export",
    "rules": "rules",
    "seeds": "seeds",
    "items": "items",
    "exceptions": "exceptions",
    "sites": "sites",
    "sinks": "sinks",
    "serve": "serve",
    "worker": "worker",
    "keys": "serve",
    "db": "db",
    "doctor": "operate",
    "config": "operate",
}
"""Where each command stands: a module of this package, and what it is called there if not as here."""


class Program(click.Group):
    """Lists its commands in the order above, not by the alphabet, and loads only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  as click calls it
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  as click calls it
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(".")
        found: click.Command = getattr(import_module(f"perseid.cli.{module}"), name or cmd_name)
        return found


@click.group(
    cls=Program,
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
