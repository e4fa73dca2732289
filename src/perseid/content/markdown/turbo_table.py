"""Tables made rectangular in turbohtml's tree: spans filled, blocks in cells on one row, layout unfolded."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from turbohtml import Element, Text

from perseid.content.markdown.code import GUTTER_CLASSES
from perseid.content.markdown.grid import PLAIN, Cell, Place, is_number_run, plan

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCKS = """p div ul ol li dl dt dd pre blockquote section article h1 h2 h3 h4 h5 h6 figure figcaption center
    address details summary header footer main aside nav form hr fieldset table"""
_CELL_BLOCKS = frozenset(_BLOCKS.split())
_IN_CELL = _CELL_BLOCKS | {"br"}
_PARAGRAPHS = frozenset({"p", "div"})
_GROUPS = frozenset({"tbody", "thead", "tfoot"})
_CELLS = frozenset({"td", "th"})
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_WIDEST = 60


def settle_table(table: Any) -> None:
    """Make one table fit for a pipe table, or take its table markup away where it is only layout."""
    lines = _rows(table)
    rows = [[cell for cell in line.children if type(cell) is Element and cell.tag in _CELLS] for line in lines]
    if _unfold_code(table, rows):
        return
    widths = {len(row) for row in rows if row}
    special = list(table.iter_elements(_IN_CELL))
    if not widths or ((special or table.attr("role")) and _is_layout(table, rows)):
        _unfold(table)
        return
    if special:
        for cell, found in _by_cell(special, table, {cell for row in rows for cell in row}):
            _flatten_cell(cell, found)
    # One attribute at a time: a list of selectors takes longer than all its members.
    spanning = {*table.select("[colspan]"), *table.select("[rowspan]")}
    if len(widths) > 1 or spanning:
        _fill_spans(rows, spanning)
    _drop_empty(table, lines, rows)


def _by_cell(parts: list[Any], table: Any, cells: set[Any]) -> Iterable[tuple[Any, list[Any]]]:
    """The `cells` of `table` that hold some of `parts`, which all stand in it, with those."""
    found: dict[Any, list[Any]] = {}
    for part in parts:
        up = part.parent
        while up not in cells and up != table:
            up = up.parent
        if up in found:
            found[up].append(part)
        else:
            found[up] = [part]
    found.pop(table, None)
    return found.items()


def _drop_empty(table: Any, lines: list[Any], rows: list[list[Any]]) -> None:
    """Rows that only set others apart; a head of empty cells stays, since it is the head."""
    empty = [number for number, line in enumerate(lines) if not line.text.strip()]
    if not empty or table.select_one("img, input, x-raw, x-tex") is not None:
        return
    head = any(cell.tag == "th" for row in rows for cell in row)
    for number in empty:
        if number or not head or not len(lines[number]):
            lines[number].extract()


def _rows(table: Any) -> list[Any]:
    rows = []
    for child in table.children:
        if type(child) is Element:
            tag = child.tag
            if tag == "tr":
                rows.append(child)
            elif tag in _GROUPS:
                rows += [row for row in child.children if type(row) is Element and row.tag == "tr"]
    return rows


def _is_layout(table: Any, rows: list[list[Any]]) -> bool:
    if table.attr("role") in {"presentation", "none"}:
        return True
    cells = [cell for row in rows for cell in row]
    if len(cells) == 1:
        return True
    if any(cell.tag == "th" for cell in cells):
        return False
    if table.select_one("table") is not None or table.select_one(_HEADINGS) is not None:
        return True
    single = all(len(row) <= 1 for row in rows)
    return single and table.select_one("p + p, pre, ul, ol, blockquote, dl") is not None


def _unfold(table: Any) -> None:
    for part in table.select("tbody, thead, tfoot, tr, td, th, caption"):
        if part.closest("table") == table:
            part.tag = "div"
    table.tag = "div"


def _unfold_code(table: Any, rows: list[list[Any]]) -> bool:
    """A table that only sets line numbers beside code becomes the code."""
    if not rows:
        return False
    lines: list[str] = []
    for row in rows:
        if len(row) not in {1, 2, 3}:
            return False
        code = row[-1]
        if not all(_is_gutter(cell) for cell in row[:-1]) or (len(row) == 1 and len(rows) > 1 and not lines):
            return False
        if len(row) == 1 and "code" not in (code.attr("class") or "").lower():
            return False
        lines.append(code.text)
    if table.select_one("pre, code, .code, .blob-code, .hljs-ln-code, .crayon-code") is None:
        return False  # asked last: hardly a table comes that far
    holder = rows[0][-1]
    pre = holder.select_one("pre")
    if len(rows) == 1 and pre is not None:
        table.replace_with(pre)
    else:
        text = "\n".join(line.rstrip("\n") for line in lines)
        inner = holder.select_one("code")
        classes = " ".join(filter(None, (_class(inner), _class(holder), _class(table))))
        table.replace_with(Element("pre", {"class": classes}, [Text(text)]))
    return True


def _class(element: Any) -> str:
    return "" if element is None else element.attr("class") or ""


def _is_gutter(cell: Any) -> bool:
    classes = _class(cell)
    return (bool(classes) and not GUTTER_CLASSES.isdisjoint(classes.split())) or is_number_run(cell.text)


def _flatten_cell(cell: Any, found: list[Any]) -> None:
    """A pipe cell holds one line: its blocks become runs of text with a break between them."""
    if len(found) == 1 == len(cell) and found[0].tag in _PARAGRAPHS:
        found[0].unwrap()  # one paragraph that is all of the cell
        return
    if _holds_paragraphs(cell, len(found)):
        _join_paragraphs(cell)
        return
    inner = False
    for block in found:
        tag = block.tag
        if tag == "pre":
            _code_in_cell(block)
        elif tag == "table":
            _flatten_inner(block)
            inner = True
        elif tag != "br" and (up := block.parent) is not None:
            _set_apart(block, at_top=up == cell)
    if inner:
        for block in list(cell.iter_elements("div")):
            _set_apart(block, at_top=False)  # the rows of tables that stood in the cell
    _tidy_breaks(cell)


def _holds_paragraphs(cell: Any, count: int) -> bool:
    """Whether a cell with `count` blocks and breaks holds nothing but that many paragraphs."""
    for child in cell.children:
        if type(child) is Element:
            if child.tag not in _PARAGRAPHS:
                return False
            count -= 1
        elif type(child) is not Text or child.data.strip():
            return False
    return count == 0


def _join_paragraphs(cell: Any) -> None:
    """The quick way for most cells with blocks; comes to the same as setting each apart and tidying up."""
    seen = False
    for child in cell.children:
        if type(child) is Text:
            child.extract()
            continue
        first = _first_shown(child)
        if first is not None:
            if seen:
                child.insert_before(Element("br"))
                if type(first) is Text and (data := first.data)[0].isspace():
                    first.data = data.lstrip()
            seen = True
        child.unwrap()


def _first_shown(block: Any) -> Any:
    """What a reader sees first of a paragraph, None where that is nothing; blanks before it go."""
    for node in block.children:
        kind = type(node)
        if kind is Text:
            data = node.data
            if data and not data.isspace():
                return node
            node.extract()
        elif kind is Element and _shows(node):
            return node
    return None


def _set_apart(block: Any, *, at_top: bool) -> None:
    """Breaks in the place of a block's edges; at the top of a cell not those that would be dropped at once."""
    before = block.previous_sibling if at_top else block
    if before is not None and not (at_top and type(before) is Element and before.tag == "br"):
        block.insert_before(Element("br"))
    if not at_top or block.next_sibling is not None:
        block.insert_after(Element("br"))
    block.unwrap()


