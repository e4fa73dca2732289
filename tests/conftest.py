"""Fixtures shared by all tests."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The shipped suites explain their failures as test files do.
pytest.register_assert_rewrite("perseid.testing.conformance")

from perseid.testing.ground import folders_hold_stores  # noqa: E402 - only rewritten if not imported before

# A busy machine makes no property false.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The gate tries the same examples each time; elsewhere each run looks at others.
settings.register_profile("perseid", derandomize=bool(os.environ.get("CI")), **_PATIENT)
settings.register_profile("short", max_examples=20, **_PATIENT)
settings.register_profile("long", max_examples=2_000, stateful_step_count=100, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "perseid"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes stays to the end: nobody needs to look through it for garbage, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Files with slow tests begin first: at the end there are many short ones left to fill every process.
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)
    if folders_hold_stores():
        return
    others = [item for item in items if item.get_closest_marker("folder") is not None]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public evaluation data and cases that lies beside the checkout."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("PERSEID_SHARED", root.parent / "shared"))
    if not (folder / "cases" / "cases.jsonl").is_file():
        message = f"no evaluation data at {folder}; set PERSEID_SHARED to its folder"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def documentation() -> Callable[[str, str], Path]:
    """Folder of a real site that a Debian package brings along; installed where that can be done."""

    def folder(package: str, path: str) -> Path:
        if shutil.which("apt-get") and os.geteuid() == 0:
            # One process at a time: a folder that another one is filling is no whole site yet.
            with Path(tempfile.gettempdir(), "perseid-documentation.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not Path(path).is_dir():
                    for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
                        subprocess.run(["apt-get", "-q", *command], check=False, timeout=300, capture_output=True)
        if not Path(path).is_dir():
            message = f"no {path}; install the Debian package {package}"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        return Path(path)

    return folder
