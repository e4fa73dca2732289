"""Traces by OpenTelemetry: a crawl is one trace, whose id is the crawl's own, and each run of a job a span of it.

The crawl's first span is the root of all: its id follows from the crawl's, so that any process can hang its spans
under it without being told. Where they are sent is said by OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_…).
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from perseid.errors import MissingExtra
from perseid.observe.metrics import outcome
from perseid.ports.telemetry import Run, Trouble
from perseid.ports.work import Failed, Lease

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider


class Ids(Protocol):
    """Ids of spans; those of the next one follow from `root` where it isn't 0."""

    root: int


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_LOW_64 = (1 << 64) - 1


def wanted() -> bool:
    """Whether there is anybody to send spans to."""
    return any(os.environ.get(name) for name in _ENDPOINTS)


@cache
def traces() -> TraceTelemetry:
    """This process's tracer: one, however many engines it has. Raises `MissingExtra`."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"traces are asked for by {' or '.join(_ENDPOINTS)}, and {error.name} is not installed:"
            " pip install 'perseid[otel]'"
        ) from error

    class OurIds(RandomIdGenerator):
        """Random ones, but for the span that is begun next when `root` is set."""

        root = 0

        def generate_trace_id(self) -> int:
            return self.root or super().generate_trace_id()

        def generate_span_id(self) -> int:
            root, self.root = self.root, 0
            return _span_of(root) if root else super().generate_span_id()

    ids = OurIds()
    provider = TracerProvider(resource=Resource.create({"service.name": "perseid"}), id_generator=ids)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return TraceTelemetry(provider, ids)


class TraceTelemetry:
    """`Telemetry` as spans."""

    def __init__(self, provider: TracerProvider, ids: Ids) -> None:
        self._provider = provider
        self._ids = ids
        self._tracer = provider.get_tracer("perseid")

    def crawl_started(self, uid: str, kind: str, url: str | None) -> None:
        """The root span of a crawl's trace."""
        self._ids.root = UUID(uid).int
        attributes = {"perseid.kind": kind, **({} if url is None else {"url.full": url})}
        self._tracer.start_span(f"crawl {uid}", attributes=attributes).end()

    def job_finished(self, run: Run) -> None:
        lease, end = run.finished.lease, run.finished.end
        attributes: dict[str, str | int] = {
            "perseid.crawl": run.crawl,
            "perseid.job": lease.job,
            "perseid.attempt": lease.attempts + 1,
            "perseid.outcome": outcome(end),
        }
        if run.shown:
            attributes |= {"url.full": lease.url, "server.address": lease.host}
        ended = time.time_ns()
        span = self._tracer.start_span(
            lease.kind.name.lower(),
            context=_under(run.crawl),
            attributes=attributes,
            start_time=ended - int(run.seconds * 1e9),
        )
        if isinstance(end, Failed):
            from opentelemetry.trace import StatusCode  # noqa: PLC0415 - an extra

            span.set_status(StatusCode.ERROR, end.message if run.shown else end.code)
        span.end(ended)

    def internal_error(self, lease: Lease, error: BaseException) -> None:
        """Its span tells: the job ends as `internal_error`."""

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        """Of many crawls at once: no trace is its own."""

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        """Of many tasks at once: no trace is its own."""

    def trouble(self, event: Trouble, message: str) -> None:
        """For log and metrics."""

    def close(self) -> None:
        """Send what is still at hand."""
        self._provider.shutdown()


def _span_of(root: int) -> int:
    return root & _LOW_64


def _under(uid: str) -> Context:
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context  # noqa: PLC0415

    root = UUID(uid).int
    parent = SpanContext(root, _span_of(root), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(parent))
