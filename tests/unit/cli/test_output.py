"""stdout and stderr: bytes, terminals, and readers that leave."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perseid.cli.output import count, duration, printable, table


def test_pages_cannot_drive_the_terminal() -> None:
    assert printable("a\x1b[2Jb\x07\x9bc\u202ed\te\n") == "a\ufffd[2Jb\ufffd\ufffdc\ufffdd\te\n"


@pytest.mark.parametrize(("number", "text"), [(0, "0 pages"), (1, "1 page"), (1200, "1,200 pages")])
def test_counts(number: int, text: str) -> None:
    assert count(number, "page") == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.2, "59 s"), (184, "3 min 4 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_table_has_columns() -> None:
    assert table(("ID", "URL"), [("abc", "https://h/"), ("d", "x\x1b")]) == [
        "ID   URL",
        "abc  https://h/",
        "d    x\ufffd",
    ]


def run(code: str, locale: str = "C.UTF-8") -> subprocess.Popen[bytes]:
    script = f"from perseid.cli import output\n{code}\noutput.flush()\n"
    environment = {"PYTHONPATH": ":".join(sys.path), "LC_ALL": locale, "PYTHONIOENCODING": "ascii"}
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


def test_stdout_is_utf8_whatever_the_locale() -> None:
    out, err = run("output.emit('é\\ud800'); output.say('é')").communicate(timeout=30)
    assert out == "é?\n".encode()
    assert err


def test_reader_that_leaves_is_no_error() -> None:
    process = run("for _ in range(100000): output.emit('x' * 100)")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=30) == 141
