"""Drafts: what may be published, what is wrong with what may not, and which files of a folder hold some."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from perseid.errors import ConfigError
from perseid.ports.configs import ConfigKind, Version
from perseid.publishing.draft import draft
from perseid.publishing.folder import Source, Watched, sources
from perseid.publishing.kinds import Targets
from perseid.publishing.seed_template import filled
from perseid.publishing.writing import write_out
from perseid.rules.complaint import Invalid

RULE = "site_id: shop\nselectors:\n  title: {css: h1, required: true}\n"


def test_two_ways_to_write_the_same_rule_are_one_body() -> None:
    full = '{"fields": {"title": {"required": true, "from": [{"css": "h1"}]}}, "site_id": "shop"}'
    one, other = draft(ConfigKind.RULE, RULE), draft(ConfigKind.RULE, full, name="shop")
    assert one.name == "shop"
    assert one.body == other.body


def test_a_rule_of_another_site_is_refused() -> None:
    with pytest.raises(ConfigError, match="of the site 'shop', not of 'news'"):
        draft(ConfigKind.RULE, RULE, name="news")


def test_each_fault_of_a_sink_is_told_with_its_place() -> None:
    text = "connection: warehouse\nmode: sideways\ntabel: items\n"
    with pytest.raises(Invalid) as told:
        draft(ConfigKind.SINK, text, name="w", file="sinks/w.yaml")
    assert [(each.line, each.column, each.path) for each in told.value.complaints] == [(2, 7, "mode"), (3, 1, "tabel")]
    assert "Did you mean 'table'?" in str(told.value)


def test_a_sink_names_a_connection_of_the_operators() -> None:
    targets = Targets(frozenset({"warehouse"}), frozenset({"exports"}))
    assert draft(ConfigKind.SINK, "connection: exports", name="w", targets=targets).value.connection == "exports"
    with pytest.raises(Invalid, match=r"no connection or folder is called 'warehaus'.*Did you mean 'warehouse'"):
        draft(ConfigKind.SINK, "connection: warehaus", name="w", targets=targets)


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a b", "x" * 101])
def test_what_is_no_name_names_nothing(name: str) -> None:
    with pytest.raises(ConfigError, match="is no name"):
        draft(ConfigKind.SINK, "connection: c", name=name)


def test_what_was_published_is_written_so_that_it_means_the_same(tmp_path: Path) -> None:
    tricky = (
        '{"site_id": "1e3", "fields": {"t": {"const": "1e5", "required": true}, "no": {"css": "h1", "default": "012"}}}'
    )
    new = draft(ConfigKind.RULE, tricky)
    version = Version(
        team=1, kind=new.kind, name=new.name, version=1, body=new.body, author="", message="", restores=None, at=0
    )
    path = write_out(version, tmp_path)
    assert draft(ConfigKind.RULE, path.read_bytes(), is_json=path.suffix == ".json").body == new.body
    assert write_out(version, tmp_path) == path
    assert list(tmp_path.iterdir()) == [path]


def test_folders_tell_the_kind_of_their_files(tmp_path: Path) -> None:
    for name in ("rules/a.yaml", "rules/deep/b.json", "sinks/w.yml", "sinks/.w.yml.swp", "rules/.git/c.yaml", "x.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = sources(tmp_path)
    assert found == [
        Source(ConfigKind.RULE, tmp_path / "rules/a.yaml"),
        Source(ConfigKind.RULE, tmp_path / "rules/deep/b.json"),
        Source(ConfigKind.SINK, tmp_path / "sinks/w.yml"),
    ]
    assert found[2].name == "w"
    assert len(sources(tmp_path, ConfigKind.RULE)) == 4
    with pytest.raises(ConfigError, match="there is no folder"):
        sources(tmp_path / "none")


def test_a_file_counts_as_changed_once_it_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("one")
    watched = Watched(tmp_path, ConfigKind.RULE)
    assert watched.changed() == []
    file.write_text("one and a half of what is being writ")
    assert watched.changed() == []
    file.write_text("two, whole")
    assert watched.changed() == []
    assert watched.changed() == [Source(ConfigKind.RULE, file)]
    assert watched.changed() == []
    file.unlink()
    assert watched.changed() == []
    file.write_text("two, whole")
    watched.changed()
    assert watched.changed() == [Source(ConfigKind.RULE, file)]


def test_a_seed_stands_above_its_template() -> None:
    text = "task_type: template\npayload: {url: 'https://a.example/{c}?q={k}', values: {c: [x]}}\npriority: 7\n"
    new = draft(ConfigKind.SEED_TEMPLATE, text, name="search")
    given = {"template": "search", "seed_id": "s", "site_id": "a", "payload": {"values": {"k": ["1"]}}, "priority": 2}
    assert filled(msgspec.json.decode(new.body), given) == {
        "seed_id": "s",
        "site_id": "a",
        "task_type": "template",
        "payload": {"url": "https://a.example/{c}?q={k}", "values": {"c": ["x"], "k": ["1"]}},
        "priority": 2,
    }
    with pytest.raises(Invalid, match=r"t.yaml:1:12: error: task_type: there is no task type 'urs'"):
        draft(ConfigKind.SEED_TEMPLATE, "task_type: urs", name="t", file="t.yaml")


def test_what_makes_no_sense_in_a_pool_is_told_where_it_stands() -> None:
    text = "proxies:\n  - http://one:8080\n  - ftp://two:21\n"
    with pytest.raises(Invalid, match=r"p.yaml:3:5: error: proxies\[1\]: it is no address of a proxy"):
        draft(ConfigKind.PROXY_POOL, text, name="p", file="p.yaml")
