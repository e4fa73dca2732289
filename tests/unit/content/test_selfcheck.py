"""Damage that is seeded into good documents must be noticed, and good documents left alone."""

from __future__ import annotations

import gzip
import random
import re
from typing import TYPE_CHECKING

import pytest

from perseid.content.main import main_content
from perseid.content.markdown import to_markdown
from perseid.content.pipeline import Built, Page, build
from perseid.content.resolver import Resolver
from perseid.content.selfcheck import Source, check, source_of
from perseid.dom.tree import parse
from perseid.model.options import ScrapeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Damage = Callable[[str, random.Random], str | None]

URL = "https://docs.example/en/page.html"


def drop_fence(text: str, chance: random.Random) -> str | None:
    places = [match.span() for match in re.finditer(r"^```\w*\n", text, re.MULTILINE)]
    if not places:
        return None
    start, end = chance.choice(places)
    return text[:start] + text[end:]


def drop_cell(text: str, chance: random.Random) -> str | None:
    if "```" in text and "\n|" in "".join(re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)):
        return None  # the row might be one of the code
    rows = [
        match
        for match in re.finditer(r"^\| .* \| .* \|$", text, re.MULTILINE)
        if "---" not in match[0] and "`" not in match[0]
    ]
    if not rows:
        return None
    row = chance.choice(rows)
    cells = row[0].strip("| ").split(" | ")
    return text[: row.start()] + f"| {' | '.join(cells[:-1])} |" + text[row.end() :]


def drop_table_dashes(text: str, _chance: random.Random) -> str | None:
    match = re.search(r"^\| --- .*\n(?=\|)", text, re.MULTILINE)
    return None if match is None else text[: match.start()] + text[match.end() :]


def flatten_code(text: str, _chance: random.Random) -> str | None:
    blocks = list(re.finditer(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL))
    if sum(match[0].count("\n") for match in blocks) < 12:
        return None
    return re.sub(
        r"^(```\w*\n)(.*?)(\n```)$",
        lambda match: match[1] + " ".join(match[2].split()) + match[3],
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def dedent_code(text: str, _chance: random.Random) -> str | None:
    code = re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)
    if sum(block.count("\n  ") for block in code) < 8:
        return None
    return re.sub(
        r"^```.*?^```$", lambda match: re.sub(r"\n[ \t]+", "\n", match[0]), text, flags=re.MULTILINE | re.DOTALL
    )


def decode_twice(text: str, _chance: random.Random) -> str | None:
    if sum(char > "\x7f" for char in text) < 5:
        return None
    return text.encode().decode("cp1252", "replace")


def lose_characters(text: str, _chance: random.Random) -> str | None:
    wide = [char for char in text if char > "\x7f"]
    return re.sub(r"[^\x00-\x7f]", "\ufffd", text) if len(wide) > 5 else None


def drop_half(text: str, chance: random.Random) -> str | None:
    blocks = text.split("\n\n")
    if len(text.split()) < 200 or len(blocks) < 6:
        return None
    half = len(blocks) // 2
    return "\n\n".join(blocks[:half] if chance.random() < 0.5 else blocks[half:])


def drop_every_other_line(text: str, _chance: random.Random) -> str | None:
    lines = text.split("\n\n")
    return "\n\n".join(lines[::2]) if len(text.split()) > 400 and len(lines) > 10 else None


def relative_links(text: str, _chance: random.Random) -> str | None:
    return text.replace("](https://docs.example/", "](/") if "](https://docs.example/" in text else None


def placeholder_images(text: str, _chance: random.Random) -> str | None:
    return (
        re.sub(r"(!\[[^\]]*\])\([^)]*\)", r"\1(data:image/gif;base64,R0lGODlhAQABAAAAACw=)", text)
        if "![" in text
        else None
    )


def raw_markup(text: str, _chance: random.Random) -> str | None:
    return text + '\n\n<div class="x"><span>left over</span></div>\n'


