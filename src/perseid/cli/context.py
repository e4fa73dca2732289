"""What holds for every command: settings, logging, and errors told in one line."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from perseid.cli.exits import Exit, of
from perseid.cli.output import flush, say
from perseid.errors import PerseidError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine, Iterator

    import click

    from perseid.config.loading import Loaded

T = TypeVar("T")


@dataclass
class Globals:
    """The flags before the command's name."""

    config: Path | None = None
    debug: bool = False
    flags: dict[str, Any] = field(default_factory=dict)


def loaded(ctx: click.Context, **flags: Any) -> Loaded:
    """Settings from flags, environment and files; `worker__concurrency=4` is the flag of that setting."""
    from perseid.config.files import find, read  # noqa: PLC0415  start-up time
    from perseid.config.loading import load  # noqa: PLC0415  start-up time

    common = globals_of(ctx)
    given = {name.replace("__", "."): value for name, value in flags.items() if value is not None}
    home = Path("/")
    with suppress(RuntimeError):  # a user without a home
        home = Path.home()
    paths = find(os.environ, home, Path.cwd(), common.config)
    found = load(os.environ, [read(path) for path in paths], {**common.flags, **given})
    from perseid.observe.log import setup  # noqa: PLC0415  start-up time

    setup(found.settings.log.level, found.settings.log.format)
    return found


def globals_of(ctx: click.Context) -> Globals:
    return ctx.obj if isinstance(ctx.obj, Globals) else Globals()


def run(ctx: click.Context, work: Coroutine[Any, Any, T], *, loop: Callable[[], AbstractEventLoop] | None = None) -> T:
    """Do the work of a command, with its errors told; in an event loop that `loop` makes, if given."""
    import asyncio  # noqa: PLC0415  start-up time

    with told(ctx):
        with asyncio.Runner(loop_factory=loop) as runner:
            result = runner.run(work)
        flush()
    return result


@contextmanager
def told(ctx: click.Context) -> Iterator[None]:
    """A `PerseidError` ends the command with one line on stderr and its exit code; so does Ctrl-C, silently."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(Exit.INTERRUPTED) from None
    except PerseidError as error:
        raise SystemExit(tell(error, debug=globals_of(ctx).debug)) from None


def tell(error: PerseidError, *, debug: bool) -> int:
    """Say what went wrong; the exit code that belongs to it."""
    from perseid.observe.mask import mask_text  # noqa: PLC0415  only when something is wrong

    if debug:
        import traceback  # noqa: PLC0415  only when asked

        say("".join(traceback.format_exception(error)).rstrip())
    say(f"perseid: {mask_text(str(error)) or error.code}")
    return int(of(error))
