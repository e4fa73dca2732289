"""Writes the short forms of a seed out in full, each value keeping the place where it stands."""

from __future__ import annotations

from perseid.rules.checking import seconds_of
from perseid.rules.tree import Branch, Listing, Mapping, Scalar

_LISTS = {"urls": ("urls",), "sitemap": ("match", "exclude")}
"""Where a lone text stands for a list of one, by task type."""


def written_out(root: Mapping) -> Mapping:
    """The full form of a seed; what is neither short nor right stays as it is, for the checks to complain about."""
    seed = Mapping(dict(root.members), root.place, dict(root.keys))
    _rename(seed, "parse_rule", "rule")
    if "urls" in seed.members and "payload" not in seed.members:  # the original body of POST /dispatch
        _move(seed, ("urls", "method", "headers", "body"))
    schedule = seed.members.get("schedule")
    if schedule is not None:
        seed.members["schedule"] = _schedule(schedule)
    kind = seed.members.get("task_type")
    payload = seed.members.get("payload")
    if isinstance(kind, Scalar) and payload is not None:
        seed.members["payload"] = _payload(str(kind.value), payload)
    return seed


def _rename(seed: Mapping, name: str, known: str) -> None:
    if name in seed.members and known not in seed.members:
        seed.members[known] = seed.members.pop(name)
        seed.keys[known] = seed.keys.pop(name)


def _move(seed: Mapping, names: tuple[str, ...]) -> None:
    """Into a payload of addresses."""
    place = seed.keys.get("urls", seed.place)
    members = {name: seed.members.pop(name) for name in names if name in seed.members}
    seed.members["payload"] = Mapping(members, place, {name: seed.keys.pop(name, place) for name in members})
    seed.members.setdefault("task_type", Scalar("urls", place, "urls"))


def _schedule(branch: Branch) -> Branch:
    """A text is a duration, or else a cron text."""
    if isinstance(branch, Scalar) and isinstance(branch.value, str):
        key = "every" if seconds_of(branch.value) is not None else "cron"
        return Mapping({key: branch}, branch.place, {key: branch.place})
    return branch


def _payload(kind: str, branch: Branch) -> Branch:
    if kind == "urls" and not isinstance(branch, Mapping):
        branch = Mapping({"urls": branch}, branch.place, {"urls": branch.place})
    if not isinstance(branch, Mapping):
        return branch
    full = Mapping(dict(branch.members), branch.place, branch.keys)
    for name in _LISTS.get(kind, ()):
        if name in full.members:
            full.members[name] = _listing(full.members[name])
    values = full.members.get("values")
    if kind == "template" and isinstance(values, Mapping):
        members = {name: _listing(member) for name, member in values.members.items()}
        full.members["values"] = Mapping(members, values.place, values.keys)
    return full


def _listing(branch: Branch) -> Branch:
    return Listing([branch], branch.place) if isinstance(branch, Scalar) else branch
