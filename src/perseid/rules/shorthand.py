"""Writes the short forms of a rule file out in full, each value keeping the place where it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perseid.pattern import later
from perseid.rules.tree import Branch, Listing, Mapping, Place, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE_KEYS = (
    "css", "xpath", "jsonpath", "regex", "group", "jsonld", "microdata", "kind", "opengraph", "meta", "header", "url",
    "const", "attr", "take",
)  # fmt: skip
"""What may stand in a field or a follow rule directly when it has a single source."""

_PSEUDO = later(r"\s*::(text|own_text|html|inner_html|attr\(\s*([^\s()]+)\s*\))\s*\Z")
_XPATH = re.compile(r"\(*\.{0,2}/|(?:string|normalize-space|count|concat)\(")


def written_out(root: Branch) -> Branch:
    """The full form of a rule; what is neither short nor right stays as it is, for the checks to complain about."""
    if not isinstance(root, Mapping):
        return root
    rule = _renamed(root, "selectors", "fields")
    _change(rule, "fields", _fields)
    _change(rule, "each", source)
    _change(rule, "unique_key", _unique_key)
    _change(rule, "follow", lambda branch: _all(branch, _follow))
    _change(rule, "next", _next)
    _change(rule, "fetch", _fetch)
    _change(rule, "alerts", _listing)
    _change(rule, "tests", lambda branch: _all(branch, _test))
    for name in ("sinks", "match", "items_on"):
        _change(rule, name, _listing)
    return rule


def source(branch: Branch) -> Branch:
    """A source: a text is XPath, JSONPath or CSS, by its beginning.

    CSS may end in `::attr(NAME)`, `::text`, `::own_text`, `::html` or `::inner_html`, in a mapping as well.
    """
    if isinstance(branch, Mapping):
        return _unfolded(branch)
    if not isinstance(branch, Scalar) or not isinstance(branch.value, str):
        return branch
    text, place = branch.value.strip(), branch.place
    if _XPATH.match(text):
        return _mapping(place, xpath=branch.value)
    if text.startswith(("$.", "$[")) or text == "$":
        return _mapping(place, jsonpath=branch.value)
    return _unfolded(_mapping(place, css=branch.value))


def _unfolded(branch: Mapping) -> Mapping:
    """`css: a::attr(href)` as `css` and `attr`."""
    css = branch.members.get("css")
    pseudo = _PSEUDO.search(css.value) if isinstance(css, Scalar) and isinstance(css.value, str) else None
    if css is None or pseudo is None or "attr" in branch.members or "take" in branch.members:
        return branch
    option, value = ("attr", pseudo[2]) if pseudo[2] else ("take", pseudo[1])
    parts = _mapping(css.place, css=pseudo.string[: pseudo.start()], **{option: value})
    return Mapping({**branch.members, **parts.members}, branch.place, {**parts.keys, **branch.keys})


def _fields(branch: Branch) -> Branch:
    if not isinstance(branch, Mapping):
        return branch
    return Mapping({name: _field(member) for name, member in branch.members.items()}, branch.place, branch.keys)


def _field(branch: Branch) -> Branch:
    if not isinstance(branch, Mapping):
        return _sourced(branch)
    field = _gathered(branch)
    _change(field, "fields", _fields)
    for name in ("yes", "no", "formats", "steps"):
        _change(field, name, _listing)
    return field


def _sourced(branch: Branch) -> Branch:
    """A text or a list of them stands for the sources alone."""
    if isinstance(branch, Scalar) and not isinstance(branch.value, str):
        return branch
    return Mapping({"from": _sources(branch)}, branch.place, {"from": branch.place})


def _sources(branch: Branch) -> Branch:
    return _all(branch, source)


def _gathered(branch: Mapping) -> Mapping:
    """Keys of a single source, moved into `from`."""
    own = {name: member for name, member in branch.members.items() if name not in SOURCE_KEYS}
    inline = {name: member for name, member in branch.members.items() if name in SOURCE_KEYS}
    out = Mapping(own, branch.place, dict(branch.keys))
    if "from" in own:
        own["from"] = _sources(own["from"])
        own.update(inline)  # both: the checks refuse the keys that are none here
    elif inline:
        single = Mapping(inline, branch.place, {name: branch.keys.get(name, branch.place) for name in inline})
        own["from"] = Listing([source(single)], branch.place)
        out.keys["from"] = branch.place
    return out


def _follow(branch: Branch) -> Branch:
    if not isinstance(branch, Mapping):
        return _sourced(branch)
    out = _gathered(branch)
    for name in ("on", "match", "exclude"):
        _change(out, name, _listing)
    return out


def _next(branch: Branch) -> Branch:
    if isinstance(branch, Scalar) and branch.value in ("auto", True):
        return Mapping({"auto": Scalar(True, branch.place, "true")}, branch.place, {"auto": branch.place})
    return _gathered(branch) if isinstance(branch, Mapping) else _sourced(branch)


def _unique_key(branch: Branch) -> Branch:
    if isinstance(branch, Listing):
        return Mapping({"by": Scalar("fields", branch.place, "fields"), "fields": branch}, branch.place)
    if isinstance(branch, Scalar) and branch.value in ("url", "content"):
        return Mapping({"by": branch}, branch.place)
    if isinstance(branch, Scalar) and isinstance(branch.value, str):
        return _unique_key(Listing([branch], branch.place))
    if isinstance(branch, Mapping) and "by" not in branch.members and "fields" in branch.members:
        return Mapping({"by": Scalar("fields", branch.place, "fields"), **branch.members}, branch.place, branch.keys)
    return branch


def _fetch(branch: Branch) -> Branch:
    if not isinstance(branch, Mapping):
        return branch
    out = Mapping(dict(branch.members), branch.place, branch.keys)
    _change(out, "rate", _rate)
    _change(out, "delay", _range)
    _change(out, "block", _listing)
    _change(out, "login", lambda each: _all(each, _login))
    return out


def _login(branch: Branch) -> Branch:
    if isinstance(branch, Mapping):
        out = Mapping(dict(branch.members), branch.place, branch.keys)
        _change(out, "expect", source)
        take = out.members.get("take")
        if isinstance(take, Mapping):
            members = {name: source(member) for name, member in take.members.items()}
            out.members["take"] = Mapping(members, take.place, take.keys)
        return out
    return branch


def _test(branch: Branch) -> Branch:
    if isinstance(branch, Mapping):
        out = Mapping(dict(branch.members), branch.place, branch.keys)
        _change(out, "expect", _listing)
        return out
    return branch


def _rate(branch: Branch) -> Branch:
    return Mapping({"per_s": branch}, branch.place) if isinstance(branch, Scalar) else branch


def _range(branch: Branch) -> Branch:
    return Listing([branch, branch], branch.place) if isinstance(branch, Scalar) else branch


def _listing(branch: Branch) -> Branch:
    return branch if isinstance(branch, Listing) else Listing([branch], branch.place)


def _all(branch: Branch, change: Callable[[Branch], Branch]) -> Branch:
    """Each member of a list; what stands alone is a list of one."""
    members = branch.members if isinstance(branch, Listing) else [branch]
    return Listing([change(member) for member in members], branch.place)


def _change(branch: Mapping, name: str, change: Callable[[Branch], Branch]) -> None:
    member = branch.members.get(name)
    if member is not None and not (isinstance(member, Scalar) and member.value is None):
        branch.members[name] = change(member)


def _renamed(branch: Mapping, name: str, known: str) -> Mapping:
    names = {each: known if each == name and known not in branch.members else each for each in branch.members}
    members = {names[each]: member for each, member in branch.members.items()}
    return Mapping(members, branch.place, {names.get(each, each): place for each, place in branch.keys.items()})


def _mapping(place: Place, **values: str) -> Mapping:
    members: dict[str, Branch] = {name: Scalar(value, place, value) for name, value in values.items()}
    return Mapping(members, place, dict.fromkeys(values, place))
