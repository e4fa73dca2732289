"""A source that another package brings along, installed as packages are: by its entry point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perseid.errors import SourceFailed
from perseid.model.seed import PluginSource
from perseid.seeds.loading import SeedInvalid, dumped, from_value

CODE = '''
"""Pages of a catalogue by number, as many as its front page says."""

from perseid.seeds.expansion import Stepped


class Catalogue:
    def check(self, options):
        if not isinstance(options.get("site"), str):
            yield f"site: an address is wanted, not {options.get('site')!r}"

    async def step(self, options, cursor, asks):
        if cursor is None:
            answer = await asks.fetch(options["site"])
            return Stepped(cursor=b"1/" + answer.body.strip())
        at, last = map(int, cursor.split(b"/"))
        urls = [f"{options['site']}{n}#x" for n in range(at, min(at + 500, last + 1))]
        more = at + 500 <= last
        return Stepped(urls=(*urls[:-1], "nonsense") if at > 500 else tuple(urls), cursor=b"%d/%d" % (at + 500, last) if more else None)


class Empty:
    pass


class Broken:
    def __init__(self):
        raise RuntimeError("no licence")
'''
POINTS = """
[perseid.sources]
acme.catalogue = acme_perseid:Catalogue
acme.empty = acme_perseid:Empty
acme.broken = acme_perseid:Broken
undotted = acme_perseid:Catalogue
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_perseid.py").write_text(CODE)
    about = tmp_path / "acme_perseid-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-perseid\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def seed(kind: str, **payload: Any) -> dict[str, Any]:
    return {"seed_id": "a", "site_id": "b", "task_type": kind, "payload": payload}


@pytest.mark.usefixtures("acme")
async def test_a_plug_in_is_a_source_like_ours(world: Any, run: Any) -> None:
    said = from_value(seed("acme.catalogue", site="https://x.example/", page="list")).seed
    assert said.source == PluginSource(name="acme.catalogue", options={"site": "https://x.example/"}, page="list")
    assert from_value(dumped(said)).seed == said
    world.lay("https://x.example/", "702")
    found = await run.of(said.source, forgetful=True)
    assert found == [f"https://x.example/{n}" for n in range(1, 702)]
    assert (run.skipped, run.notes) == (1, ["'nonsense' is no address of the web"])


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (seed("acme.catalogue", site=5), "payload: site: an address is wanted, not 5"),
        (seed("acme.catalogue", site="x", page="front"), "payload.page: detail or list is wanted here"),
        (seed("acme.catalog"), "there is no task type 'acme.catalog'. Did you mean 'acme.catalogue'?"),
        (seed("acme.empty"), "the source 'acme.empty' (acme_perseid:Empty) has no `check` and `step`"),
        (seed("acme.broken"), "can't be loaded: RuntimeError('no licence')"),
        (seed("undotted"), "there is no task type 'undotted'"),
    ],
)
def test_what_is_wrong_with_a_plug_in_or_its_payload_is_said(value: object, said: str) -> None:
    with pytest.raises(SeedInvalid) as raised:
        from_value(value)
    assert said in str(raised.value)


async def test_a_seed_whose_plug_in_is_gone_fails_and_says_so(run: Any) -> None:
    with pytest.raises(SourceFailed, match=r"no package brings the task type 'gone\.source' along"):
        await run.of(PluginSource(name="gone.source"))
