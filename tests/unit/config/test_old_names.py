"""Variables of other systems: what they become, what wins over them, and what is said of those in vain."""

from __future__ import annotations

import pytest

from perseid.config import old_names
from perseid.config.listing import rows
from perseid.config.loading import FileSource, declared, load
from perseid.config.old_names import OLD_NAMES


def value(env: dict[str, str], name: str) -> object:
    section, _, member = name.partition(".")
    return getattr(getattr(load(env).settings, section), member)


def test_each_names_a_setting_that_exists() -> None:
    assert {old.setting for old in OLD_NAMES} <= {field.name for field in declared()}


@pytest.mark.parametrize(
    ("variable", "text", "name", "expected"),
    [
        ("PORT", "8080", "api.port", 8080),
        ("HOST", "0.0.0.0", "api.host", "0.0.0.0"),
        ("EXPRESS_TRUST_PROXY", "2", "api.trust_proxy", 2),
        ("EXPRESS_TRUST_PROXY", "false", "api.trust_proxy", 0),
        ("NUM_WORKERS_PER_QUEUE", "8", "worker.concurrency", 8),
        ("CONCURRENCY", "12", "worker.concurrency", 12),
        ("ALLOW_LOCAL_WEBHOOKS", "true", "webhook.allow_private", "true"),
        ("ALLOW_LOCAL_WEBHOOKS", "true", "fetch.allow_private", "true"),
        ("DISABLE_WEBHOOK_DELIVERY", "true", "webhook.disabled", True),
        ("SELF_HOSTED_WEBHOOK_URL", "https://h/{{JOB_ID}}", "webhook.url", "https://h/{{JOB_ID}}"),
        ("OPENAI_BASE_URL", "https://llm/v1", "llm.base_url", "https://llm/v1"),
        ("OLLAMA_BASE_URL", "http://localhost:11434/api", "llm.base_url", "http://localhost:11434/v1"),
        ("OLLAMA_BASE_URL", "http://localhost:11434/v1/", "llm.base_url", "http://localhost:11434/v1"),
        ("SEARXNG_ENGINES", "duckduckgo, qwant", "search.engines", ("duckduckgo", "qwant")),
        ("LOGGING_LEVEL", "WARN", "log.level", "warning"),
        ("LOGGING_LEVEL", "trace", "log.level", "debug"),
    ],
)
def test_becomes_our_setting(variable: str, text: str, name: str, expected: object) -> None:
    assert value({variable: text}, name) == expected


def test_proxy_gains_its_credentials() -> None:
    env = {"PROXY_SERVER": "http://proxy:3128", "PROXY_USERNAME": "u@x", "PROXY_PASSWORD": "p:/w"}
    assert value(env, "fetch.proxy") == "http://u%40x:p%3A%2Fw@proxy:3128"
    assert value({"PROXY_SERVER": "proxy:3128"}, "fetch.proxy") == "http://proxy:3128"
    env["PROXY_SERVER"] = "http://own:pair@proxy:3128"
    assert value(env, "fetch.proxy") == env["PROXY_SERVER"]


def test_beats_a_file_and_yields_to_ours() -> None:
    file = FileSource("perseid.toml", {"api": {"port": 1}})
    assert load({"PORT": "2"}, [file]).settings.api.port == 2
    assert load({"PORT": "2", "PERSEID_API__PORT": "3"}, [file]).settings.api.port == 3
    assert load({"PORT": "2"}, [file], {"api.port": 4}).settings.api.port == 4


def test_is_shown_as_origin() -> None:
    (row,) = [row for row in rows(load({"PORT": "2"})) if row.name == "api.port"]
    assert row.origin == "PORT"


def test_the_later_of_two_names_wins() -> None:
    env = {"CONCURRENCY": "3", "MAX_CONCURRENT_JOBS": "4", "OLLAMA_BASE_URL": "http://o", "OPENAI_BASE_URL": "http://a"}
    assert (value(env, "worker.concurrency"), value(env, "llm.base_url")) == (3, "http://a")


def test_unusable_value_is_noted_and_ignored() -> None:
    loaded = load({"PORT": "tcp://10.0.0.1:80"})
    assert loaded.settings.api.port == 3002
    (note,) = loaded.notes
    assert "PORT" in note
    assert "PERSEID_API__PORT" in note


def test_unusable_value_beside_ours_is_nobodys_business() -> None:
    assert load({"PORT": "none", "PERSEID_API__PORT": "3"}).notes == ()


def test_empty_value_says_nothing() -> None:
    loaded = load({old.variable: "" for old in OLD_NAMES})
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.notes == ()


def test_variable_without_effect_is_told() -> None:
    assert any("MONGO_URL" in note for note in load({"MONGO_URL": "mongodb://localhost"}).notes)


def test_brokers_of_others_deliver_for_us() -> None:
    assert load({"REDIS_URL": "redis://cache:6379"}).settings.delivery.url == "redis://cache:6379"
    both = {"REDIS_URL": "redis://cache:6379", "NUQ_RABBITMQ_URL": "amqp://rabbit"}
    assert load(both).settings.delivery.url == "amqp://rabbit"


def test_a_broker_of_others_that_needs_an_extra_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_names, "find_spec", lambda _name: None)
    loaded = load({"REDIS_URL": "redis://cache:6379"})
    assert loaded.settings.delivery.url == ""
    assert any("perseid[redis]" in note for note in loaded.notes)


def test_secret_is_not_told() -> None:
    loaded = load({"OPENAI_API_KEY": "sk-hunter2", "PERSEID_API__KEYS": "fc-hunter2,fc-b"})
    assert loaded.settings.api.keys == ("fc-hunter2", "fc-b")
    assert "hunter2" not in repr(rows(loaded))
