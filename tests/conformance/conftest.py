"""The shipped suites explain their failures as test files do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("perseid.testing.conformance")
