"""XPath over the parsed page, refused where an expression would take too long on a page of that size.

The engine is turbohtml's; it can't be interrupted, so what an expression costs is counted beforehand, from its parts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from perseid.pattern import later
from perseid.rules.regexes import Overrun

if TYPE_CHECKING:
    from perseid.dom.tree import Node, Tree

BUDGET = 400_000_000
"""Elements that an expression may look at: about two seconds."""

_TOKEN = later(r"\(|\)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s()]+")
_PREFIXED = later(r"'[^']*'|\"[^\"]*\"|(?<![\w:.$-])([A-Za-z_][\w.-]*:[A-Za-z_][\w.-]*)(?![\w.-]*(?::|\s*\())")
_WIDE = {
    "descendant": 1, "descendant-or-self": 1, "following": 1, "following-sibling": 1, "preceding": 2,
    "preceding-sibling": 2,
}  # fmt: skip
"""Axes that may reach all of a page from one element; the engine sorts what the reverse ones find."""

_UPWARD = frozenset({"parent", "ancestor", "ancestor-or-self"})
_TEXTLESS = frozenset({"'boolean'", "'count'", "'lang'", "'local-name'", "'name'", "'namespace-uri'", "'not'"})
"""Functions that read no text of the nodes they are given."""
_SIDEWAYS = 25
"""How much longer a look from an element at the children of another one takes than at one of its own."""
_PLAIN = later(r"[A-Za-z_][A-Za-z0-9_]*")
_FAMILY = 64
"""Elements with fewer children than half of it count for nothing."""

Tokens: TypeAlias = list[Any]


def check(expression: str) -> None:
    """Raises ValueError saying what is wrong with the expression."""
    _parts(expression)


def evaluate(tree: Tree, expression: str, within: Node | None = None) -> list[Any]:
    """Nodes and texts that the expression yields, in order; a number or a truth as one member.

    Raises Overrun where it would take too long, ValueError where it can't be evaluated here.
    """
    if tree.backend != "turbohtml":
        raise ValueError("XPath can't be used on this page: only the fallback parser could read it")
    start = tree.native if within is None else within
    degree = cost(expression)
    if degree > 1:
        size = int(tree.native.xpath("count(//*)"))
        if size**degree > BUDGET:
            raise Overrun(
                f"the XPath {expression[:80]!r} may look at {size}^{degree} elements on this page; take predicates "
                "with //, preceding or following apart, or begin nearer to the value"
            )
    met = sum(_met(tree, climb) for climb in climbs(expression))
    if met * _SIDEWAYS > BUDGET:
        raise Overrun(
            f"the XPath {expression[:80]!r} may look at {met} elements on this page, sideways from others; take"
            " predicates with .. and ancestor apart, or begin nearer to the value"
        )
    found = start.xpath(_unprefixed(expression))
    return found if isinstance(found, list) else [found]


@lru_cache(maxsize=2_000)
def is_absolute(expression: str) -> bool:
    """It begins at the root, wherever it is evaluated."""
    return [part[:2] for part in _parts(expression)] == [["path", "abs"]]


@lru_cache(maxsize=2_000)
def cost(expression: str) -> int:
    """The power of the page's size that bounds the work."""
    return max(1, _cost(_parts(expression), 0))


class Climb(NamedTuple):
    """A predicate of elements called `name` (`*` for any) goes up and down again: `//td[../th='Price']`."""

    name: str
    far: bool
    """Further than to the parent."""


def _met(tree: Tree, climb: Climb) -> int:
    """How many elements are met at most: all siblings by each, or by each of the page the largest family there is."""
    size, family, met = int(tree.native.xpath("count(//*)")), _FAMILY, 0
    many = int(tree.native.xpath(f"count(//{climb.name})")) if climb.far else 0
    held = "" if climb.far else f"[{climb.name}]"
    while family < 2 * size:
        of = int(tree.native.xpath(f"count(//*{held}[count(*) > {family // 2} and count(*) <= {family}])"))
        if of:
            met = many * family if climb.far else met + of * family**2
        family *= 2
    return met


@lru_cache(maxsize=2_000)
def climbs(expression: str) -> tuple[Climb, ...]:
    """Of all predicates of the expression."""
    return tuple(set(_climbs(_parts(expression), "")))


def _climbs(parts: Tokens, name: str) -> list[Climb]:
    """`name` is that of the elements whose predicate this is; empty outside of predicates."""
    found: list[Climb] = []
    steps = 0
    for part in parts:
        if not isinstance(part, list) or not part:
            continue
        own = name
        if part[0] == "step":
            if name and steps and part[1] == "child":
                found.append(Climb(name, far=steps > 1))
            steps += {"parent": 1, "ancestor": 2, "ancestor-or-self": 2}.get(part[1], 0)
            plain = str(part[3]).strip("'") if part[2] == "name" else "*"
            own = plain if _PLAIN.fullmatch(plain) else "*"
        found += _climbs(part, own if part[0] in ("step", "pred") or name else "")
    return found


@lru_cache(maxsize=2_000)
def _unprefixed(expression: str) -> str:
    """`dc:date` as the engine finds it, which knows names with a prefix only as they are written."""

    def change(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else f"*[name()='{found[1]}']"

    return _PREFIXED.sub(change, expression) if ":" in expression else expression


@lru_cache(maxsize=500)
def _parts(expression: str) -> Tokens:
    from turbohtml._html import _xpath_parse  # noqa: PLC0415  start-up time

    try:
        written = _xpath_parse(_unprefixed(expression))
    except ValueError as error:
        raise ValueError(str(error)) from None
    stack: list[Tokens] = [[]]
    for part in _TOKEN.findall(written):
        if part == "(":
            stack.append([])
        elif part == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(part)
    return stack[0]


def _cost(parts: Tokens, contexts: int) -> int:
    """Of an expression that is evaluated in N**contexts places."""
    if parts and parts[0] == "path":
        return _path_cost(parts, contexts)
    reads = parts and not (parts[0] == "call" and parts[1] in _TEXTLESS) and parts[0] not in ("pred", "and", "or")
    return max(
        (
            _cost(part, contexts) + (1 if contexts and reads and _holds_all(part) else 0)
            for part in parts
            if isinstance(part, list)
        ),
        default=contexts,
    )


def _holds_all(parts: Tokens) -> bool:
    """A path to what others lie in: its text may be that of the whole page."""
    if not parts or parts[0] != "path":
        return False
    last = parts[-1]
    return last[1] in _UPWARD if isinstance(last, list) and last[0] == "step" else last == "abs"


def _path_cost(parts: Tokens, contexts: int) -> int:
    """Steps follow each other over at most N nodes; what stands in a predicate is done for each of them."""
    reached, most = 0, contexts
    for part in parts:
        if not (isinstance(part, list) and part and part[0] == "step"):
            if isinstance(part, list):
                most = max(most, _cost(part, contexts + reached))
            continue
        width = _WIDE.get(part[1], 0)
        # A descent from what was found below something else meets each element as often as it is nested: seldom.
        again = reached and width and not part[1].startswith("descendant")
        most = max(most, contexts + width + (1 if again else 0))
        reached = min(1, reached + width)
        for predicate in part[2:]:
            if isinstance(predicate, list):
                most = max(most, _cost(predicate, contexts + reached))
    return most
