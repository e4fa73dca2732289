"""The program starts fast because it loads little: help needs neither the network nor the database code."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"aiohttp", "apsw", "turbohtml", "selectolax", "asyncio", "pypdfium2", "upa_url", "msgspec", "regex"}
HEAVY |= {"asyncpg", "aio_pika", "redis"}


def loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=environment)
    return {name.partition(".")[0] for name in json.loads(run.stderr.splitlines()[-1])}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded("import perseid") & HEAVY


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom perseid.cli.main import app\ntry:\n    app(['crawl', '--help'])\nexcept SystemExit:\n    pass"
    )
    assert not loaded(code) & HEAVY


def test_a_crawl_leaves_out_what_few_pages_need() -> None:
    modules = loaded(
        "import perseid.runtime\nimport perseid.cli.session\nfrom perseid.dom.tree import parse\nparse('<p>a')"
    )
    assert not modules & {"selectolax", "re2", "email", "html", "zipfile", "pypdfium2"}
