"""From the text of a rule file to a rule, or to all that is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from perseid.model.rule import Rule
from perseid.rules import meaning, secrets
from perseid.rules.checking import Checker, type_of
from perseid.rules.complaint import Complaint, Complaints, RuleInvalid, clipped
from perseid.rules.place import Places
from perseid.rules.shaped import MAX_BYTES, SUFFIXES, file_body, tree
from perseid.rules.shorthand import written_out
from perseid.rules.tree import Branch, Listing, Mapping, Path

if TYPE_CHECKING:
    from pathlib import Path as File

__all__ = ["MAX_BYTES", "SUFFIXES", "Loaded", "built", "check", "dumped", "from_value", "load", "load_file"]


class Loaded(msgspec.Struct, frozen=True):
    """A rule and what is worth knowing about its file (warnings only)."""

    rule: Rule
    warnings: tuple[Complaint, ...] = ()


def load_file(path: File) -> Loaded:
    """Raises RuleInvalid, ConfigError where the file can't be read, and MissingExtra."""
    body = file_body(path, "rule")
    return load(body, str(path), is_json=path.suffix.lower() == ".json")


def load(text: str | bytes, name: str = "rule.yaml", *, is_json: bool | None = None) -> Loaded:
    """A rule from its text; JSON where `is_json`, or where None and the text begins with a brace, else YAML.

    Raises RuleInvalid with all complaints.
    """
    complaints = Complaints(name)
    rule = _read(text, complaints, is_json)
    if rule is None or complaints.fatal:
        raise RuleInvalid(complaints.sorted())
    return Loaded(rule, tuple(complaints.sorted()))


def check(text: str | bytes, name: str = "rule.yaml", *, is_json: bool | None = None) -> list[Complaint]:
    """All complaints about a text, warnings included; none where all is well."""
    complaints = Complaints(name)
    _read(text, complaints, is_json)
    return complaints.sorted()


def from_value(value: Any, name: str = "rule") -> Loaded:
    """A rule from a JSON value, short forms allowed. Raises RuleInvalid; all its places are line 1."""
    return load(msgspec.json.encode(value), name, is_json=True)


def dumped(value: msgspec.Struct) -> dict[str, Any]:
    """A rule, or another struct, in its full form, as JSON has it; what is as by default isn't in it."""
    found: dict[str, Any] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        pairs = ((each, getattr(value, each.name)) for each in msgspec.structs.fields(value))
        return {each.encode_name: _plain(own) for each, own in pairs if each.required or own != _default(each)}
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list | tuple) else value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _read(body: str | bytes, complaints: Complaints, is_json: bool | None) -> Rule | None:
    root = tree(body, complaints, is_json=is_json)
    return None if root is None else built(root, complaints)


def built(root: Branch, complaints: Complaints) -> Rule | None:
    """A rule from its tree; None after complaints, all their paths beginning at `root`."""
    if not isinstance(root, Mapping):
        complaints.error((), root.place, "a rule is a mapping; it begins with `site_id: NAME`")
        return None
    _both_names(root, complaints)
    _secrets(root, (), complaints)
    full = written_out(root)
    value = Checker(complaints).value(type_of(Rule), full, ())
    begun = len(complaints.found)
    value.setdefault("site_id", "unnamed")  # complained about already; the rest can be looked at all the same
    try:
        rule = msgspec.convert(value, Rule)
    except (msgspec.ValidationError, TypeError) as error:
        if not complaints.fatal:  # the checker knows less than the model: a bug, but no crash
            complaints.error((), root.place, str(error))
        return None
    meaning.check(rule, Places(complaints, full, root.place))
    complaints.forget(begun)
    return None if complaints.fatal else rule


def _both_names(root: Mapping, complaints: Complaints) -> None:
    if "selectors" in root.members and "fields" in root.members:
        complaints.error(
            ("selectors",), root.keys["selectors"], "`selectors` is the short name of `fields`; keep one of them"
        )


def _secrets(branch: Branch, path: Path, complaints: Complaints) -> None:
    """References to secrets are well written, and stand only where they are filled in."""
    if isinstance(branch, Mapping):
        for name, member in branch.members.items():
            _secrets(member, (*path, name), complaints)
    elif isinstance(branch, Listing):
        for number, member in enumerate(branch.members):
            _secrets(member, (*path, number), complaints)
    elif isinstance(branch.value, str) and "${" in branch.value:
        for found in secrets.LOOKS_LIKE.finditer(branch.value):
            if not secrets.REFERENCE.fullmatch(found[0]):
                message = (
                    f"{clipped(found[0])!r} is no reference; it is written ${{secret:NAME}}, of letters, digits, _"
                )
                complaints.error(path, branch.place, message)
            elif path[:2] not in secrets.ALLOWED:
                allowed = ", ".join(".".join(each) for each in secrets.ALLOWED)
                complaints.error(path, branch.place, f"secrets are filled in only below {allowed}")
