"""A small forest of decision trees over block features, read from `forest.txt` and compiled on first use.

Each line of the file is one tree in prefix order: `feature threshold left right`, where a leaf is a signed
number. A row goes left where its feature is at most the threshold; `small:nav` asks whether that sign is absent.
The leaves a row reaches sum up to the log-odds that its block is main content. `benchmarks/train_blocks.py`
writes the file.
"""

from __future__ import annotations

from functools import lru_cache
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perseid.content import signs
from perseid.content.features import COUNTS, OF_PAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perseid.content.features import Columns

FILE = Path(__file__).with_name("forest.txt")

_SURE = 3.5
"""Log-odds beyond which the rest of the trees is not asked."""


def log_odds(columns: Columns) -> list[float]:
    """For each row, the log-odds that the block belongs to the main content."""
    used, judge = _compiled()
    return judge(*[columns[name] for name in used])


@lru_cache(maxsize=1)
def _compiled() -> tuple[list[str], Callable[..., list[float]]]:
    """The columns the forest asks for, and the forest as one Python function over them."""
    trees = [line.split() for line in FILE.read_text("ascii").splitlines() if line and line[0] != "#"]
    variables: dict[str, str] = {}
    body: list[str] = []
    for number, tree in enumerate(trees):
        if number in {len(trees) // 4, len(trees) // 2}:
            body += [f"  if not -{_SURE} < y < {_SURE}:", "   out.append(y)", "   continue"]
        rest = _emit(tree, 0, 2, variables, body)
        if rest != len(tree):
            raise ValueError(f"forest.txt: a tree has {len(tree) - rest} tokens too many")
    names = list(variables)
    arguments = ", ".join(f"c{j}" for j in range(len(names)))
    of_page = [j for j, name in enumerate(names) if name in OF_PAGE]
    of_rows = [j for j in range(len(names)) if j not in of_page]
    source = "\n".join(
        [
            f"def judge({arguments}):",
            " out = []",
            *[f" x{j} = c{j}[0]" for j in of_page],
            f" for {', '.join(f'x{j}' for j in of_rows)}, in zip({', '.join(f'c{j}' for j in of_rows)}):",
            "  y = 0.0",
            *body,
            "  out.append(y)",
            " return out",
        ]
    )
    scope: dict[str, Any] = {}
    # The source is made of numbers and our own variable names: twenty times faster than walking tables.
    exec(compile(source, str(FILE), "exec"), scope)  # noqa: S102 - our own packaged table, made into code once for speed
    return names, scope["judge"]


def _emit(tree: Sequence[str], at: int, depth: int, variables: dict[str, str], body: list[str]) -> int:
    """Append the statements of the subtree at token `at`; returns the token after it."""
    indent = " " * depth
    token = tree[at]
    if token[0] in "+-":
        body.append(f"{indent}y += {float(token)!r}")
        return at + 1
    name, _, sign = token.partition(":")
    variable = variables.setdefault(name, f"x{len(variables)}")
    if sign:
        body.append(f"{indent}if not {variable} & {signs.BITS[sign]}:")
    else:
        # Numbers of one type are compared several times as fast as those of two.
        most = float(tree[at + 1])
        body.append(f"{indent}if {variable} <= {floor(most) if name in COUNTS else most!r}:")
    rest = _emit(tree, at + 2, depth + 1, variables, body)
    body.append(f"{indent}else:")
    return _emit(tree, rest, depth + 1, variables, body)
