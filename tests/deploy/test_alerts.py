"""The alerts ask for metrics that are there, and the guide tells what to do about each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from perseid.ports.telemetry import Trouble

ROOT = Path(__file__).resolve().parents[2]


def _rules(yaml_of: Callable[[Path], Any]) -> list[dict[str, Any]]:
    return [rule for group in yaml_of(ROOT / "deploy" / "alerts.yaml")["groups"] for rule in group["rules"]]


def _exported() -> set[str]:
    """Names in the sources of what exports them; a counter ends with _total, a histogram has buckets."""
    names = set()
    for source in ("observe/metrics.py", "api/metrics.py"):
        text = (ROOT / "src" / "perseid" / source).read_text()
        names |= {f"{name}_total" for name in re.findall(r'Counter\(\s*"(perseid_\w+)"', text)}
        for name in re.findall(r'Histogram\(\s*"(perseid_\w+)"', text):
            names |= {f"{name}_bucket", f"{name}_count", f"{name}_sum"}
    reading = (ROOT / "src" / "perseid" / "runtime" / "reading.py").read_text()
    figures = reading[reading.index("async def figures") :]
    names |= {f"perseid_{name}" for name in re.findall(r'^            "(\w+)": \{', figures, re.MULTILINE)}
    return names


def test_alerts_ask_for_metrics_that_there_are(yaml_of: Callable[[Path], Any]) -> None:
    exported = _exported()
    assert {"perseid_jobs", "perseid_jobs_total", "perseid_step_seconds_bucket"} <= exported
    for rule in _rules(yaml_of):
        asked = set(re.findall(r"perseid_\w+", rule["expr"]))
        assert asked, rule["alert"]
        assert asked <= exported, rule["alert"]


def test_alerts_about_trouble_name_events_that_there_are(yaml_of: Callable[[Path], Any]) -> None:
    events = {*get_args(Trouble), "internal_error"}
    seen = set()
    for rule in _rules(yaml_of):
        for chosen in re.findall(r'event=~?"([^"]+)"', rule["expr"]):
            seen |= set(chosen.split("|"))
    assert seen <= events
    assert events - seen <= {"alarm.cleared", "delivery.back", "webhook.unreachable"}, "each has its alert"


def test_the_guide_tells_of_each_alert_and_each_metric(yaml_of: Callable[[Path], Any]) -> None:
    guide = (ROOT / "docs" / "fleet.md").read_text()
    told = set(re.findall(r"^\| `(Perseid\w+)` \|", guide, re.MULTILINE))
    assert told == {rule["alert"] for rule in _rules(yaml_of)}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in _exported()}
    assert families - set(re.findall(r"perseid_\w+", guide)) == set()


def test_settings_of_the_guide_are_real() -> None:
    from perseid.config.loading import declared, env_variable  # noqa: PLC0415 - beside its one use

    guide = (ROOT / "docs" / "fleet.md").read_text()
    known = {env_variable(field.name) for field in declared()}
    assert set(re.findall(r"PERSEID_[A-Z]+__[A-Z_]+", guide)) <= known
