"""`perseid serve` as a real process, to be asked over HTTP."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from perseid.testing.child import Command
from perseid.testing.ground import Ground, standing

_ADDRESS = re.compile(r"serving on (http://\S+)")
_START_S = 120.0


@contextmanager
def serving(
    folder: Path, *arguments: str, workers: int = 1, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Command]]:
    """A server on a free port with its store under `folder`, which may fetch from loopback: (address, process).

    Where tests put stores elsewhere, it is there; and where the caller's `environment` says, above all.
    """
    named = "PERSEID_STORE__URL" in (environment or {})
    with nullcontext(Ground()) if named else standing() as ground:
        command = Command(
            "serve", "--port", "0", "--workers", str(workers), "--data", str(folder / "data"), *arguments,
            folder=folder,
            environment={"PERSEID_FETCH__ALLOW_PRIVATE": "true", **ground.environment, **(environment or {})},
        )  # fmt: skip
        try:
            yield _address(command), command
        finally:
            command.kill()


def _address(command: Command) -> str:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and command.running():
        if found := _ADDRESS.search(command.stderr):
            return found[1]
        time.sleep(0.02)
    raise RuntimeError(f"the server did not begin to serve: {command.stderr}")
