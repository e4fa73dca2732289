"""Which source wins, what is refused, and what the refusal says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.config.loading import FileSource, declared, env_variable, load
from perseid.config.settings import Settings
from perseid.errors import ConfigError


def source(**sections: Any) -> FileSource:
    return FileSource("perseid.toml", sections)


def test_without_sources_all_is_default() -> None:
    loaded = load({})
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}


def test_flag_beats_environment_beats_file() -> None:
    file = source(worker={"concurrency": 3, "processes": 3}, fetch={"max_redirects": 3})
    env = {"PERSEID_WORKER__CONCURRENCY": "4", "PERSEID_WORKER__PROCESSES": "4"}
    loaded = load(env, [file], {"worker.concurrency": 5})
    assert loaded.settings.worker.concurrency == 5
    assert loaded.settings.worker.processes == 4
    assert loaded.settings.fetch.max_redirects == 3
    assert loaded.origins["worker.concurrency"] == "flag"
    assert loaded.origins["worker.processes"] == "PERSEID_WORKER__PROCESSES"
    assert loaded.origins["fetch.max_redirects"] == "perseid.toml"


def test_later_file_wins() -> None:
    files = [FileSource("a", {"log": {"level": "info"}}), FileSource("b", {"log": {"level": "debug"}})]
    loaded = load({}, files)
    assert (loaded.settings.log.level, loaded.origins["log.level"]) == ("debug", "b")


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (
            {"PERSEID_FETCH__PAGE_TIMEOUT_S": "soon"},
            ["PERSEID_FETCH__PAGE_TIMEOUT_S", "'soon'", "a number above 0"],
        ),
        ({"PERSEID_FETCH__PAGE_TIMEOUT_S": "0"}, ["'0'", "above 0"]),
        ({"PERSEID_WORKER__CONCURRENCY": "1.5"}, ["'1.5'", "a whole number from 1 up to 1024"]),
        ({"PERSEID_LOG__LEVEL": "loud"}, ["'loud'", "debug, info, warning, error, off"]),
        ({"PERSEID_FETCH__TRUST_PROXY": "perhaps"}, ["'perhaps'", "true or false"]),
        (
            {"PERSEID_FETCH__PAGE_TIMEOUT": "3"},
            ["PERSEID_FETCH__PAGE_TIMEOUT", "did you mean PERSEID_FETCH__PAGE_TIMEOUT_S"],
        ),
        ({"PERSEID_FETCH_PROXY": "x"}, ["PERSEID_FETCH_PROXY", "did you mean PERSEID_FETCH__PROXY"]),
        ({"PERSEID_NOTHING__SUCH": "x"}, ["unknown setting PERSEID_NOTHING__SUCH"]),
    ],
)
def test_wrong_environment_is_named_with_what_is_allowed(env: dict[str, str], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        load(env)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"fetch": {"max_redirects": "3"}}, ["perseid.toml: fetch.max_redirects = '3'"]),
        ({"fetch": {"max_redirect": 3}}, ["fetch.max_redirect", "did you mean fetch.max_redirects"]),
        ({"fetsh": {}}, ["unknown setting fetsh", "fetch"]),
        ({"fetch": 3}, ["fetch is a section"]),
        ({"robots": {"agents": [1]}}, ["a list of texts"]),
    ],
)
def test_wrong_file_is_named(values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        load({}, [FileSource("perseid.toml", values)])
    for word in words:
        assert word in str(error.value)


def test_variables_that_are_no_settings_are_left_alone() -> None:
    assert load({"PERSEID_CONFIG": "x", "PERSEID_SHARED": "y", "HOME": "/"}).settings == Settings()


@pytest.mark.parametrize("text", ["true", "1", "yes", "ON"])
def test_truth_has_several_spellings(text: str) -> None:
    assert load({"PERSEID_FETCH__TRUST_PROXY": text}).settings.fetch.trust_proxy


def test_lists_come_from_commas_and_from_toml() -> None:
    env = {"PERSEID_ROBOTS__AGENTS": "Perseid, Googlebot,"}
    assert load(env).settings.robots.agents == ("Perseid", "Googlebot")
    assert load({}, [source(robots={"agents": ["A", "B"]})]).settings.robots.agents == ("A", "B")


@pytest.mark.parametrize(("raw", "text"), [(True, "true"), (["10.0.0.0/8", "h"], "10.0.0.0/8,h"), ("h", "h")])
def test_private_addresses_are_opened_by_truth_or_list(raw: object, text: str) -> None:
    assert load({}, [source(fetch={"allow_private": raw})]).settings.fetch.allow_private == text


def test_secret_never_stands_in_an_error() -> None:
    with pytest.raises(ConfigError) as error:
        load({}, [source(fetch={"proxy": ["http://u:hunter2@p"]})])
    assert "hunter2" not in str(error.value)


def test_defaults_pass_their_own_checks() -> None:
    for field in declared():
        raw = list(field.default) if isinstance(field.default, tuple) else field.default
        section, _, member = field.name.partition(".")
        assert load({}, [source(**{section: {member: raw}})]).settings == Settings()


@given(st.dictionaries(st.sampled_from([env_variable(f.name) for f in declared()]), st.text(max_size=12), max_size=4))
def test_any_environment_loads_or_is_refused_by_name(env: dict[str, str]) -> None:
    refusal = ""
    try:
        load(env)
    except ConfigError as error:
        refusal = str(error)
    assert not refusal or any(name in refusal for name in env)
