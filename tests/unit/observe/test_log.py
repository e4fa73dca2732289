"""Events: their form, their levels, and that nothing secret leaves."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.observe import log
from perseid.observe.mask import mask_text

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = log.setup("debug", "json", stream)
    yield stream
    logging.getLogger("perseid").removeHandler(handler)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_event_is_one_json_line(stream: io.StringIO) -> None:
    log.event("fetch.ok", url="https://h/a", status=200, bytes=12)
    (line,) = lines(stream)
    assert (line["event"], line["url"], line["status"], line["bytes"]) == ("fetch.ok", "https://h/a", 200, 12)
    assert line["at"].endswith("Z")
    assert line["level"] == "info"


def test_event_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    handler = log.setup("warning", "json", stream)
    log.event("fetch.ok", url="https://h/a")
    assert not log.enabled("fetch.ok")
    assert stream.getvalue() == ""
    logging.getLogger("perseid").removeHandler(handler)


def test_off_silences_errors() -> None:
    stream = io.StringIO()
    handler = log.setup("off", "json", stream)
    log.event("audit.finding", what="open")
    assert stream.getvalue() == ""
    logging.getLogger("perseid").removeHandler(handler)


def test_setup_twice_writes_once(stream: io.StringIO) -> None:
    log.setup("debug", "json", stream)
    log.event("task.start", url="https://h/")
    assert len(lines(stream)) == 1


def test_records_of_the_standard_library_keep_text_and_extras(stream: io.StringIO) -> None:
    logging.getLogger("perseid.crawls").warning("lost %s", "touch", extra={"host": "h"})
    (line,) = lines(stream)
    assert (line["message"], line["host"], line["logger"]) == ("lost touch", "h", "perseid.crawls")


def test_traceback_stays_on_its_line(stream: io.StringIO) -> None:
    error = ValueError("http://u:hunter2@h/")
    logging.getLogger("perseid").error("bad", exc_info=error)
    (line,) = lines(stream)
    assert "ValueError" in line["error"]
    assert "hunter2" not in line["error"]


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "https://user:hunter2@h/a"},
        {"url": "https://h/a?x=1&access_token=hunter2#f"},
        {"url": "https://h/?api_key=hunter2"},
        {"proxy": "socks5://u:hunter2@p:1080"},
        {"headers": {"Authorization": "hunter2"}},
        {"request": {"Cookie": "hunter2"}},
        {"message": "sent Authorization: Bearer hunter2"},
        {"what": [("cookie", "a"), "Cookie: sid=hunter2"]},
        {"error": ValueError("proxy http://u:hunter2@p refused")},
    ],
)
@pytest.mark.parametrize("style", ["json", "text"])
def test_secrets_are_masked(fields: dict[str, Any], style: str) -> None:
    stream = io.StringIO()
    handler = log.setup("debug", style, stream)
    log.event("task.start", **fields)
    assert stream.getvalue().count("\n") == 1
    assert "hunter2" not in stream.getvalue()
    logging.getLogger("perseid").removeHandler(handler)


@pytest.mark.parametrize("text", ["https://h/@user", "https://h/a?monkey=1&page=2", "mail a@b.example", "a: b"])
def test_harmless_text_stays(text: str) -> None:
    assert mask_text(text) == text


@given(
    st.text(),
    st.integers() | st.floats(allow_nan=False) | st.binary() | st.text(st.characters(categories=["Cs", "Cc"])),
)
def test_any_value_is_written_on_one_line(text: str, value: object) -> None:
    for style in ("json", "text"):
        stream = io.StringIO()
        handler = log.setup("debug", style, stream)
        log.event("task.start", url=text, value=value)
        written = stream.getvalue()
        assert written.endswith("\n")
        assert "\n" not in written[:-1]
        assert "\x1b" not in written
        logging.getLogger("perseid").removeHandler(handler)


def test_every_event_has_a_level_that_setup_knows() -> None:
    assert {log._LEVEL_OF[name] for name in log.EVENTS} <= set(log.LEVELS.values())


def test_warnings_of_other_packages_can_take_the_same_form(stream: io.StringIO) -> None:
    log.adopt("some.package")
    logging.getLogger("some.package.inner").info("unheard")
    logging.getLogger("some.package.inner").warning("two\nlines")
    (line,) = lines(stream)
    assert line["message"] == "two\nlines"
