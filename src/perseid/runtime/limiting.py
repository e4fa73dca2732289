"""The limits of one process, made from its settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from perseid.errors import ConfigError, MissingExtra
from perseid.limit.local import local_limits
from perseid.limit.shelf import Shelf, ShelfAway
from perseid.limit.shelved import TEND_EVERY_S, ShelvedLimits
from perseid.limit.store import StoreLimits

if TYPE_CHECKING:
    from perseid.config.settings import LimitSettings
    from perseid.model.ids import WorkerId
    from perseid.ports.clock import Clock
    from perseid.ports.limit import Blocks, Limits
    from perseid.worker.stop import Stop


@asynccontextmanager
async def limiting(
    settings: LimitSettings, blocks: Blocks, *, whose: Callable[[], WorkerId], clock: Clock, shared: bool
) -> AsyncIterator[Limits]:
    """`shared` if other processes may answer the same callers: then rates are those of all of them.

    Raises `ConfigError` for an address that is none or a password that is refused, and `MissingExtra`.
    """
    limits: Limits
    if settings.url:
        limits = ShelvedLimits("Redis", await _redis(settings), blocks, whose=whose, clock=clock)
    elif shared:
        limits = StoreLimits(blocks, whose=whose, clock=clock)
    else:
        limits = local_limits(blocks, whose=whose, clock=clock)
    try:
        yield limits
    finally:
        await limits.close()


async def tending(limits: Limits, stop: Stop) -> None:
    """A duty: blocks that are used are kept, and what lies idle is given back."""
    if isinstance(limits, ShelvedLimits):
        while not await stop.sleep(TEND_EVERY_S):
            await limits.tend()


async def ask_shelf(settings: LimitSettings) -> str:
    """Why what shares the limits does not answer; empty where it does. Raises as `limiting` does."""
    shelf = await _redis(settings)
    try:
        await shelf.now_us()
    except ShelfAway as error:
        return str(error)
    finally:
        await shelf.close()
    return ""


async def _redis(settings: LimitSettings) -> Shelf:
    try:
        from perseid.limit.redis import RedisShelf, is_refusal  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtra(f"limits by Redis need {error.name}: pip install 'perseid[redis]'") from error
    shelf = RedisShelf(settings.url, prefix=settings.prefix)
    try:
        # From now on buckets are known here, long before somebody asks.
        await shelf.take("ready", 1, 1)
    except ShelfAway as error:
        if is_refusal(error):
            await shelf.close()
            message = f"{shelf.place} refuses the user or password of PERSEID_LIMIT__URL: {error.__cause__}"
            raise ConfigError(message) from error
    return shelf
