"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
