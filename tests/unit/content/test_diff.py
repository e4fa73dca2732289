"""Unified diffs, as text and as data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.content.diff import Diff, diff, same

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-x", "@@"]), max_size=40)


def applied(before: str, made: Diff) -> str:
    """What a reader of the data makes of the older version."""
    old, out, at = before.split("\n"), [], 0
    for chunk in made.files[0]["chunks"]:
        for change in chunk["changes"]:
            place = change.get("ln1") or (change["ln"] if change["type"] == "del" else None)
            if place is not None:
                out += old[at : place - 1]
                assert old[place - 1] == change["content"][1:]
                at = place
            if change["type"] != "del":
                out.append(change["content"][1:])
                assert change.get("ln2", change.get("ln")) == len(out)
    return "\n".join([*out, *old[at:]])


def test_the_text_is_what_git_writes() -> None:
    made = diff("1\n2\n3\n4\n5\n6\n7\n8", "1\n2\n3\n4\nfive\n6\n7\n8")
    assert made.text == (
        "diff --git a/page.md b/page.md\n--- a/page.md\n+++ b/page.md\n"
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8"
    )


def test_the_data_names_lines_of_both_versions() -> None:
    (file,) = diff("one\ntwo", "one\n2\ntwo").files
    assert file == {
        "from": "page.md",
        "to": "page.md",
        "chunks": [
            {
                "content": "@@ -1,2 +1,3 @@",
                "changes": [
                    {"type": "normal", "normal": True, "ln1": 1, "ln2": 1, "content": " one"},
                    {"type": "add", "ln": 2, "content": "+2"},
                    {"type": "normal", "normal": True, "ln1": 2, "ln2": 3, "content": " two"},
                ],
            }
        ],
    }


def test_changes_far_from_one_another_are_chunks_of_their_own() -> None:
    old = [str(number) for number in range(40)]
    new = [*old[:5], "x", *old[6:30], "y", *old[31:]]
    heads = [chunk["content"] for chunk in diff("\n".join(old), "\n".join(new)).files[0]["chunks"]]
    assert heads == ["@@ -3,7 +3,7 @@", "@@ -28,7 +28,7 @@"]


@given(LINES, LINES)
def test_the_newer_version_follows_from_the_older_one_and_the_diff(before: list[str], after: list[str]) -> None:
    old, new = "\n".join(before), "\n".join(after)
    assert old == new or applied(old, diff(old, new)) == new


@pytest.mark.parametrize(
    ("before", "after", "equal"),
    [("a b", "ab", True), ("ab\n\nc", "c ba", True), ("ab", "abb", False), ("", "  \n", True), ("a", "A", False)],
)
def test_white_space_and_order_do_not_count(before: str, after: str, equal: bool) -> None:
    assert same(before, after) is equal


def test_texts_that_share_no_line_are_replaced_without_a_search() -> None:
    old, new = ("\n".join(f"{word} {n}" for n in range(6_000)) for word in ("old", "new"))
    changes: list[dict[str, Any]] = diff(old, new).files[0]["chunks"][0]["changes"]
    assert [change["type"] for change in changes] == ["del"] * 6_000 + ["add"] * 6_000
