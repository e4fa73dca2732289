"""The Helm chart, rendered by Helm's own engine and held against the API of Kubernetes (group `deploy`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perseid.config.loading import declared, env_variable, load

helm = pytest.importorskip("helm_python", reason="install the group `deploy`")
kubernetes = pytest.importorskip("kubernetes_validate", reason="install the group `deploy`")
yaml = pytest.importorskip("yaml")

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "perseid"
STORE = {"store": {"url": "postgresql://user:secret@db.example/perseid"}}
ALL_ON = {
    **STORE,
    "delivery": {"url": "amqp://broker.example"},
    "apiKeys": ["fc-0123456789abcdef"],
    "api": {
        "ingress": {"enabled": True, "host": "crawl.example", "className": "nginx", "tlsSecret": "tls"},
        "autoscaling": {"enabled": True},
    },
    "worker": {"autoscaling": {"enabled": True}, "maxPages": 100_000, "graceSeconds": 60},
    "blobs": {"existingClaim": "bodies"},
    "settings": {"log.level": "debug", "politeness.per_host": 4, "api.docs": False},
    "extraEnv": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel:4318"}],
}


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    with helm.Chart.load(CHART) as chart:
        files = chart.render(values=values, name="demo")
    found = []
    for name, text in files.items():
        if name.endswith(".yaml"):
            found += [document for document in yaml.safe_load_all(text) if document]
    return found


def one(documents: list[dict[str, Any]], kind: str, end: str = "") -> dict[str, Any]:
    (found,) = [doc for doc in documents if doc["kind"] == kind and doc["metadata"]["name"].endswith(end)]
    return found


@pytest.mark.parametrize("values", [STORE, ALL_ON, {"existingSecret": "mine"}], ids=["least", "all", "own secret"])
@pytest.mark.parametrize("version", ["1.27", "1.32"])
def test_what_it_renders_is_valid(values: dict[str, Any], version: str) -> None:
    documents = rendered(values)
    assert len(documents) >= 7
    for document in documents:
        kubernetes.validate(document, version, strict=True)


def test_it_is_well_formed() -> None:
    result = helm.chart.lint(CHART, values=STORE)
    assert result["errors"] == []
    assert [message for message in result["messages"] if message["severity"] > 1] == []


@pytest.mark.parametrize("name", ["-api", "-worker"])
def test_pods_are_not_root_and_write_nowhere_but_in_their_volumes(name: str) -> None:
    pod = one(rendered(ALL_ON), "Deployment", name)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/data", "/tmp", "/blobs"}
    assert all(container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe", "startupProbe"))


@pytest.mark.parametrize("name", ["-api", "-worker"])
def test_settings_reach_the_program(name: str) -> None:
    (container,) = one(rendered(ALL_ON), "Deployment", name)["spec"]["template"]["spec"]["containers"]
    known = {env_variable(field.name) for field in declared()}
    given = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert {variable for variable in given if variable.startswith("PERSEID_")} <= known
    settings = load({variable: value for variable, value in given.items() if value is not None}).settings
    assert (settings.log.level, settings.politeness.per_host, settings.api.docs) == ("debug", 4, False)
    assert settings.store.blob_folder == "/blobs"
    if name == "-worker":
        assert (settings.worker.max_pages, settings.worker.max_memory_mb, settings.worker.grace_s) == (100_000, 512, 60)


def test_secrets_stand_in_the_secret_only() -> None:
    documents = rendered(ALL_ON)
    secret = one(documents, "Secret")
    assert secret["stringData"]["store-url"] == STORE["store"]["url"]
    rest = [doc for doc in documents if doc is not secret]
    assert "secret@db" not in yaml.safe_dump_all(rest)
    assert "fc-0123456789abcdef" not in yaml.safe_dump_all(rest)


def test_the_schema_is_brought_up_to_date_before_anything_else() -> None:
    documents = rendered(STORE)
    job, secret = one(documents, "Job"), one(documents, "Secret")
    hooks = [document["metadata"]["annotations"] for document in (secret, job)]
    assert {hook["helm.sh/hook"] for hook in hooks} == {"pre-install,pre-upgrade"}
    assert int(hooks[0]["helm.sh/hook-weight"]) < int(hooks[1]["helm.sh/hook-weight"])
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["migrate"]


def test_a_worker_has_time_to_drain_and_is_replaced_before_it_goes() -> None:
    worker = one(rendered(ALL_ON), "Deployment", "-worker")["spec"]
    assert worker["template"]["spec"]["terminationGracePeriodSeconds"] > 60 + 5
    assert worker["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


def test_an_api_key_is_made_where_none_is_given() -> None:
    first, second = (one(rendered(STORE), "Secret")["stringData"]["api-keys"] for _ in range(2))
    assert first.startswith("fc-")
    assert len(first) == 35
    assert first != second, "it is drawn, not written in the chart"


def test_without_a_database_it_says_so() -> None:
    with pytest.raises(Exception, match=r"store\.url names the PostgreSQL"):
        rendered({})


def test_values_that_are_none_are_refused() -> None:
    with pytest.raises(Exception, match="url"):
        rendered({"store": {"url": "mysql://db/perseid"}})
