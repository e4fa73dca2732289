"""Spans as a collector gets them: over HTTP, in protobuf, from the tracer that a server uses."""

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_UID = "019cafe0-0000-7000-8000-0123456789ab"
_SENDER = f"""
from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.observe import trace
from perseid.ports.telemetry import Run
from perseid.ports.work import Done, Failed, Finished, Lease

lease = Lease(job=JobId(7), crawl=CrawlId(1), lock=LockToken(1), kind=JobKind.PAGE, url="https://secret.example/a",
    key=1, depth=0, host="secret.example", gap_us=0, attempts=1, stalls=0, counted=True, payload="", hops=b"",
    expires_at=0)
assert trace.wanted()
tracer = trace.traces()
tracer.crawl_started({_UID!r}, "crawl", "https://secret.example/")
tracer.job_finished(Run(Finished(lease=lease, end=Done()), {_UID!r}, True, 0.25))
tracer.job_finished(Run(Finished(lease=lease, end=Failed(code="timeout", message="see https://secret.example/a")),
    {_UID!r}, False, 0.5))
tracer.close()
"""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            got.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    thread.join()
    server.server_close()


def _spans(bodies: list[bytes]) -> dict[str, Any]:
    found = {}
    for body in bodies:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                found |= {_name(span): span for span in scope.spans}
    return found


def _name(span: Any) -> str:
    attributes = {item.key: item.value.string_value for item in span.attributes}
    return f"{span.name} {attributes.get('perseid.outcome', '')}".strip()


def test_a_crawl_is_one_trace_named_by_its_id(collector: tuple[str, list[bytes]]) -> None:
    endpoint, bodies = collector
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", _SENDER], env=environment, check=True, timeout=60)
    spans = _spans(bodies)
    root, done, failed = spans[f"crawl {_UID}"], spans["page done"], spans["page timeout"]
    assert {span.trace_id.hex() for span in spans.values()} == {_UID.replace("-", "")}
    assert (root.parent_span_id, done.parent_span_id, failed.parent_span_id) == (b"", root.span_id, root.span_id)
    assert done.end_time_unix_nano - done.start_time_unix_nano == 250_000_000
    assert b"secret" not in failed.SerializeToString()
    assert b"secret" in done.SerializeToString()
