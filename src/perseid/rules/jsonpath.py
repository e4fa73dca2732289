"""JSONPath (RFC 9535) over JSON values, bounded by the number of values it looks at."""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from itertools import islice
from typing import Any

from perseid.errors import MissingExtra
from perseid.pattern import later
from perseid.rules import regexes
from perseid.rules.regexes import Overrun

BUDGET = 250_000
"""Values that one path may look at: about two seconds."""
MAX_MATCHES = 100_000

_SIMPLE = later(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]{1,9}\])*\Z")
_STEP = later(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]")


def check(path: str) -> None:
    """Raises ValueError saying what is wrong with the path."""
    if _simple(path) is None:
        _compiled(path)


def evaluate(path: str, value: Any) -> list[Any]:
    """All that the path finds, in order. Raises Overrun where it looks at too much."""
    steps = _simple(path)
    if steps is not None:
        return _walk(steps, value)
    query, left = _compiled(path)
    left.count = BUDGET
    found: list[Any] = []
    try:
        found.extend(match.obj for match in islice(query.finditer(value), MAX_MATCHES + 1))
    except _Exhausted:
        raise _overrun(path) from None
    except Overrun:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the library raises at a strange document, the path fails
        raise ValueError(f"the JSONPath {path!r} can't be evaluated: {error}") from None
    if len(found) > MAX_MATCHES:
        raise _overrun(path)
    return found


@lru_cache(maxsize=2_000)
def _simple(path: str) -> tuple[str | int, ...] | None:
    """The steps of a path of names and numbers only, which most are."""
    if not _SIMPLE.match(path):
        return None
    return tuple(int(number) if number else name for name, number in _STEP.findall(path))


def _walk(steps: tuple[str | int, ...], value: Any) -> list[Any]:
    for step in steps:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return []
        elif not isinstance(value, list) or step >= len(value):
            return []
        value = value[step]
    return [value]


class _Exhausted(Exception):
    """More values were looked at than allowed."""


class _Left(threading.local):
    count = 0


@lru_cache(maxsize=500)
def _compiled(path: str) -> tuple[Any, _Left]:
    environment, left, fault = _environment()
    try:
        return environment.compile(path), left
    except fault as error:
        token = getattr(error, "token", None)
        at = getattr(token, "index", -1)
        where = f" at position {at}" if isinstance(at, int) and at >= 0 else ""
        said = str(error.args[0] if error.args else error).splitlines()[0]
        raise ValueError(f"{said}{where}") from None


@lru_cache(maxsize=1)
def _environment() -> tuple[Any, _Left, type[Exception]]:
    try:
        import jsonpath  # noqa: PLC0415  an optional extra
    except ImportError as error:
        raise MissingExtra("this JSONPath needs python-jsonpath: pip install 'perseid[rules]'") from error
    from jsonpath.function_extensions import ExpressionType, FilterFunction  # noqa: PLC0415  as above

    left = _Left()

    class Counted(jsonpath.JSONPathMatch):
        """Each value that a path touches is one of these."""

        __slots__ = ()

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            left.count -= 1
            if left.count < 0:
                raise _Exhausted
            super().__init__(*args, **kwargs)

    class Bounded(jsonpath.JSONPathEnvironment):
        match_class = Counted

        def is_truthy(self, obj: object) -> bool:
            left.count -= 1
            if left.count < 0:
                raise _Exhausted
            return super().is_truthy(obj)

    class Matching(FilterFunction):
        """`match` and `search` on our engine, with its deadline."""

        arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012  as the library wants it
        return_type = ExpressionType.LOGICAL

        def __init__(self, *, whole: bool) -> None:
            self._whole = whole

        def __call__(self, value: object, pattern: object) -> bool:
            if not (isinstance(value, str) and isinstance(pattern, str)):
                return False
            begun = time.perf_counter()
            try:
                return regexes.search(rf"\A(?:{pattern})\Z" if self._whole else pattern, value) is not None
            except ValueError:
                return False
            finally:  # a slow pattern uses up what the path may cost
                left.count -= int((time.perf_counter() - begun) * BUDGET)

    environment = Bounded(strict=True)
    environment.function_extensions["match"] = Matching(whole=True)
    environment.function_extensions["search"] = Matching(whole=False)
    return environment, left, jsonpath.JSONPathError


def _overrun(path: str) -> Overrun:
    return Overrun(f"the JSONPath {path[:80]!r} looks at more than {BUDGET} values; begin nearer to what is wanted")
