"""Which language model and search engine the settings lead to."""

from __future__ import annotations

import pytest

from perseid.config.settings import LlmSettings, SearchSettings
from perseid.llm.chat import ChatModel
from perseid.llm.nomodel import NoModel
from perseid.runtime.backends import language_model, web_search
from perseid.runtime.clock import SystemClock
from perseid.websearch.nosearch import NoSearch
from perseid.websearch.searxng import Searxng


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (LlmSettings(), NoModel),
        (LlmSettings(model="m"), NoModel),
        (LlmSettings(base_url="http://localhost:11434/v1"), NoModel),
        (LlmSettings(model="m", base_url="http://localhost:11434/v1"), ChatModel),
        (LlmSettings(model="m", api_key="k"), ChatModel),
    ],
)
def test_a_model_needs_a_name_and_a_place(settings: LlmSettings, kind: type) -> None:
    assert type(language_model(settings, SystemClock())) is kind


@pytest.mark.parametrize(("url", "kind"), [("", NoSearch), ("http://localhost:8888", Searxng)])
def test_a_search_engine_needs_an_address(url: str, kind: type) -> None:
    assert type(web_search(SearchSettings(searxng_url=url))) is kind
