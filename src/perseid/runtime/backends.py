"""The services an operator may configure beside us: a language model and a search engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.errors import MissingExtra
from perseid.llm.nomodel import NoModel
from perseid.websearch.nosearch import NoSearch

if TYPE_CHECKING:
    from perseid.config.settings import LlmSettings, SearchSettings
    from perseid.ports.clock import Clock
    from perseid.ports.llm import LanguageModel
    from perseid.ports.websearch import WebSearch


def language_model(settings: LlmSettings, clock: Clock) -> LanguageModel:
    """Raises `ConfigError` for an address that is none, `MissingExtra`."""
    if not settings.model or not (settings.base_url or settings.api_key):
        return NoModel()
    try:
        from perseid.llm.chat import OPENAI, ChatModel, ChatOptions  # noqa: PLC0415 - only where a model is
    except ModuleNotFoundError as error:
        raise _missing("a language model", error) from error
    options = ChatOptions(
        model=settings.model,
        base_url=settings.base_url or OPENAI,
        key=settings.api_key,
        context_tokens=settings.context_tokens,
        most_at_once=settings.most_at_once,
    )
    return ChatModel(options, clock=clock)


def web_search(settings: SearchSettings) -> WebSearch:
    """Raises `ConfigError` for an address that is none, `MissingExtra`."""
    if not settings.searxng_url:
        return NoSearch()
    try:
        from perseid.websearch.searxng import Searxng, SearxngOptions  # noqa: PLC0415 - only where one is
    except ModuleNotFoundError as error:
        raise _missing("a search engine", error) from error
    return Searxng(
        SearxngOptions(
            url=settings.searxng_url,
            engines=settings.engines,
            categories=settings.categories,
            timeout_s=settings.timeout_s,
        )
    )


def _missing(what: str, error: ModuleNotFoundError) -> MissingExtra:
    return MissingExtra(
        f"{what} is configured, and {error.name}, which asks it, is not installed: pip install 'perseid[llm]'"
    )
