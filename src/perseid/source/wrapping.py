"""A part of the rows of any SELECT, as a statement around it."""

from __future__ import annotations

from perseid.ports.source import Query


def statement(query: Query, parameter: str) -> tuple[str, tuple[int | str, ...]]:
    """The statement and its values; `parameter` is how the driver writes the first one.

    The query stands on lines of its own, so that a comment at its end ends there.
    """
    own = query.text.strip().rstrip(";").rstrip()
    inner = f"SELECT * FROM (\n{own}\n) AS q"  # noqa: S608  who wrote it may read what the operator's connection may
    if query.key is None:
        return f"{inner} LIMIT {query.limit} OFFSET {query.offset}", ()
    key = '"' + query.key.replace('"', '""') + '"'
    if query.after is None:
        return f"{inner} WHERE q.{key} IS NOT NULL ORDER BY q.{key} LIMIT {query.limit}", ()
    return f"{inner} WHERE q.{key} > {parameter} ORDER BY q.{key} LIMIT {query.limit}", (query.after,)
