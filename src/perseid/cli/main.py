"""The program: global flags, the commands, and the last net for errors."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from perseid.cli import batch, crawl, explain, export, operate, scrape, stored
from perseid.cli.context import Globals, tell
from perseid.cli.exits import Exit
from perseid.cli.output import say
from perseid.errors import PerseidError

app = typer.Typer(
    name="perseid",
    help="Turns web sites into clean, structured, LLM-ready data and never loses a page.",
    no_args_is_help=True,
    # Plain help: rich would double the time to the first character.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for name, command in (
    ("crawl", crawl.crawl),
    ("scrape", scrape.scrape),
    ("map", scrape.map_site),
    ("batch", batch.batch),
    ("explain", explain.explain),
    ("list", stored.list_crawls),
    ("jobs", stored.jobs),
    ("resume", crawl.resume),
    ("cancel", stored.cancel),
    ("prune", stored.prune),
    ("export", export.export),
    ("doctor", operate.doctor),
):
    app.command(name)(command)
app.add_typer(operate.config, name="config")


def _show_version(wanted: bool) -> None:
    if wanted:
        from perseid._version import __version__  # noqa: PLC0415  start-up time

        print(f"perseid {__version__}")
        raise typer.Exit


@app.callback()
def common(
    ctx: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Settings from this TOML file only.")
    ] = None,
    log_level: Annotated[
        str | None, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning, error or off.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    flags: dict[str, Any] = {} if log_level is None else {"log.level": log_level}
    ctx.obj = Globals(config=config, debug=debug, flags=flags)


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
