"""What changed between two versions of a text: as a unified diff, and the same as data."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAME = "page.md"
_CONTEXT = 3
_MOST_PAIRS = 25_000_000
"""Changed stretches of more lines against lines than this are told as replaced altogether."""

Opcode = tuple[str, int, int, int, int]


class Diff(NamedTuple):
    """`text` as git writes it; `files` is what parsers of such diffs commonly make of it."""

    text: str
    files: list[dict[str, Any]]


def same(before: str, after: str) -> bool:
    """Whether two versions say the same: white space and the order of characters don't count."""
    return before == after or sorted("".join(before.split())) == sorted("".join(after.split()))


def diff(before: str, after: str) -> Diff:
    old, new = before.split("\n"), after.split("\n")
    chunks = [_chunk(old, new, group) for group in _grouped(_opcodes(old, new))]
    lines = [f"diff --git a/{NAME} b/{NAME}", f"--- a/{NAME}", f"+++ b/{NAME}"]
    for chunk in chunks:
        lines += (chunk["content"], *(change["content"] for change in chunk["changes"]))
    return Diff("\n".join(lines), [{"from": NAME, "to": NAME, "chunks": chunks}])


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Steps from `old` to `new`; what both begin and end with is set aside first, for speed."""
    shorter = min(len(old), len(new))
    lead = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    most = shorter - lead
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    first, second = old[lead : len(old) - tail], new[lead : len(new) - tail]
    steps: list[Opcode] = [("equal", 0, lead, 0, lead)] if lead else []
    if len(first) * len(second) > _MOST_PAIRS:
        steps.append(("replace", lead, lead + len(first), lead, lead + len(second)))
    else:
        found = SequenceMatcher(None, first, second).get_opcodes()
        steps += [(tag, i1 + lead, i2 + lead, j1 + lead, j2 + lead) for tag, i1, i2, j1, j2 in found]
    if tail:
        steps.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return steps


def _grouped(steps: list[Opcode]) -> Iterator[list[Opcode]]:
    """Changes with the lines round them, in one group where those meet."""
    group: list[Opcode] = []
    for at, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        first, last = not group, at == len(steps) - 1
        if not first and (last or i2 - i1 > 2 * _CONTEXT):
            size = min(_CONTEXT, i2 - i1)
            yield [*group, (tag, i1, i1 + size, j1, j1 + size)]
            group, first = [], True
        if not last:
            size = min(_CONTEXT, i2 - i1) if first else i2 - i1
            group.append((tag, i2 - size, i2, j2 - size, j2))
    if any(step[0] != "equal" for step in group):
        yield group


def _chunk(old: Sequence[str], new: Sequence[str], group: list[Opcode]) -> dict[str, Any]:
    changes: list[dict[str, Any]] = []
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            changes += [
                {"type": "normal", "normal": True, "ln1": i1 + n + 1, "ln2": j1 + n + 1, "content": f" {line}"}
                for n, line in enumerate(old[i1:i2])
            ]
            continue
        changes += [{"type": "del", "ln": n + 1, "content": f"-{old[n]}"} for n in range(i1, i2)]
        changes += [{"type": "add", "ln": n + 1, "content": f"+{new[n]}"} for n in range(j1, j2)]
    left, right = _range(group[0][1], group[-1][2]), _range(group[0][3], group[-1][4])
    return {"content": f"@@ -{left} +{right} @@", "changes": changes}


def _range(start: int, end: int) -> str:
    """As in a hunk's head: an empty range is named by the line before it."""
    size = end - start
    return f"{start + 1}" if size == 1 else f"{start + 1 if size else start},{size}"
