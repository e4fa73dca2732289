"""Allow and Disallow rules, indexed so that thousands of them cost little more than a few.

Matching is linear in the length of the URL, whatever the patterns: no regular expression is made of them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_UNRESERVED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
_KEPT = frozenset((_UNRESERVED + ":/?#[]@!&'()+,;=").encode())
_HEX = frozenset(b"0123456789abcdefABCDEF")
# Each position allows one continuation only: these expressions can't backtrack.
_is_normal = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!&'()+,;=]*").fullmatch
_ordinary_url = re.compile(r"(?:https?://[^/?#;]*)?(/(?!/)[A-Za-z0-9\-._~:/?\[\]@!&'()+,;=]*)").fullmatch
_authority = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#;]*").match

_FEW = 24
"""Up to so many wildcard rules are tried one by one; more get an index."""
_GRAM = 4
_TOLD = 300
"""Characters of a rule that are quoted to people."""

_Key = TypeVar("_Key")


class Rule(NamedTuple):
    """One line: `pieces` are the literals between the stars, `size` the octets that rank it."""

    allow: bool
    text: str
    size: int
    pieces: tuple[str, ...]
    anchored: bool

    def matches(self, path: str) -> bool:
        """Whether a normalised path and query begins as the pattern says (RFC 9309, 2.2.2 and 2.2.3).

        Each piece takes its leftmost place, so nothing is ever tried twice.
        """
        first, *rest = self.pieces
        if not path.startswith(first):
            return False
        last = rest.pop() if self.anchored and rest else None
        at = len(first)
        for piece in rest:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        if last is not None:
            return len(path) - at >= len(last) and path.endswith(last)
        return not self.anchored or at == len(path)


class RuleSet:
    """The rules of one group; the longest pattern that matches decides, and Allow wins a tie."""

    __slots__ = ("_exact", "_gram_sizes", "_grams", "_prefix_sizes", "_prefixes", "_wild")

    def __init__(self, rules: Iterable[tuple[bool, str]]) -> None:
        self._prefixes: dict[str, Rule] = {}
        self._exact: dict[str, Rule] = {}
        wild: dict[tuple[tuple[str, ...], bool], Rule] = {}
        for allow, pattern in rules:
            for rule in _compile(allow, pattern):
                if len(rule.pieces) > 1:
                    _keep(wild, (rule.pieces, rule.anchored), rule)
                else:
                    _keep(self._exact if rule.anchored else self._prefixes, rule.pieces[0], rule)
        self._prefix_sizes = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        # Beside each rule a piece that must occur: the test that nearly always settles it.
        self._wild = [(max(rule.pieces, key=len), rule) for rule in sorted(wild.values(), key=_rank)]
        self._grams = _by_rarest_gram(self._wild) if len(wild) > _FEW else {}
        self._gram_sizes = sorted({len(gram) for gram in self._grams if gram})

    def decide(self, path: str) -> Rule | None:
        """The rule that decides about a normalised path and query; None where none matches."""
        best: Rule | None = None
        prefixes = self._prefixes
        for size in self._prefix_sizes:
            # A path shorter than `size` is looked up whole: if it is a prefix itself, it is the longest.
            if (best := prefixes.get(path[:size])) is not None:
                # `/fo*` counts its star, and so ties with `/foo`.
                starred = prefixes.get(best.pieces[0][:-1])
                if starred is not None and _rank(starred) < _rank(best):
                    best = starred
                break
        if self._exact and (exact := self._exact.get(path)) and (not best or _rank(exact) < _rank(best)):
            best = exact
        for needle, rule in self._candidates(path) if self._grams else self._wild:
            if needle in path and rule.matches(path):
                return rule if best is None or _rank(rule) < _rank(best) else best
        return best

    def _candidates(self, path: str) -> list[tuple[str, Rule]]:
        """The wildcard rules worth trying, by rank."""
        if len(self._gram_sizes) * len(path) > len(self._wild):
            return self._wild
        found = list(self._grams.get("", ()))
        for size in self._gram_sizes:
            for gram in {path[at : at + size] for at in range(len(path) - size + 1)}:
                found += self._grams.get(gram, ())
        found.sort(key=_rank_of_candidate)
        return found


def path_of(url: str) -> str:
    """Path and query of an absolute URL, or of a path, in the form in which rules are compared."""
    if found := _ordinary_url(url):
        return found[1]
    start = _authority(url)
    path = (url if start is None else url[start.end() :]).partition("#")[0]
    return normalise(path if path.startswith("/") else f"/{path}")


def normalise(text: str) -> str:
    """Percent-encode all but unreserved and reserved octets, and decode what needed no encoding (2.2.2).

    `*` and `$` are encoded too: in a URL they are plain characters, which a rule writes `%2A` and `%24`.
    """
    if _is_normal(text):
        return text
    out = bytearray()
    octets = _octets(text)
    at, end = 0, len(octets)
    while at < end:
        octet = octets[at]
        if octet == 0x25 and at + 2 < end and octets[at + 1] in _HEX and octets[at + 2] in _HEX:
            value = int(octets[at + 1 : at + 3], 16)
            out += bytes((value,)) if chr(value) in _UNRESERVED else b"%%%02X" % value
            at += 3
            continue
        if octet in _KEPT:
            out.append(octet)
        else:
            out += b"%%%02X" % octet
        at += 1
    return out.decode("ascii")


def _octets(text: str) -> bytes:
    """UTF-8, with undecodable octets of the file as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _compile(allow: bool, pattern: str) -> Iterator[Rule]:
    text = f"{'Allow' if allow else 'Disallow'}: {pattern}"
    if len(text) > _TOLD or not text.isprintable():
        text = text[:_TOLD].encode("utf-8", "replace").decode()
    while "**" in pattern:
        pattern = pattern.replace("**", "*")
    pattern = pattern.removesuffix("$") if pattern.endswith("*$") else pattern
    anchored = pattern.endswith("$")
    pieces = [normalise(piece) for piece in (pattern[:-1] if anchored else pattern).split("*")]
    size = sum(map(len, pieces)) + len(pieces) - 1 + anchored
    if len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    yield Rule(allow, text, size, tuple(pieces), anchored)
    directory, slash, name = pieces[-1].rpartition("/")
    if allow and slash and name.startswith("index.htm"):
        # As Google reads it: who allows a directory's index page allows the directory.
        shorter = (*pieces[:-1], directory + "/")
        yield Rule(allow, text, sum(map(len, shorter)) + len(shorter), shorter, anchored=True)


def _rank(rule: Rule) -> tuple[int, bool]:
    return (-rule.size, not rule.allow)


def _rank_of_candidate(candidate: tuple[str, Rule]) -> tuple[int, bool]:
    return _rank(candidate[1])


def _keep(rules: dict[_Key, Rule], key: _Key, rule: Rule) -> None:
    """Of rules with one pattern the one that ranks first is kept."""
    if (known := rules.get(key)) is None or _rank(rule) < _rank(known):
        rules[key] = rule


def _by_rarest_gram(candidates: list[tuple[str, Rule]]) -> dict[str, list[tuple[str, Rule]]]:
    """Group rules by a short piece of literal text that each must find, as rare a one as it has."""
    options = [(candidate, _grams(candidate[1])) for candidate in candidates]
    counts = Counter(gram for _, grams in options for gram in grams)
    index: dict[str, list[tuple[str, Rule]]] = {}
    for candidate, grams in options:
        index.setdefault(min(grams, key=counts.__getitem__, default=""), []).append(candidate)
    return index


def _grams(rule: Rule) -> set[str]:
    size = min(_GRAM, max(map(len, rule.pieces)))
    if not size:
        return set()
    return {piece[at : at + size] for piece in rule.pieces for at in range(len(piece) - size + 1)}
