"""Tables for our own writer: rectangular pipe tables, and layout tables unfolded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content.markdown.grid import Cell, fill, is_number_run
from perseid.content.markdown.inline import BLOCKS, BREAK, SKIPPED, code_span
from perseid.dom.tree import OTHER, TEXT
from perseid.pattern import later

if TYPE_CHECKING:
    from perseid.content.markdown.writer import Writer
    from perseid.dom.tree import Node, Tree

_HEADINGS = "h1, h2, h3, h4, h5, h6"
_WIDEST = 60
_BREAKS = later(f"(?: *{BREAK} *)+")
_CODE_CSS = "pre, code, .code, .blob-code, .hljs-ln-code, .crayon-code"


class Tables:
    """Renders the tables of one tree with the inline part of a writer."""

    def __init__(self, tree: Tree, writer: Writer) -> None:
        self.tree = tree
        self.writer = writer

    def block(self, table: Node, depth: int) -> list[str]:
        tree = self.tree
        rows = [row for row in self._rows(table) if row]
        code = self._code(table, rows)
        if code is not None:
            return code
        caption = [node for node in tree.elements(table) if tree.tag(node) == "caption"]
        above = [block for node in caption for block in self.writer.flow(tree.children(node), depth)]
        if not rows:
            return above
        if self._is_layout(table, rows):
            return above + [
                block for row in rows for cell in row for block in self.writer.flow(tree.children(cell), depth)
            ]
        return [*above, self._pipes(rows)]

    def _rows(self, table: Node) -> list[list[Node]]:
        tree = self.tree
        rows = []
        for child in tree.elements(table):
            tag = tree.tag(child)
            if tag == "tr":
                rows.append(child)
            elif tag in {"tbody", "thead", "tfoot"}:
                rows += [row for row in tree.elements(child) if tree.tag(row) == "tr"]
        return [[cell for cell in tree.elements(row) if tree.tag(cell) in {"td", "th"}] for row in rows]

    def _is_layout(self, table: Node, rows: list[list[Node]]) -> bool:
        tree = self.tree
        if tree.attr(table, "role") in {"presentation", "none"}:
            return True
        cells = [cell for row in rows for cell in row]
        if len(cells) == 1:
            return any(tree.tag(node) in BLOCKS or tree.tag(node) == "br" for node in tree.walk(cells[0]))
        if any(tree.tag(cell) == "th" for cell in cells):
            return False
        if tree.first("table", table) is not None or tree.first(_HEADINGS, table) is not None:
            return True
        single = all(len(row) <= 1 for row in rows)
        return single and tree.first("p + p, pre, ul, ol, blockquote, dl", table) is not None

    def _code(self, table: Node, rows: list[list[Node]]) -> list[str] | None:
        """A table that only sets line numbers beside code is the code."""
        tree = self.tree
        if not rows or tree.first(_CODE_CSS, table) is None:
            return None
        for row in rows:
            if len(row) > 3 or not all(self._is_gutter(cell) for cell in row[:-1]):
                return None
            if len(row) == 1 and "code" not in (tree.attr(row[-1], "class") or "").lower():
                return None
        holder = rows[0][-1]
        pre = tree.first("pre", holder)
        if len(rows) == 1 and pre is not None:
            return self.writer.code_block(pre)
        text = "\n".join(self.writer.code_text(row[-1]).rstrip("\n") for row in rows)
        inner = tree.first("code", holder)
        language = self.writer.code_language(holder if inner is None else inner)
        return [f"```{language}\n{text}\n```"] if text.strip() else []

    def _is_gutter(self, cell: Node) -> bool:
        return self.writer.is_gutter(cell) or is_number_run(self.tree.text(cell))

    def _pipes(self, rows: list[list[Node]]) -> str:
        tree = self.tree
        spans = [
            [Cell(_span(tree.attr(cell, "colspan")), _span(tree.attr(cell, "rowspan"))) for cell in row] for row in rows
        ]
        texts = [[self._cell(cell) for cell in row] for row in rows]
        plan = fill(spans)
        if plan is None:
            width = max(len(row) for row in texts)
            lines = [row + [""] * (width - len(row)) for row in texts]
        else:
            lines = [[self._placed(texts, number, place) for place in places] for number, places in enumerate(plan)]
        if len(lines) > 1:
            head = any(tree.tag(cell) == "th" for row in rows for cell in row)
            lines = [line for number, line in enumerate(lines) if any(line) or (head and not number)] or lines[:1]
        rendered = [f"| {' | '.join(line)} |" for line in lines]
        rendered.insert(1, f"| {' | '.join(['---'] * len(lines[0]))} |")
        return "\n".join(rendered)

    def _placed(self, texts: list[list[str]], number: int, place: tuple[int, int] | None) -> str:
        if place is None:
            return ""
        text = texts[place[0]][place[1]]
        return text if place[0] == number or len(text) <= _WIDEST else ""

    def _cell(self, cell: Node) -> str:
        parts: list[str] = []
        run: list[Node] = []
        self._cell_parts(cell, parts, run, 0)
        self._close(run, parts)
        text = "<br>".join(parts)
        return text.replace("|", "\\|")

    def _cell_parts(self, node: Node, parts: list[str], run: list[Node], depth: int) -> None:
        """The lines of a cell: each block in it is one of its own."""
        tree = self.tree
        for child in tree.children(node):
            tag = tree.tag(child)
            if tag == OTHER or tag in SKIPPED:
                continue
            if tag == "pre":
                self._close(run, parts)
                lines = self.writer.code_text(child).strip("\n").split("\n")
                parts += [code_span(line) for line in lines if line.strip()]
            elif tag == "tr":
                self._close(run, parts)
                cells = [self.writer.inline.run(tree.children(part)).strip() for part in tree.elements(child)]
                parts.append(" ".join(filter(None, cells)))
            elif tag in BLOCKS and depth < 50:
                self._close(run, parts)
                self._cell_parts(child, parts, run, depth + 1)
                self._close(run, parts)
            elif tag != TEXT or run or tree.data(child).strip():
                run.append(child)

    def _close(self, run: list[Node], parts: list[str]) -> None:
        if run:
            text = self.writer.inline.run(run).strip(f" {BREAK}")
            parts += [line for line in _BREAKS.split(text) if line]
            run.clear()


def _span(value: str | None) -> int:
    digits = (value or "").strip()
    return int(digits) if digits.isdecimal() and len(digits) < 6 else 1
