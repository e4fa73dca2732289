"""`perseid rules` as people call it: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from perseid.testing import Answer
from perseid.testing.site import Site, in_thread

RULE = """site_id: shop
language: de
fields:
  title: {css: h1, required: true}
  price: {css: .price, type: price}
follow: {css: a.more, on: [detail]}
start: detail
tests:
  - {page: a.html, url: https://shop.example/a, expect: {title: Schuh, price: {amount: "12.50", currency: EUR}}}
"""
PAGE = "<html lang=de><h1>Schuh</h1><p class=price>12,50 €</p><a class=more href=/b>mehr</a></html>"


class Cli:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(folder),
        }

    def __call__(self, *words: str) -> tuple[int, str, str]:
        run = subprocess.run(
            [sys.executable, "-W", "error", "-m", "perseid", "rules", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return run.returncode, run.stdout, run.stderr

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    cli.write("shop.yaml", RULE)
    cli.write("a.html", PAGE)
    return cli


def test_validate_names_each_fault_with_its_place(cli: Cli) -> None:
    assert cli("validate", "shop.yaml") == (0, "", "0 faults, 0 warnings\n")
    cli.write("bad.yaml", "site_id: shop\nfields: {t: {css: 'h1[', required: true}}\nfetch: {timout: 5s}\n")
    code, out, err = cli("validate", "shop.yaml", "bad.yaml")
    assert (code, out) == (2, "")
    assert "bad.yaml:2:19: error: fields.t.from[0].css:" in err
    assert "bad.yaml:3:9: error: fetch.timout: there is no key 'timout' here. Did you mean 'timeout'?" in err
    cli.write("page.json", "{}")
    cli.write(
        "api.json",
        '{"site_id": "a", "fields": {"t": {"jsonpath": "$.t", "required": true}}, '
        '"tests": [{"page": "page.json", "expect": {}}]}',
    )
    code, out, err = cli("validate", "--json", ".")
    assert (code, err) == (2, "")
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["file"], each["line"], each["column"]) for each in found] == [("bad.yaml", 2, 19), ("bad.yaml", 3, 9)]


def test_what_is_no_rule_is_said_in_one_line(cli: Cli) -> None:
    for word, said in (("none.yaml", "can't be read"), ("a.html", "must end in"), ("empty", "can't be read")):
        code, out, err = cli("validate", word)
        assert (code, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1


def test_schema_is_printed(cli: Cli) -> None:
    code, out, err = cli("schema")
    assert (code, err) == (0, "")
    jsonschema_rs.validator_for(json.loads(out)).validate({"site_id": "a", "selectors": {"t": "h1"}})


def test_saved_pages_are_tried(cli: Cli) -> None:
    code, out, err = cli("test", "shop.yaml")
    assert (code, out, err.splitlines()) == (0, "", ["ok    a.html", "1 of 1 page as expected"])
    cli.write("a.html", PAGE.replace("12,50", "9,99"))
    code, out, err = cli("test", "shop.yaml", "--json")
    assert code == 1
    (found,) = map(json.loads, out.splitlines())
    assert found["misses"] == [
        {
            "path": "items[0].price",
            "expected": {"amount": "12.50", "currency": "EUR"},
            "found": {"amount": "9.99", "currency": "EUR"},
        }
    ]


def test_a_page_is_tried(cli: Cli) -> None:
    code, out, err = cli("test", "shop.yaml", "--page", "a.html", "--url", "https://shop.example/x")
    assert code == 0
    assert json.loads(out) == {
        "key": "https://shop.example/x",
        "title": "Schuh",
        "price": {"amount": "12.50", "currency": "EUR"},
    }
    assert "detail: https://shop.example/b" in err
    cli.write("a.html", "<h2>redesigned</h2>")
    code, _, err = cli("test", "shop.yaml", "--page", "a.html")
    assert code == 1
    assert "FAIL: title: no source of this core field yields anything" in err


def test_a_url_is_fetched_and_tried(cli: Cli) -> None:
    site = Site()
    site.page("/a", PAGE)
    site.respond("/items", body='{"items": [{"n": 1}, {"n": 2}]}', headers={"Content-Type": "application/json"})
    cli.write(
        "api.json", json.dumps({"site_id": "api", "each": "$.items[*]", "fields": {"n": "$.n"}, "unique_key": ["n"]})
    )
    with in_thread(site):
        code, out, err = cli("test", "shop.yaml", "--url", site.url("/a"), "--json")
        assert (code, err) == (0, "")
        (found,) = map(json.loads, out.splitlines())
        assert found["items"][0]["fields"]["price"] == {"amount": "12.50", "currency": "EUR"}
        assert found["follow"][0]["url"] == site.url("/b")
        code, out, err = cli("test", "api.json", "--url", site.url("/items"))
        assert [json.loads(line)["n"] for line in out.splitlines()] == ["1", "2"]
        code, out, err = cli("test", "shop.yaml", "--url", site.url("/absent"))
        assert (code, out) == (1, "")


def test_a_rule_is_proposed_that_reads_the_examples(cli: Cli) -> None:
    code, out, err = cli("propose", "--page", "a.html", "--site", "shop", "title=Schuh", "price=12,50 €")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out) == {
        "site_id": "shop",
        "fields": {"title": "h1", "price": {"from": ["p.price"], "type": "price"}},
    }
    code, _, err = cli("propose", "--page", "a.html", "size=42")
    assert code == 1
    assert "size: '42' is not found" in err
    for word in ("Schuh", "a b=c", "title="):
        code, _, err = cli("propose", "--page", "a.html", word)
        assert code == 2
        assert "NAME=VALUE" in err


def test_a_language_model_looks_for_values_that_nobody_names(cli: Cli) -> None:
    said = {"title": "Schuh", "size": None, "price": "12,50 €"}
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(said)}}
    model = Site()
    model.handle(
        "/v1/chat/completions",
        lambda _request: Answer(headers={"Content-Type": "application/json"}, body=json.dumps({"choices": [choice]})),
    )
    with in_thread(model):
        cli.environment |= {"PERSEID_LLM__BASE_URL": model.url("/v1"), "PERSEID_LLM__MODEL": "scripted"}
        code, out, err = cli("propose", "--page", "a.html", "--site", "shop", "title", "size", "price")
        (asked,) = [json.loads(request.body) for request in model.requests]
    assert "12,50 €" in str(asked["messages"])
    assert yaml.safe_load(out)["fields"] == {"title": "h1", "price": {"from": ["p.price"], "type": "price"}}
    assert (code, err) == (1, "size: the language model doesn't see it on the page; write size=VALUE\n")


def test_versions_are_compared(cli: Cli) -> None:
    cli.write("new.yaml", RULE.replace("css: h1", "css: h2"))
    assert cli("diff", "shop.yaml", "shop.yaml") == (0, "", "")
    code, out, _ = cli("diff", "shop.yaml", "new.yaml")
    assert (code, out) == (0, '~ fields.title.from[0].css: "h1" → "h2"\n')
