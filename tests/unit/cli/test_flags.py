"""What the texts of flags mean, and errors that repeat no secret."""

from __future__ import annotations

import pytest

from perseid.cli.flags import cookie, header, seconds
from perseid.cli.options import Fetching, scrape_options, sitemap_mode
from perseid.config.settings import FetchSettings, Settings
from perseid.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"), [("2", 2), ("1.5s", 1.5), ("10m", 600), ("2h", 7200), ("7d", 604800), ("0", 0)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "soon", "-1", "1y", "1 2"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a duration"):
        seconds(text)


def test_header_is_name_and_value() -> None:
    assert header("X-Key:  a: b ") == ("X-Key", "a: b")


@pytest.mark.parametrize("text", ["hunter2", ": hunter2", "a b: hunter2", "A: hunter2\r\nB: c"])
def test_no_header(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        header(text)
    assert "hunter2" not in str(error.value)


def test_cookie_is_name_and_value() -> None:
    assert cookie("sid=a=b") == ("sid", "a=b")


@pytest.mark.parametrize("text", ["hunter2", "=hunter2", "a=hunter2; b=c"])
def test_no_cookie(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        cookie(text)
    assert "hunter2" not in str(error.value)


def test_formats_are_repeated_or_separated_by_commas() -> None:
    assert scrape_options(Fetching(formats=["html,links", "html"]), Settings()).formats == ("html", "links")


def test_unknown_format_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="--format pdf: unknown format; choose from markdown"):
        scrape_options(Fetching(formats=["pdf"]), Settings())


def test_flag_of_the_proxy_beats_the_setting() -> None:
    settings = Settings(fetch=FetchSettings(proxy="http://setting", page_timeout_s=5, max_attempts=2))
    assert scrape_options(Fetching(), settings).proxy == "http://setting"
    options = scrape_options(Fetching(proxy="http://flag"), settings)
    assert (options.proxy, options.timeout_s, options.max_attempts) == ("http://flag", 5, 2)


def test_sitemap_mode_is_checked() -> None:
    assert sitemap_mode("only") == "only"
    with pytest.raises(ConfigError, match="choose from include, skip, only"):
        sitemap_mode("maybe")
