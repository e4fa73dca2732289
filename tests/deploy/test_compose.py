"""The compose file: what it starts, in which order, and that it says nothing the program doesn't know."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perseid.config.loading import declared, env_variable, load

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


@pytest.fixture
def compose(yaml_of: Callable[[Path], Any]) -> Any:
    return yaml_of(DEPLOY / "compose.yaml")


def _filled(text: str) -> str:
    """With the default of each variable."""
    while (again := re.sub(r"\$\{\w+:-((?:[^${}]|\$(?!\{))*)\}", r"\1", text)) != text:
        text = again
    return text


def test_all_parts_of_a_fleet_are_there(compose: Any) -> None:
    assert set(compose["services"]) == {"migrate", "api", "worker", "postgres", "rabbitmq", "redis"}
    for name in ("postgres", "rabbitmq", "redis"):
        service = compose["services"][name]
        assert service["healthcheck"]["test"]
        (volume,) = service["volumes"]
        assert volume.partition(":")[0] in compose["volumes"], "what it holds outlives the container"
        assert "ports" not in service, "nobody outside reaches it"


def test_redis_is_the_smallest_that_holds(compose: Any) -> None:
    words = [_filled(word) for word in compose["services"]["redis"]["command"]]
    flags = dict(zip(words[1::2], words[2::2], strict=True))
    assert flags == {"--appendonly": "yes", "--maxmemory": "256mb", "--maxmemory-policy": "allkeys-lru"}


def test_settings_are_ones_the_program_knows(compose: Any) -> None:
    known = {env_variable(field.name) for field in declared()}
    for name in ("migrate", "api", "worker"):
        environment = {key: _filled(str(value)) for key, value in compose["services"][name]["environment"].items()}
        assert set(environment) <= known
        settings = load(environment).settings
        assert settings.store.url == "postgresql://perseid:perseid@postgres:5432/perseid"
        assert settings.delivery.url == "amqp://perseid:perseid@rabbitmq:5672/"
        assert settings.api.keys == ()


def test_nobody_works_before_the_schema_is_there(compose: Any) -> None:
    for name in ("api", "worker"):
        service = compose["services"][name]
        assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert set(service["networks"]) == {"inside", "outside"}
    assert compose["networks"]["inside"]["internal"] is True


def test_published_is_the_api_alone_and_to_this_machine(compose: Any) -> None:
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert {name: [_filled(port) for port in ports] for name, ports in published.items()} == {
        "api": ["127.0.0.1:3002:3002"]
    }


def test_a_drain_fits_into_the_grace(compose: Any) -> None:
    grace = int(compose["services"]["worker"]["stop_grace_period"].removesuffix("s"))
    assert grace > load({}).settings.worker.grace_s + 5
