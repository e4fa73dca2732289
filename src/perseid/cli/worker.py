"""`perseid worker`: processes that work on whatever the store holds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run
from perseid.cli.exits import Exit
from perseid.cli.output import say


@click.command()
@flags.processes
@flags.concurrency
@flags.data
@click.option(
    "--max-memory-mb", type=int, metavar="MB", help="Replace a process that holds more memory. Default: no bound."
)
@click.option("--max-pages", type=int, metavar="N", help="Replace a process after so many jobs. Default: no bound.")
@click.option("--probe-port", type=int, metavar="PORT", help="Answer /live, /ready and /metrics there.")
@click.pass_context
def worker(
    ctx: click.Context,
    *,
    processes: int | None,
    concurrency: int | None,
    data: Path,
    max_memory_mb: int | None,
    max_pages: int | None,
    probe_port: int | None,
) -> None:
    """Work on all crawls of a store, until a signal.

    The store is the PostgreSQL of PERSEID_STORE__URL, or the one in --data. SIGTERM and Ctrl-C finish the pages in
    flight, a second one gives them back at once; SIGHUP replaces the processes one after the other.
    """
    found = loaded(
        ctx,
        worker__processes=processes,
        worker__concurrency=concurrency,
        worker__max_memory_mb=max_memory_mb,
        worker__max_pages=max_pages,
        worker__probe_port=probe_port,
    )
    for note in found.notes:
        say(f"perseid: {note}")
    settings = found.settings
    from perseid.observe.metrics import use_folder  # noqa: PLC0415  start-up time
    from perseid.runtime.crew import Crew  # noqa: PLC0415  start-up time

    if settings.worker.probe_port and find_spec("prometheus_client"):
        use_folder(data / "metrics" / f"worker-{settings.worker.probe_port}")
    # Forked before there are threads.
    crew = Crew.prepare(settings.worker.processes)
    from perseid.runtime.fleet import supervise  # noqa: PLC0415  start-up time

    many = f"{settings.worker.processes} process{'es' if settings.worker.processes > 1 else ''}"
    well = run(
        ctx,
        supervise(data, settings, crew, on_ready=lambda more: say(f"perseid: working with {many}{more}")),
    )
    ctx.exit(Exit.OK if well else Exit.ERROR)
