"""Which database the settings name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perseid.config.settings import Settings, StoreSettings
from perseid.errors import ConfigError
from perseid.runtime.stores import is_shared


def named(url: str) -> Settings:
    return Settings(store=StoreSettings(url=url))


def test_postgresql_is_shared_and_a_folder_is_not() -> None:
    assert is_shared(named("postgresql://u@h/d"))
    assert is_shared(named("postgres://u@h/d"))
    assert not is_shared(Settings())


@pytest.mark.parametrize("url", ["mysql://u:hunter2@h/d", "perseid.db", "user:hunter2@h/d", "sqlite:///x"])
def test_another_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match=r"write postgresql://user:password@host:5432/database") as caught:
        is_shared(named(url))
    assert "hunter2" not in str(caught.value)


def test_without_its_driver_the_extra_is_named() -> None:
    """In an interpreter where it can't be imported."""
    code = (
        "import sys, asyncio, pathlib\n"
        "sys.modules['asyncpg'] = None\n"
        "from perseid.config.settings import Settings, StoreSettings\n"
        "from perseid.errors import MissingExtra\n"
        "from perseid.runtime.stores import open_store\n"
        "try:\n"
        "    asyncio.run(open_store(pathlib.Path('.'), Settings(store=StoreSettings(url='postgresql://h/d'))))\n"
        "except MissingExtra as error:\n"
        "    print(error)\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "pip install 'perseid[postgres]'" in run.stdout


def test_on_sqlite_no_driver_of_a_server_is_loaded() -> None:
    code = (
        "import sys, asyncio, pathlib, tempfile\n"
        "from perseid.config.settings import Settings\n"
        "from perseid.runtime.engine import Engine\n"
        "async def go():\n"
        "    engine = await Engine.open(pathlib.Path(tempfile.mkdtemp()), Settings())\n"
        "    await engine.close()\n"
        "asyncio.run(go())\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert not set(eval(run.stdout)) & {"asyncpg", "aio_pika", "redis", "aiormq", "psycopg"}
