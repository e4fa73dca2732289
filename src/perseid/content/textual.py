"""Bodies that are text but no HTML: JSON, XML, plain text and Markdown, as markdown."""

from __future__ import annotations

import re

import orjson

from perseid.pattern import later

_LONGEST_PRETTY = 5_000_000
_FENCE = later(r"^\s{0,3}(`{3,})", re.MULTILINE)
_TITLE = later(r"^#\s+(\S.*?)\s*#*\s*$", re.MULTILINE)
_SETEXT = later(r"\A\s*(\S[^\n]*)\n=+\s*(?:\n|\Z)")
_FRONT_MATTER = later(r"\A---\s*\n(.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = later(r"^title:\s*[\"']?(.*?)[\"']?\s*$", re.MULTILINE)
_LANGUAGES = {
    "text/css": "css", "text/javascript": "javascript", "application/javascript": "javascript",
    "application/x-javascript": "javascript", "application/yaml": "yaml", "application/x-yaml": "yaml",
    "text/yaml": "yaml", "text/x-yaml": "yaml", "application/toml": "toml", "application/sql": "sql",
    "application/x-sh": "bash", "text/x-python": "python", "text/x-c": "c", "text/x-java-source": "java",
    "text/csv": "csv", "text/tab-separated-values": "tsv", "application/x-ndjson": "json",
}  # fmt: skip


def fenced(text: str, language: str) -> str:
    """`text` as a code block whose fence is longer than any within."""
    longest = max((len(match[1]) for match in _FENCE.finditer(text)), default=2)
    fence = "`" * max(3, longest + 1)
    body = text.strip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def json_markdown(text: str) -> tuple[str, str | None]:
    """A fenced block of indented JSON, and a warning where the text is no valid JSON and stays as it is."""
    if len(text) > _LONGEST_PRETTY:
        return fenced(text, "json"), None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return fenced(text, "json"), f"the body is labelled JSON but is none: {error}"
    return fenced(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode(), "json"), None


def text_markdown(text: str, content_type: str | None) -> str:
    """Plain text passes through; source code and tables of known types are fenced."""
    mime = (content_type or "").split(";", 1)[0].strip().lower()
    language = _LANGUAGES.get(mime)
    return fenced(text, language) if language else text.strip("\n")


def markdown_title(text: str) -> str | None:
    """The title of a Markdown body: of its front matter, else its first heading of level one."""
    front = _FRONT_MATTER.match(text)
    if front is not None and (named := _FRONT_TITLE.search(front[1])):
        return named[1] or None
    match = _SETEXT.match(text) or _TITLE.search(text)
    return match[1] if match is not None else None
