"""The public surface: one sorted list that tells the truth, each name with a word about it."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import perseid


def test_all_is_sorted_and_complete() -> None:
    assert perseid.__all__ == sorted(perseid.__all__)
    assert set(perseid.__all__) == {*perseid._HOMES, "__version__"}
    assert dir(perseid) == perseid.__all__


@pytest.mark.parametrize("name", [name for name in perseid.__all__ if name != "__version__"])
def test_every_public_name_lives_where_it_is_said_to(name: str) -> None:
    value = getattr(perseid, name)
    assert inspect.getdoc(value), f"{name} has no docstring"
    assert value.__name__ == name


@pytest.mark.parametrize(
    "name", [name for name, home in perseid._HOMES.items() if home == "perseid.errors" and name != "PerseidError"]
)
def test_every_error_is_a_perseid_error_with_a_code_of_its_own(name: str) -> None:
    error = getattr(perseid, name)
    assert issubclass(error, perseid.PerseidError)
    assert error.code != perseid.PerseidError.code


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        perseid.nonsense  # noqa: B018


@pytest.mark.parametrize("name", ["crawl", "scrape"])
def test_no_submodule_shadows_a_function(name: str) -> None:
    code = f"import perseid, perseid.crawls, perseid.facade, perseid.runtime; assert callable(perseid.{name})"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys, perseid\n"
        "heavy = {'asyncio', 'aiohttp', 'apsw', 'msgspec', 'turbohtml', 'perseid.facade', 'perseid.runtime'}\n"
        "sys.exit(f'loaded: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
