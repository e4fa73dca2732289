"""What became of the tests of an inner run, read from the report of its runner."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Literal, NamedTuple

State = Literal["passed", "failed", "skipped"]


class Outcome(NamedTuple):
    """`file` is the stem of the test's file, `told` why it did not pass."""

    file: str
    name: str
    state: State
    told: str

    @property
    def key(self) -> str:
        return f"{self.file}::{self.name}"


def of_junit(report: Path) -> list[Outcome]:
    """Of pytest and of node's own runner."""
    return [_case(case) for case in ET.parse(report).iter("testcase")]


def of_jest(report: Path) -> list[Outcome]:
    found = []
    for suite in json.loads(report.read_text())["testResults"]:
        file = Path(suite["name"]).name.partition(".")[0]
        if not suite["assertionResults"]:
            found.append(Outcome(file, "", "failed", suite["message"]))
        for test in suite["assertionResults"]:
            state: State = test["status"] if test["status"] in {"passed", "failed"} else "skipped"
            found.append(Outcome(file, test["title"], state, "\n".join(test["failureMessages"])))
    return found


def missing(found: list[Outcome]) -> str:
    """All that did not pass, for the message of a failing assertion."""
    return "\n\n".join(f"{each.key} {each.state}\n{each.told}" for each in found if each.state != "passed")


def _case(case: ET.Element) -> Outcome:
    place = case.get("file") or case.get("classname", "")
    file = Path(place).name.partition(".")[0] if case.get("file") else _module(place)
    for tag, state in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        if (reason := case.find(tag)) is not None:
            return Outcome(file, case.get("name", ""), state, f"{reason.get('message', '')}\n{reason.text or ''}")
    return Outcome(file, case.get("name", ""), "passed", "")


def _module(classname: str) -> str:
    """pytest's `classname` is the dotted path of the module, and perhaps of a class in it."""
    parts = [part for part in classname.split(".") if not part.startswith("Test")]
    return parts[-1] if parts else ""
