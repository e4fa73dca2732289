"""Include and exclude patterns of users: JavaScript's syntax, unanchored, and bounded in time.

A linear engine (RE2) matches where it is installed and knows the pattern; the rest runs on `regex` with a
deadline, since a pattern someone else wrote must not stall a worker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import regex  # type: ignore[import-untyped]  # its types are a package of their own

from perseid.errors import ConfigError
from perseid.links.javascript import SyntaxFault, translate

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    import re2
except ImportError:  # the optional extra
    re2 = None

TIMEOUT_S = 0.05
"""Of CPU time, for one pattern on one URL."""


class Patterns:
    """A list of patterns, compiled once. Blank ones are ignored.

    Raises ConfigError naming the first invalid pattern, the position of the fault and what to do.
    """

    def __init__(self, patterns: Sequence[str], *, linear: bool = True) -> None:
        self.sources = tuple(pattern for pattern in patterns if pattern.strip())
        self.warnings: list[str] = []
        """One sentence for each pattern that ran out of time, at its first overrun."""
        self._linear, self._ordinals = _linear_set(self.sources) if linear else (None, [])
        bounded = set(range(len(self.sources))) - set(self._ordinals)
        self._bounded = [(ordinal, _compile(self.sources[ordinal])) for ordinal in sorted(bounded)]
        self._overran: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.sources)

    def first_match(self, text: str) -> str | None:
        """The first pattern, in the order given, that is found anywhere in `text`; None if none is.

        A pattern that overruns its deadline does not match.
        """
        best = len(self.sources)
        if self._linear is not None and (found := self._linear.Match(text)):
            best = self._ordinals[min(found)]
        for ordinal, compiled in self._bounded:
            if ordinal > best:
                break
            if self._found(ordinal, compiled, text):
                return self.sources[ordinal]
        return self.sources[best] if best < len(self.sources) else None

    def _found(self, ordinal: int, compiled: Any, text: str) -> bool:
        try:
            return compiled.search(text, timeout=TIMEOUT_S) is not None
        except TimeoutError:
            if ordinal not in self._overran:
                self._overran.add(ordinal)
                self.warnings.append(
                    f"The pattern {self.sources[ordinal]!r} took more than {TIMEOUT_S * 1000:.0f} ms on "
                    f"{text[:200]!r} and counts as not matching there; nested repeats such as (a+)+ are the "
                    "usual cause."
                )
            return False


def check(pattern: str) -> str:
    """`pattern` translated for the engines; raises ConfigError if JavaScript would refuse it."""
    try:
        translated = translate(pattern)
        _compiled(translated)
    except SyntaxFault as fault:
        raise _config_error(pattern, str(fault), fault.position) from None
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as fault:
        raise _config_error(
            pattern, str(fault) or "it nests too deeply", getattr(fault, "pos", None)
        ) from None
    return translated


def from_glob(glob: str) -> str:
    """The pattern that means what a shell would by `glob`: `*` any run, `?` one character, `\\` escapes.

    >>> from_glob("/blog/*.html")
    '^/blog/.*\\\\.html$'
    """
    parts = re.findall(r"\\.|.", glob, re.DOTALL)
    words = {"*": ".*", "?": "."}
    return "^" + "".join(words.get(part) or re.escape(part.removeprefix("\\")) for part in parts) + "$"


def _compiled(translated: str) -> Any:
    return regex.compile(translated, regex.ASCII | regex.VERSION0, cache_pattern=False)


def _compile(pattern: str) -> Any:
    return _compiled(check(pattern))


def _linear_set(patterns: Sequence[str]) -> tuple[Any, list[int]]:
    """RE2 over all the patterns it can read, at once, and which of `patterns` they are."""
    translated = [check(pattern) for pattern in patterns]
    if re2 is None or not patterns:
        return None, []
    options = re2.Options()
    options.log_errors = False
    ordinals: list[int] = []
    engine = re2.Set.SearchSet(options)
    for ordinal, text in enumerate(translated):
        try:
            re2.compile(text, options)
        except re2.error:
            continue
        engine.Add(text)
        ordinals.append(ordinal)
    if not ordinals:
        return None, []
    engine.Compile()
    return engine, ordinals


def _config_error(pattern: str, fault: str, position: int | None) -> ConfigError:
    place = "" if position is None else f" at position {position}"
    if _looks_like_glob(pattern):
        advice = f"It looks like a glob; as a regular expression that is {from_glob(pattern)!r}."
    else:
        advice = "Patterns are JavaScript regular expressions; put a backslash before a special character."
    return ConfigError(f"The pattern {pattern!r} is not valid{place}: {fault}. {advice}")


def _looks_like_glob(pattern: str) -> bool:
    return pattern.startswith(("*", "?")) or "/**" in pattern
