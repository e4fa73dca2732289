"""Names that other systems gave to settings of ours: honoured below `PERSEID_…`, above files and defaults.

They belong to others, so a value that we can't use is told and left alone, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

Environment = Mapping[str, str]


def _as_it_is(value: str, _env: Environment) -> str:
    return value


def _with_credentials(value: str, env: Environment) -> str:
    """A proxy whose user and password stand in variables of their own."""
    user, password = env.get("PROXY_USERNAME", ""), env.get("PROXY_PASSWORD", "")
    whole = value if "://" in value else f"http://{value}"
    parts = urlsplit(whole)
    if not user or "@" in parts.netloc:
        return whole
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


_LEVELS = {
    "trace": "debug", "verbose": "debug", "silly": "debug", "warn": "warning", "fatal": "error", "critical": "error",
    "none": "off", "silent": "off",
}  # fmt: skip


def _level(value: str, _env: Environment) -> str:
    return _LEVELS.get(value.lower(), value.lower())


def _openai_path(value: str, _env: Environment) -> str:
    """Ollama's own protocol lies under /api, OpenAI's beside it under /v1."""
    bare = value.rstrip("/")
    return bare if bare.endswith("/v1") else f"{bare.removesuffix('/api')}/v1"


def _hops(value: str, _env: Environment) -> str:
    return "0" if value.lower() == "false" else value


class OldName(NamedTuple):
    """One variable of another system and the setting it becomes."""

    variable: str
    setting: str
    read: Callable[[str, Environment], str] = _as_it_is


OLD_NAMES = (
    OldName("HOST", "api.host"),
    OldName("PORT", "api.port"),
    OldName("EXPRESS_TRUST_PROXY", "api.trust_proxy", _hops),
    OldName("REDIS_URL", "delivery.url"),
    OldName("NUQ_RABBITMQ_URL", "delivery.url"),
    OldName("NUM_WORKERS_PER_QUEUE", "worker.concurrency"),
    OldName("MAX_CONCURRENT_JOBS", "worker.concurrency"),
    OldName("CONCURRENCY", "worker.concurrency"),
    OldName("PROXY_SERVER", "fetch.proxy", _with_credentials),
    OldName("ALLOW_LOCAL_WEBHOOKS", "fetch.allow_private"),
    OldName("ALLOW_LOCAL_WEBHOOKS", "webhook.allow_private"),
    OldName("SELF_HOSTED_WEBHOOK_URL", "webhook.url"),
    OldName("SELF_HOSTED_WEBHOOK_HMAC_SECRET", "webhook.secret"),
    OldName("DISABLE_WEBHOOK_DELIVERY", "webhook.disabled"),
    OldName("OLLAMA_BASE_URL", "llm.base_url", _openai_path),
    OldName("OPENAI_BASE_URL", "llm.base_url"),
    OldName("OPENAI_API_KEY", "llm.api_key"),
    OldName("MODEL_NAME", "llm.model"),
    OldName("MODEL_EMBEDDING_NAME", "llm.embedding_model"),
    OldName("SEARXNG_ENDPOINT", "search.searxng_url"),
    OldName("SEARXNG_ENGINES", "search.engines"),
    OldName("SEARXNG_CATEGORIES", "search.categories"),
    OldName("LOGGING_LEVEL", "log.level", _level),
)
"""Of two names for one setting the later one wins."""

WITHOUT_EFFECT = {
    "MONGO_URL": "a MongoDB that items go to is named in [connections]",
    "BLOCK_MEDIA": "media are never loaded: pages are fetched without a browser",
}
"""Variables people bring along that there is no setting for, and why."""


_NEEDS = {"REDIS_URL": ("redis", "redis"), "NUQ_RABBITMQ_URL": ("aio_pika", "rabbitmq")}
"""Packages of extras that a variable is nothing without."""


class Given(NamedTuple):
    """A setting as another system's variable gives it."""

    setting: str
    text: str
    variable: str


def given(env: Environment) -> Iterator[Given]:
    """What the environment says under old names, weakest first; empty values say nothing."""
    for old in OLD_NAMES:
        if (value := env.get(old.variable, "").strip()) and not _missing_for(old.variable):
            yield Given(old.setting, old.read(value, env), old.variable)


def without_effect(env: Environment) -> list[str]:
    """A sentence for each variable that is set in vain."""
    said = [f"{variable} has no effect: {why}" for variable, why in WITHOUT_EFFECT.items() if env.get(variable)]
    for variable, (_package, extra) in _NEEDS.items():
        if env.get(variable) and _missing_for(variable):
            said.append(f"{variable} has no effect: it needs pip install 'perseid[{extra}]'")
    return said


def _missing_for(variable: str) -> bool:
    """Where ours would be an error that names the extra, others' is left alone."""
    package, _extra = _NEEDS.get(variable, ("", ""))
    return bool(package) and find_spec(package) is None
