from __future__ import annotations

import pytest

from perseid.content.textual import fenced, json_markdown, markdown_title, text_markdown


def test_json_is_indented_and_fenced() -> None:
    assert json_markdown('{"a":[1]}') == ('```json\n{\n  "a": [\n    1\n  ]\n}\n```', None)


@pytest.mark.parametrize("text", ["{", '{"a": "\\ud800"}', "[" * 100_000])
def test_broken_json_stays_as_it_is_with_a_warning(text: str) -> None:
    markdown, warning = json_markdown(text)
    assert text in markdown
    assert warning


def test_a_fence_is_longer_than_any_within() -> None:
    assert fenced("````\nx", "").startswith("`````\n")


def test_source_code_is_fenced_and_plain_text_is_not() -> None:
    assert text_markdown("a{b:c}", "text/css; charset=utf-8") == "```css\na{b:c}\n```"
    assert text_markdown("\nplain\n", "text/plain") == "plain"


@pytest.mark.parametrize(
    ("text", "title"),
    [("# A #\nx", "A"), ("x\n\n# B", "B"), ("C\n===\nx", "C"), ("---\ntitle: 'D'\n---\n# E", "D"), ("## F", None)],
)
def test_titles_of_markdown(text: str, title: str | None) -> None:
    assert markdown_title(text) == title
