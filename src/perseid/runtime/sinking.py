"""The sinks of one process: made of what was published and of what the operator has named."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perseid.config import named
from perseid.errors import ConfigError, MissingExtra
from perseid.fetch.guard import NOTHING, judge_address
from perseid.fetch.resolver import Resolver
from perseid.ports.configs import ConfigKind
from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.worker.duties.sinks import SinkOptions, Sinks

if TYPE_CHECKING:
    from perseid.config.settings import Settings
    from perseid.model.ids import WorkerId
    from perseid.ports.configs import Configs
    from perseid.ports.hook import Hook
    from perseid.runtime.engine import Engine
    from perseid.worker.stop import Stop

PLUG_INS = "perseid.sinks"
"""Group of entry points: the name is the scheme of a connection, the object a `Make`."""
Make = Callable[[SinkSpec, str], Sink]
"""(what was published, address of the connection or path of the folder) → sink, without any input or output yet."""


class _Kind(NamedTuple):
    module: str
    name: str
    extra: str = ""
    takes: frozenset[str] = frozenset()
    """Of what not every sink can: `merge`, `format`, `options`."""

    def must_take(self, spec: SinkSpec) -> None:
        """Raises `ConfigError` for what this kind of sink would pass over."""
        asked = {"merge": spec.mode == "merge", "format": bool(spec.format), "options": bool(spec.options)}
        for word, is_asked in asked.items():
            if is_asked and word not in self.takes:
                called = "mode `merge`" if word == "merge" else f"`{word}`"
                raise ConfigError(f"a sink on connection {spec.connection!r} has no {called}; see docs/sinks.md")


_ROWS = frozenset({"merge"})
_FILES = frozenset({"format"})
_POSTGRES = _Kind("postgres", "PostgresSink", "postgres", _ROWS)
_MONGODB = _Kind("mongodb", "MongoSink", "mongodb", _ROWS)
_CLICKHOUSE = _Kind("clickhouse", "ClickHouseSink", "clickhouse")
_RECEIVER = _Kind("webhook", "WebhookSink", "webhook")
_SCHEMES = {
    "sqlite": _Kind("sqlite", "SqliteSink", "", _ROWS),
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "s3": _Kind("s3", "S3Sink", "s3", frozenset({"format", "options"})),
    "mongodb": _MONGODB,
    "mongodb+srv": _MONGODB,
    "clickhouse": _CLICKHOUSE,
    "clickhouses": _CLICKHOUSE,
    "http": _RECEIVER,
    "https": _RECEIVER,
}
_FORMATS = {
    "jsonl": _Kind("json_lines", "JsonLinesSink", "", _FILES),
    "csv": _Kind("csv_file", "CsvSink", "", _FILES),
    "parquet": _Kind("parquet", "ParquetSink", "parquet", _FILES),
}


class _Made(NamedTuple):
    sink: Sink
    version: int
    seen: int
    """What `Configs.changed` was when it was looked at last."""


class SinkRoom:
    """`Room`: keeps sinks open, and makes one anew when another version of it is published. Close it when done."""

    def __init__(self, configs: Configs, settings: Settings) -> None:
        self._configs = configs
        self._settings = settings
        self._made: dict[tuple[int, str], _Made] = {}
        self._receivers = _Receivers()

    async def sink(self, team: int, name: str) -> Sink:
        """Raises `SinkFailure`, `ConfigError`, `MissingExtra`, `StoreUnavailable`."""
        changed = await self._configs.changed()
        made = self._made.get((team, name))
        if made is not None and made.seen == changed:
            return made.sink
        head = await self._configs.head(team, ConfigKind.SINK, name)
        if made is not None and (head is None or head.version != made.version):
            del self._made[team, name]
            await made.sink.close()
            made = None
        if head is None:
            raise SinkFailure(f"no sink is published under the name {name!r}: publish it", lasting=True)
        sink = made.sink if made is not None else self.make(msgspec.json.decode(head.body, type=SinkSpec))
        self._made[team, name] = _Made(sink, head.version, changed)
        return sink

    async def check(self, team: int, name: str) -> list[str]:
        """What is wrong with it, in sentences."""
        try:
            return await (await self.sink(team, name)).check()
        except (SinkFailure, ConfigError, MissingExtra) as error:
            return [str(error)]

    def make(self, spec: SinkSpec) -> Sink:
        """Not opened yet. Raises `ConfigError`, `MissingExtra`, `SinkFailure`."""
        settings = self._settings
        if spec.connection in settings.connections:
            return self._connected(spec, settings.connections[spec.connection])
        if spec.connection in settings.folders:
            kind = _FORMATS.get(spec.format or "jsonl")
            if kind is None:
                raise ConfigError(f"{spec.format!r} is no format of files; there are {', '.join(_FORMATS)}")
            kind.must_take(spec)
            return _load(kind)(spec, settings.folders[spec.connection])
        return self._connected(spec, named.connection(settings, spec.connection))

    def _connected(self, spec: SinkSpec, url: str) -> Sink:
        scheme = url.partition("://")[0]
        if scheme in _SCHEMES:
            kind = _SCHEMES[scheme]
            kind.must_take(spec)
            return self._receivers.make(spec, url) if kind is _RECEIVER else _load(kind)(spec, url)
        from importlib.metadata import entry_points  # noqa: PLC0415 - reads all that is installed

        for plug_in in entry_points(group=PLUG_INS, name=scheme):
            make: Make = plug_in.load()
            return make(spec, url)
        known = sorted({*_SCHEMES, *(entry.name for entry in entry_points(group=PLUG_INS))})
        raise ConfigError(
            f"no sink is known for {scheme}://, the scheme of connection {spec.connection!r}; there are"
            f" {', '.join(known)}"
        )

    async def close(self) -> None:
        made, self._made = self._made, {}
        for each in made.values():
            await each.sink.close()
        await self._receivers.close()


class _Receivers:
    """What sinks that are receivers of HTTP share: connections, and the system's resolver."""

    def __init__(self) -> None:
        self._resolver = Resolver()
        self._hook: Hook | None = None

    def make(self, spec: SinkSpec, url: str) -> Sink:
        from perseid.sink.webhook import PATIENCE_S, WebhookSink  # noqa: PLC0415 - not where none is told

        if self._hook is None:
            try:
                from perseid.hook.sender import Sender  # noqa: PLC0415 - an extra
            except ModuleNotFoundError as error:
                raise _missing(error, _RECEIVER.extra) from error
            self._hook = Sender(judge=_judge, lookup=self._resolver.lookup, timeout_s=PATIENCE_S)
        return WebhookSink(spec, url, self._hook)

    async def close(self) -> None:
        if self._hook is not None:
            await self._hook.close()
        await self._resolver.close()


def _judge(_host: str, address: str, port: int) -> str:
    """The operator has named the receiver: it may be private, but never a cloud's metadata service."""
    return judge_address(address, port, NOTHING, named=True).reason.partition(";")[0]


def _load(kind: _Kind) -> Make:
    try:
        found: Make = getattr(import_module(f"perseid.sink.{kind.module}"), kind.name)
    except ModuleNotFoundError as error:
        raise _missing(error, kind.extra) from error
    return found


def _missing(error: ModuleNotFoundError, extra: str) -> MissingExtra:
    return MissingExtra(f"this sink needs {error.name}, which is not installed: pip install 'perseid[{extra}]'")


async def write_to_sinks(engine: Engine, whose: Callable[[], WorkerId], stop: Stop) -> None:
    """A duty of the worker `whose`: write what is in line for the sinks, until stopped."""
    room = SinkRoom(engine.store.configs, engine.settings)
    try:
        duty = Sinks(
            engine.store.items, room, SinkOptions(), whose=whose, clock=engine.clock, telemetry=engine.telemetry
        )
        await duty.run(stop)
    finally:
        await room.close()
