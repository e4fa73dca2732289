"""The shipped suites explain their failures as test files do, and search longer when asked to."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("perseid.testing.conformance")

settings.register_profile("short", max_examples=20)
settings.register_profile("long", max_examples=2_000, stateful_step_count=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
