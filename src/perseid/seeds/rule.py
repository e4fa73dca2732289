"""The rule that a seed may bring along: a whole one, or only its selectors."""

from __future__ import annotations

from typing import Any

import msgspec

from perseid.model.rule import Rule
from perseid.rules import loading as rules
from perseid.rules.complaint import Complaints
from perseid.rules.tree import Mapping, Path, Scalar, kind_of, shown

_SELECTORS = ("fields", "selectors")


def own_rule(seed: Mapping, path: Path, complaints: Complaints) -> dict[str, Any] | None:
    """The rule in its full form, or None after complaints, or where the seed has none."""
    branch = seed.members.get("rule")
    if branch is None or (isinstance(branch, Scalar) and branch.value is None):
        return None
    if not isinstance(branch, Mapping) or not branch.members:
        said = "an empty one" if isinstance(branch, Mapping) else kind_of(branch)
        complaints.error((*path, "rule"), branch.place, f"a rule or a mapping of selectors is wanted here, not {said}")
        return None
    own = Complaints(complaints.file)
    site = seed.members.get("site_id")
    name = str(site.value) if isinstance(site, Scalar) else "unnamed"
    whole = any(each in branch.members for each in _SELECTORS)
    full = Mapping(dict(branch.members), branch.place, branch.keys) if whole else Mapping({}, branch.place)
    if not whole:
        full.members["selectors"] = branch
        full.keys["selectors"] = branch.place
    named = full.members.setdefault("site_id", Scalar(name, branch.place, name))
    if isinstance(named, Scalar) and str(named.value) != name:
        own.error(("site_id",), named.place, f"the rule is of the site {named.value!r}, the seed of {name!r}")
    rule = rules.built(full, own)
    for each in own.sorted():
        where = each.path if whole else each.path.removeprefix("fields").removeprefix(".")
        complaints.found.append(msgspec.structs.replace(each, path=_below(shown((*path, "rule")), where)))
    return None if rule is None else rules.dumped(rule)


def _below(begun: str, path: str) -> str:
    if path in ("", "(document)"):
        return begun
    return f"{begun}{path}" if path.startswith("[") else f"{begun}.{path}"


def rule_of(value: dict[str, Any]) -> Rule:
    """The rule that a seed keeps, to be compiled."""
    return msgspec.convert(value, Rule)
