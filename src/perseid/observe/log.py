"""Events with fixed names, and their way to stderr: one JSON object (or one line of text) each.

    from perseid.observe import log
    log.event("fetch.ok", url=url, status=200, bytes=4711)

An event below the level costs about the call itself. Only `setup` touches the logging configuration.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Literal, TextIO, get_args

import orjson

from perseid.observe.mask import mask_fields, mask_text

Event = Literal[
    "crawl.start",
    "crawl.redirected",
    "crawl.completed",
    "crawl.cancelled",
    "crawl.failed",
    "crawl.resumed",
    "task.start",
    "task.retry",
    "task.failed",
    "task.denied",
    "task.duplicate",
    "task.dropped",
    "fetch.ok",
    "fetch.failed",
    "extract.ok",
    "extract.failed",
    "seed.expanded",
    "seed.put_off",
    "robots.ok",
    "robots.unreachable",
    "robots.ignored",
    "robots.delay_capped",
    "sitemap.ok",
    "sitemap.failed",
    "pattern.overrun",
    "host.backoff",
    "host.given_up",
    "host.blocked",
    "store.commit",
    "store.retry",
    "store.failed",
    "store.checkpoint",
    "sink.acked",
    "sink.repaired",
    "sink.failed",
    "sink.unfit",
    "worker.start",
    "worker.stop",
    "worker.dead",
    "worker.reaped",
    "audit.finding",
    "alarm.raised",
    "alarm.cleared",
    "webhook.unreachable",
    "webhook.given_up",
    "webhook.failed",
    "delivery.away",
    "delivery.back",
    "api.failed",
]
EVENTS: frozenset[str] = frozenset(get_args(Event))

LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_BY_OUTCOME = {
    "failed": logging.WARNING,
    "unreachable": logging.WARNING,
    "ignored": logging.WARNING,
    "delay_capped": logging.WARNING,
    "overrun": logging.WARNING,
    "given_up": logging.WARNING,
    "put_off": logging.WARNING,
    "dead": logging.WARNING,
    "away": logging.WARNING,
    "back": logging.WARNING,
    "repaired": logging.WARNING,
    "finding": logging.ERROR,
    "commit": logging.DEBUG,
    "checkpoint": logging.DEBUG,
    "start": logging.DEBUG,
    "acked": logging.DEBUG,
}
_LEVEL_OF: dict[str, int] = {name: _BY_OUTCOME.get(name.partition(".")[2], logging.INFO) for name in EVENTS}
_LEVEL_OF |= {"crawl.start": logging.INFO, "worker.start": logging.INFO, "store.failed": logging.ERROR}
_LEVEL_OF |= {"task.failed": logging.INFO, "fetch.failed": logging.INFO, "sitemap.failed": logging.INFO}

ROOT = "perseid"
_logger = logging.getLogger(ROOT)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "event_fields", "taskName"}


def event(name: Event, /, **fields: object) -> None:
    """Log one event; its level follows from its name. Values are masked when (and only when) written."""
    level = _LEVEL_OF[name]
    if _logger.isEnabledFor(level):
        _logger.log(level, name, extra={"event_fields": fields})


def enabled(name: Event) -> bool:
    """Whether an event would be written: for callers whose fields cost something to compute."""
    return _logger.isEnabledFor(_LEVEL_OF[name])


class JsonFormatter(logging.Formatter):
    """`{"at": …, "level": …, "event": …, …}`; records of other code keep their text under `message`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
        }
        line.update(_content(record))
        line["pid"] = record.process
        return _dump(line)


class TextFormatter(logging.Formatter):
    """The same for people: `12:00:01 warning fetch.failed url=… code=timeout`."""

    def format(self, record: logging.LogRecord) -> str:
        content = _content(record)
        head = content.pop("event", None) or content.pop("message", "")
        words = [self.formatTime(record, "%H:%M:%S"), record.levelname.lower(), str(head)]
        words += [f"{name}={_word(value)}" for name, value in content.items()]
        return " ".join(words)


def _content(record: logging.LogRecord) -> dict[str, object]:
    fields = getattr(record, "event_fields", None)
    content: dict[str, object]
    if isinstance(fields, dict):
        content = {"event": str(record.msg), **mask_fields(fields)}
    else:
        content = {"logger": record.name, "message": mask_text(record.getMessage())}
        content |= mask_fields({name: value for name, value in vars(record).items() if name not in _STANDARD})
    if record.exc_info and record.exc_info[0] is not None:
        content["error"] = mask_text("".join(traceback.format_exception(*record.exc_info)))
    return content


def _word(value: object) -> str:
    text = value if isinstance(value, str) else _dump(value)
    return _dump(text) if any(character in text for character in ' \t\r\n"\x1b') else text


def _dump(value: object) -> str:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:  # a lone surrogate, or an integer past 64 bits
        import json  # noqa: PLC0415  the rare way

        return json.dumps(value, default=str)


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to whatever `sys.stderr` is by then: a progress display may stand in for it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # read only: nobody sets it
        return sys.stderr


def setup(level: str = "warning", style: str = "json", stream: TextIO | None = None) -> logging.Handler:
    """Send what is at least of `level` to `stream` (stderr). Replaces what an earlier call set up."""
    import time  # noqa: PLC0415  only for the formatter's UTC clock

    handler = logging.StreamHandler(stream) if stream else _Stderr()
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    if style == "json":
        handler.formatter.converter = time.gmtime  # type: ignore[union-attr]  # set one line above
    for old in list(_logger.handlers):
        _logger.removeHandler(old)
    _logger.addHandler(handler)
    _logger.setLevel(LEVELS[level])
    _logger.propagate = False
    return handler


def adopt(*loggers: str) -> None:
    """Let the warnings of other packages go where our events go, in the same form."""
    for name in loggers:
        logger = logging.getLogger(name)
        logger.handlers = list(_logger.handlers)
        logger.setLevel(max(logging.WARNING, _logger.level))
        logger.propagate = False
