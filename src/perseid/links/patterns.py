"""Include and exclude patterns of users: JavaScript's syntax, unanchored, and bounded in time.

A linear engine (RE2) matches where it is installed and knows the pattern; the rest runs on `regex` with a
deadline, since a pattern someone else wrote must not stall a worker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from perseid.errors import ConfigError
from perseid.links.javascript import PatternSyntaxError, translate

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S = 0.05
"""For one pattern on one URL."""

MAX_OVERRUNS = 200
"""After which a pattern is given up, so that one bad pattern costs a crawl no more than ten seconds."""

_CLIP = 200
"""Characters of a pattern or URL that a message quotes."""


class Patterns:
    """A list of patterns, compiled once. Blank ones are ignored.

    Raises ConfigError naming the first invalid pattern, the position of the fault and what to do. With
    `linear` False all patterns run on the engine with the deadline.
    """

    def __init__(self, patterns: Sequence[str], *, linear: bool = True) -> None:
        self.sources = tuple(pattern for pattern in patterns if pattern.strip())
        self.warnings: list[str] = []
        """Sentences for each pattern that ran out of time: at its first overrun, and when it is given up."""
        compiled = [_compile(source) for source in self.sources]
        self._linear: Any = None
        self._ordinals: list[int] = []
        """Which of the patterns the linear engine holds, by its own numbering."""
        if linear and compiled:
            self._linear, self._ordinals = _linear_set([each.pattern for each in compiled])
        self._bounded = [(ordinal, each) for ordinal, each in enumerate(compiled) if ordinal not in self._ordinals]
        self._overruns = dict.fromkeys(range(len(self.sources)), 0)

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
        if self._overruns[ordinal] >= MAX_OVERRUNS:
            return False
        try:
            return compiled.search(text, timeout=TIMEOUT_S) is not None
        except TimeoutError:
            self._note_overrun(ordinal, text)
            return False

    def _note_overrun(self, ordinal: int, text: str) -> None:
        self._overruns[ordinal] += 1
        name = f"The pattern {clipped(self.sources[ordinal])!r}"
        if self._overruns[ordinal] == 1:
            self.warnings.append(
                f"{name} took more than {TIMEOUT_S * 1000:.0f} ms on {clipped(text)!r} and counts as not "
                "matching there; nested repeats such as (a+)+ are the usual cause."
            )
        elif self._overruns[ordinal] == MAX_OVERRUNS:
            self.warnings.append(f"{name} was too slow {MAX_OVERRUNS} times and is no longer tried.")


def from_glob(glob: str) -> str:
    r"""The pattern that means what a shell would by `glob`: `*` any run, `?` one character, `\` escapes.

    >>> from_glob("/blog/*.html")
    '^/blog/.*\\.html$'
    """
    parts = re.findall(r"\\.|.", glob, re.DOTALL)
    words = {"*": ".*", "?": "."}
    body = "".join(words.get(part) or _literal(part[-1]) for part in parts)
    return f"^{body}$".replace(".*.*", ".*")


def instead_of(glob: str) -> str:
    """The pattern to advise where somebody wrote a glob. Paths begin with a slash, which many leave out of one."""
    return from_glob(clipped(glob if glob.startswith(("/", "*", "?")) or "://" in glob else f"/{glob}"))


def looks_like_glob(pattern: str) -> bool:
    """Whether someone meant a glob: it begins with a star, or a star follows a slash (`/blog/*`)."""
    return pattern.startswith(("*", "?")) or "/*" in pattern


def clipped(text: str) -> str:
    return text if len(text) <= _CLIP else f"{text[:_CLIP]}…"


def _literal(char: str) -> str:
    return f"\\{char}" if char in r"\^$.|?*+()[]{}" else char


def _compile(pattern: str) -> Any:
    import regex  # type: ignore[import-untyped]  # noqa: PLC0415  # no types; slow to import, and few have patterns

    try:
        return regex.compile(translate(pattern), regex.ASCII | regex.VERSION0, cache_pattern=False)
    except PatternSyntaxError as fault:
        raise _config_error(pattern, f"at position {fault.position} {fault}") from None
    except RecursionError:
        raise _config_error(pattern, "its groups nest too deeply") from None
    except (regex.error, OverflowError, MemoryError, ValueError) as fault:
        reason = getattr(fault, "msg", None) or str(fault)
        place = getattr(fault, "pos", None)
        # The engine counts in the translated pattern, which is a little longer than the one written.
        where = "" if place is None else f"near position {min(place, len(pattern))} "
        raise _config_error(pattern, where + reason) from None


def _linear_set(translated: Sequence[str]) -> tuple[Any, list[int]]:
    """RE2 over all the patterns it can read, at once, and which of them those are; none where it is not installed."""
    try:
        import re2  # type: ignore[import-untyped]  # noqa: PLC0415  ships no types; start-up time
    except ImportError:  # the optional extra
        return None, []
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    ordinals: list[int] = []
    engine = re2.Set.SearchSet(options)
    for ordinal, text in enumerate(translated):
        try:
            engine.Add(text)
        except re2.error:
            continue
        ordinals.append(ordinal)
    if not ordinals:
        return None, []
    engine.Compile()
    return engine, ordinals


def _config_error(pattern: str, fault: str) -> ConfigError:
    if looks_like_glob(pattern):
        advice = f"It looks like a glob; as a regular expression that is {instead_of(pattern)!r}."
    else:
        advice = "Patterns are JavaScript regular expressions; put a backslash before a special character."
    return ConfigError(f"The pattern {clipped(pattern)!r} is not valid: {fault}. {advice}")
