"""The end-to-end tests that firecrawl-py 4.55.0 ships."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from .installed import python_packages
from .outcome import Outcome, missing
from .shipped import localized

NEEDS_A_BROWSER = {
    "test_aio_scrape::test_async_scrape_basic_formats[screenshot-screenshot]",
    "test_aio_search::test_async_search_all_parameters",
    "test_scrape::test_scrape_basic_formats[screenshot-screenshot]",
    "test_scrape::test_scrape_with_screenshot_action_viewport",
    "test_search::test_search_all_parameters",
}
"""Screenshots and actions; see docs/sdk-tests.md."""
SKIP_THEMSELVES = {
    "test_batch_scrape::test_get_batch_scrape_status_page",
    "test_batch_scrape::test_status_of_running_single_url_batch_does_not_repoll",
    "test_crawl::test_get_crawl_status_page",
}
"""Where the job has ended before they look."""


@pytest.fixture(scope="module")
def outcomes(
    inner_pytest: Callable[..., list[Outcome]],
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Outcome]:
    packages = python_packages("firecrawl-py", "firecrawl-py==4.55.0")
    folder = tmp_path_factory.mktemp("shipped") / "v2"
    shutil.copytree(packages / "firecrawl" / "__tests__" / "e2e" / "v2", folder)
    localized(folder, ".py", environment)
    return inner_pytest(packages, f"--rootdir={folder}", folder)


@pytest.mark.slow
def test_all_pass_but_those_that_need_a_browser(outcomes: list[Outcome]) -> None:
    skipped = {outcome.key for outcome in outcomes if outcome.state == "skipped"} & SKIP_THEMSELVES
    left = [outcome for outcome in outcomes if outcome.key not in NEEDS_A_BROWSER | skipped]
    assert len(outcomes) == 109
    assert not missing(left), missing(left)


@pytest.mark.slow
def test_none_is_left_out_that_would_pass(outcomes: list[Outcome]) -> None:
    assert {outcome.key for outcome in outcomes if outcome.state == "failed"} == NEEDS_A_BROWSER