def control_characters(text: str, _chance: random.Random) -> str | None:
    return text[: len(text) // 2] + "\x00\x1f" + text[len(text) // 2 :]


def lone_surrogate(text: str, _chance: random.Random) -> str | None:
    return text + "\ud800"


def empty(_text: str, _chance: random.Random) -> str | None:
    return " \n"


def escaped_twice(text: str, _chance: random.Random) -> str | None:
    return text + "\n\nFish &amp;amp; chips &lt;b&gt; &nbsp; &quot;x&quot;\n"


DAMAGES: tuple[Damage, ...] = (
    drop_fence, drop_cell, drop_table_dashes, flatten_code, dedent_code, decode_twice, lose_characters, drop_half,
    drop_every_other_line, relative_links, placeholder_images, raw_markup, control_characters, lone_surrogate,
    empty, escaped_twice,
)  # fmt: skip


DAMAGED_AT_SOURCE = (b"&amp;#", b"&amp;amp;", b"\xc3\xa2\xc2\x80", *("Ã¼ Ã© Â´ Ã± Â\xa0".encode().split()))
"""What pages hold that their own authors escaped or encoded twice; a browser shows it just the same."""


def good_pages(shared: Path, every: int) -> Iterator[tuple[str, Source]]:
    """Documents with nothing to warn of, and the counts of their pages."""
    for path in sorted((shared / "data" / "extraction").glob("*/html/*.gz"))[::every]:
        tree = parse(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
        node = main_content(tree, url=URL).node
        source = source_of(tree, [node])
        markdown = to_markdown(tree, [node], Resolver(URL))
        if not check(markdown, source):
            yield markdown, source


def test_nine_of_ten_damages_are_noticed(shared: Path) -> None:
    chance = random.Random(7)
    seeded: dict[str, list[bool]] = {}
    for markdown, source in good_pages(shared, 6):
        for damage in DAMAGES:
            bad = damage(markdown, chance)
            if bad is not None and bad != markdown:
                seeded.setdefault(damage.__name__, []).append(bool(check(bad, source)))
    shares = {name: sum(found) / len(found) for name, found in seeded.items()}
    assert len(shares) == len(DAMAGES)
    assert {name: share for name, share in shares.items() if share < 0.9} == {}


def test_under_two_in_a_hundred_clean_pages_are_flagged(shared: Path) -> None:
    flagged = []
    clean = 0
    paths = sorted((shared / "data" / "extraction").glob("*/html/*.gz"))[::2]
    for path in paths:
        # The collection is stored as UTF-8, whatever the pages once said of themselves.
        body = gzip.decompress(path.read_bytes()).decode("utf-8", "replace").encode()
        if any(trace in body for trace in DAMAGED_AT_SOURCE):
            continue
        clean += 1
        headers = (("content-type", "text/html; charset=utf-8"),)
        built = build(Page(URL, URL, 200, headers, body, 0), ScrapeOptions(), in_child=True)
        assert isinstance(built, Built)
        if built.document.warnings:
            flagged.append((path.name, built.document.warnings))
    assert clean > 300
    assert len(flagged) < 0.02 * clean, flagged


def test_the_share_that_is_kept_of_a_long_page_is_told_exactly() -> None:
    tree = parse("<p>" + "letters and, then. " * 2000 + "<select>" + "not counted " * 500 + "</select>")
    source = source_of(tree, [tree.body])
    assert source.exact() == 14 * 2000
    assert source.size == pytest.approx(source.exact(), rel=0.1)
    assert check("letters and, then. " * 1799, source) == [
        "kept: only about 90% of the text on the page is in the markdown"
    ]
    assert check("letters and, then. " * 1800, source) == []


@pytest.mark.parametrize(
    ("markdown", "word"),
    [
        ("```\na\n", "fence"),
        ("- x\n\n  ```py\n  a\n", "fence"),
        ("| a | b |\n| --- | --- |\n| c |", "table"),
        ("| a | b |\n| c | d |", "table"),
        ("> | a | b |\n> | --- |\n> | c | d |", "table"),
        ("1. | a | b |\n   | --- | --- |\n   | c |", "table"),
        ("a\x02b", "control"),
        ('good [a](https://x.example/ "t") text\x1f', "control"),
        ("[a](../b)", "links"),
        ("[![a](data:image/gif;base64,R0==)](https://x.example/)", "images"),
        ("", "empty"),
    ],
)
def test_each_fault_has_its_word(markdown: str, word: str) -> None:
    assert [warning.split(":")[0] for warning in check(markdown)][:1] == [word]


@pytest.mark.parametrize(
    "markdown",
    [
        "````\n```\n````",
        "```md\n[a](b) | c\n| d\n```",
        "`[a](b)` and `</div>`",
        "the member operator\\[\\](int) is here",
        "| a \\| b | c |\n| --- | --- |\n| `x` | y |",
        "- | a | b |\n  | --- | --- |\n  | c | d |\n- | a |\n  | --- |\n  | b |",
        "[m](mailto:a@b.example) [t](tel:+1) ![i](https://x.example/i.png)",
        "Ünïcödé — “quoted” text, Ärger, Élan, ÀÉÎÕÜ, Привет РОССИЯ, 漢字",
    ],
)
def test_good_markdown_is_left_alone(markdown: str) -> None:
    assert check(markdown) == []
