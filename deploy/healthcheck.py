#!/usr/bin/env python3
"""Exit code 0 where the server, or the worker, of this container is ready for work."""

from __future__ import annotations

import http.client
import os
import sys

SERVER = (int(os.environ.get("PERSEID_API__PORT", "3002")), "/health/ready")
WORKER = (int(os.environ.get("PERSEID_WORKER__PROBE_PORT", "8080")), "/ready")
PATIENCE_S = 4.0


def status(port: int, path: str) -> int:
    """Of the answer; 0 where nobody listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


if __name__ == "__main__":
    found = {f"127.0.0.1:{port}{path}": status(port, path) for port, path in (SERVER, WORKER)}
    if 200 in found.values():
        sys.exit(0)
    sys.exit("; ".join(f"{where} {code or 'does not answer'}" for where, code in found.items()))