def _code_in_cell(pre: Any) -> None:
    """Code of several lines as a code span for each."""
    lines = pre.text.strip("\n").split("\n")
    if len(lines) > 1:
        parts: list[Any] = []
        for line in lines:
            parts += [Element("code", {}, [Text(line)]) if line.strip() else Text(""), Element("br")]
        pre.replace_with(*parts[:-1])
    elif pre.select_one("code") is not None:
        pre.unwrap()
    else:
        pre.tag = "code"


def _flatten_inner(table: Any) -> None:
    for part in table.select("td, th"):
        part.insert_after(Text(" "))
        part.unwrap()
    for row in table.select("tr"):
        row.tag = "div"
    for part in table.select("tbody, thead, tfoot, caption"):
        part.unwrap()
    table.unwrap()


def _tidy_breaks(cell: Any) -> None:
    """No breaks at the edges of a cell, and one at most between two runs of text."""
    pending: Any = None
    seen = False
    for node in list(cell.children):
        kind = type(node)
        if kind is Element and node.tag == "br":
            if not seen or pending is not None:
                node.extract()
            else:
                pending = node
        elif kind is Text and not node.data.strip():
            if pending is not None or not seen:
                node.extract()
        elif kind is Text or (kind is Element and _shows(node)):
            if pending is not None and kind is Text:
                node.data = node.data.lstrip()
            seen = True
            pending = None
    if pending is not None:
        pending.extract()


def _shows(node: Any) -> bool:
    text = node.text
    return bool(text and not text.isspace()) or node.tag == "img" or node.select_one("img") is not None


def _fill_spans(rows: list[list[Any]], spanning: set[Any]) -> None:
    """Make rows equally long; `spanning` are the cells that name a span."""
    spans = [[_spans(cell) if cell in spanning else PLAIN for cell in row] for row in rows]
    found = plan(spans)
    if found is None:
        return
    for number, (row, places) in enumerate(zip(rows, found, strict=True)):
        if not row:
            continue
        if isinstance(places, int):
            row[0].parent.extend([Element("td") for _ in range(places)])
        else:
            _fill_row(rows, number, places)
    for cell in spanning.intersection(chain.from_iterable(rows)):
        for name in ("colspan", "rowspan"):
            if cell.attr(name) is not None:
                del cell.attrs[name]


def _fill_row(rows: list[list[Any]], number: int, places: list[Place | None]) -> None:
    """Put cells that are missing between the row's own; those without a place go."""
    row = rows[number]
    parent = row[0].parent
    missing: list[Any] = []
    placed = 0
    for place in places:
        if place is None:
            missing.append(Element("td"))
        elif place[0] != number:
            missing.append(_copy(rows[place[0]][place[1]]))
        else:
            placed += 1  # in their order
            if missing:
                row[place[1]].insert_before(*missing)
                missing = []
    for cell in row[placed:]:
        cell.extract()
    if missing:
        parent.extend(missing)


def _copy(cell: Any) -> Element:
    text = cell.text.strip()
    return Element("td", {}, [Text(text)] if len(text) <= _WIDEST else [])


def _spans(cell: Any) -> Cell:
    return Cell(_span(cell.attr("colspan")), _span(cell.attr("rowspan")))


def _span(value: str | None) -> int:
    if value is None:
        return 1
    digits = value.strip()
    return int(digits) if digits.isdecimal() and len(digits) < 6 else 1
