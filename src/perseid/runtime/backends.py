"""The services an operator may configure beside us: a language model and a search engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.llm.nomodel import NoModel
from perseid.websearch.nosearch import NoSearch

if TYPE_CHECKING:
    from perseid.config.settings import LlmSettings, SearchSettings
    from perseid.ports.clock import Clock
    from perseid.ports.llm import LanguageModel
    from perseid.ports.websearch import WebSearch


def language_model(settings: LlmSettings, clock: Clock) -> LanguageModel:
    """Raises `ConfigError` for an address that is none."""
    if not settings.model or not (settings.base_url or settings.api_key):
        return NoModel()
    from perseid.llm.chat import OPENAI, ChatModel, ChatOptions  # noqa: PLC0415 - only where a model is

    options = ChatOptions(
        model=settings.model,
        base_url=settings.base_url or OPENAI,
        key=settings.api_key,
        context_tokens=settings.context_tokens,
        most_at_once=settings.most_at_once,
    )
    return ChatModel(options, clock=clock)


def web_search(settings: SearchSettings) -> WebSearch:
    """Raises `ConfigError` for an address that is none."""
    if not settings.searxng_url:
        return NoSearch()
    from perseid.websearch.searxng import Searxng, SearxngOptions  # noqa: PLC0415 - only where one is

    return Searxng(
        SearxngOptions(
            url=settings.searxng_url,
            engines=settings.engines,
            categories=settings.categories,
            timeout_s=settings.timeout_s,
        )
    )
