"""The process that reads large pages by a rule: `python -m perseid.rules.child`.

One question on stdin, an `Extraction` as JSON on stdout; limits are set before a byte of the page is looked at.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import msgspec

from perseid.content.child import limit
from perseid.model.rule import PageKind, Rule

MODULE = "perseid.rules.child"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One line of JSON; the page's body follows as the rest. `fetched_at` is µs."""

    memory_bytes: int
    cpu_s: int
    rule: Rule
    url: str
    headers: dict[str, str]
    fetched_at: int
    kind: PageKind
    list_page: int


def main() -> int:
    stdin = sys.stdin.buffer
    question = msgspec.json.decode(stdin.readline(), type=Question)
    limit(question.memory_bytes, question.cpu_s)
    try:
        from perseid.rules.extracting import extract  # noqa: PLC0415 - under the limits
        from perseid.rules.page import Page  # noqa: PLC0415 - the same

        at = datetime.fromtimestamp(question.fetched_at / 1_000_000, UTC)
        page = Page(question.url, stdin.read(), headers=question.headers, fetched_at=at)
        made = msgspec.json.encode(extract(question.rule, page, question.kind, list_page=question.list_page))
    except MemoryError:
        return 3
    sys.stdout.buffer.write(made)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
