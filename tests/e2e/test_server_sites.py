"""Many small sites over HTTP: a real server with a worker, from a published rule to items, their tasks and sinks."""

from __future__ import annotations

import concurrent.futures
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from perseid.testing.child import command
from perseid.testing.ground import Ground, standing
from perseid.testing.service import serving
from perseid.testing.site import Site, in_thread

RULE: dict[str, Any] = {
    "site_id": "shop",
    "fields": {
        "title": {"css": "h1", "required": True},
        "price": {"css": ".price", "type": "price", "currency": "EUR"},
    },
}


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    site = Site()
    for number in range(40):
        site.page(f"/{number}", f"<h1>Shoe {number}</h1><p class=price>{number}.50 €</p>")
    for number in range(3):
        site.page(f"/odd/{number}", f"<h2>Odd {number}</h2>")
    with in_thread(site):
        yield site


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with standing() as ground:
        yield ground


@pytest.fixture(scope="module")
def keys(folder: Path, ground: Ground) -> dict[str, str]:
    found = {}
    for team in ("ours", "theirs"):
        words = ("keys", "create", "--team", team, "--name", f"of {team}", "--data", str(folder / "data"), "--json")
        with command(*words, folder=folder, environment=ground.environment) as made:
            found[team] = json.loads(made.wait(60).stdout)["key"]
    return found


@pytest.fixture(scope="module")
def server(folder: Path, keys: dict[str, str], ground: Ground) -> Iterator[str]:
    (folder / "out").mkdir()
    environment = {
        "PERSEID_FOLDERS__OURS__OUT": str(folder / "out"),
        "PERSEID_FOLDERS__OTHERS": str(folder),
        "PERSEID_WORKER__POLL_S": "0.2",
        **ground.environment,
    }
    with serving(folder, environment=environment) as (url, _process):
        yield url


@pytest.fixture(scope="module")
def http(server: str, keys: dict[str, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=60, headers={"Authorization": f"Bearer {keys['ours']}"}) as client:
        yield client


def told(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def until(look: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    end = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.05)
    return found


def ended(http: httpx.Client, seed: str, runs: int = 1) -> Any:
    def look() -> Any:
        found = told(http.get(f"/api/seeds/{seed}"))
        done = found["runs"] >= runs and not found["running"] and found["nextAt"] is None
        return found if done else None

    return until(look)


def items(http: httpx.Client, **query: Any) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while page := told(http.get("/api/items", params={**query, "limit": 7, **({"cursor": cursor} if cursor else {})})):
        if not page["items"]:
            return found
        found += page["items"]
        cursor = page["next"]
    return found


def test_rules_are_published_compared_rolled_back_and_retired(http: httpx.Client) -> None:
    first = told(http.put("/api/rules/news", json={"body": {**RULE, "site_id": "news"}, "message": "begin"}))
    assert (first["version"], first["published"], first["author"]) == (1, True, "of ours")
    text = "site_id: news\nselectors:\n  title: {css: h2, required: true}\nsinks: [nowhere]\n"
    second = told(http.put("/api/rules/news", json={"text": text, "author": "ada", "expected": 1}))
    assert (second["version"], second["author"]) == (2, "ada")
    assert "nowhere" in second["warnings"][0]
    assert told(http.put("/api/rules/news", json={"text": text}))["published"] is False

    conflict = http.put("/api/rules/news", json={"text": text.replace("h2", "h3"), "expected": 1})
    assert (told(conflict, 409)["title"], conflict.headers["content-type"]) == (
        "version_conflict",
        "application/problem+json",
    )
    changes = told(http.get("/api/rules/news/diff"))
    assert {"path": "fields.title.from[0].css", "kind": "changed", "before": "h1", "after": "h2"} in changes
    assert told(http.post("/api/rules/news/rollback", json={"message": "oops"}))["restores"] == 1
    versions = told(http.get("/api/configs/rule/news/versions", params={"limit": 2}))
    assert [each["version"] for each in versions["items"]] == [3, 2]
    older = told(http.get("/api/rules/news/versions", params={"cursor": versions["next"]}))
    assert [each["version"] for each in older["items"]] == [1]
    assert told(http.get("/api/rules/news/versions/2"))["body"]["sinks"] == ["nowhere"]
    assert told(http.delete("/api/rules/news")) == {"retired": True}
    assert told(http.get("/api/rules/news"), 404)["title"] == "not_found"


def test_what_is_wrong_is_told_with_its_place(http: httpx.Client) -> None:
    broken = told(
        http.put("/api/rules/shop", json={"text": "site_id: shop\nfields: {t: {css: 'h1[', required: true}}\n"}), 400
    )
    assert broken["title"] == "rule_invalid"
    assert [(each["line"], each["column"], each["path"]) for each in broken["errors"]] == [
        (2, 19, "fields.t.from[0].css")
    ]
    assert told(http.put("/api/rules/other", json={"body": RULE}), 400)["title"] == "config_error"
    sink = told(http.put("/api/configs/sink/w", json={"body": {"connection": "secret-database"}}), 400)
    assert "the operator has defined ours__out" in sink["detail"]
    seed = {"seed_id": "s", "site_id": "shop", "task_type": "csv", "payload": {"folder": "etc", "file": "passwd"}}
    assert "the operator has defined ours__out" in told(http.post("/api/seeds", json=seed), 400)["detail"]
    assert told(http.post("/api/seeds", json={"seed_id": "s"}), 400)["title"] == "seed_invalid"
    assert told(http.get("/api/configs/nothing/x"), 422)["title"] == "invalid_request"
    assert told(http.post("/dispatch", json={"site_id": "shop", "urls": []}), 422)["title"] == "invalid_request"


def test_a_rule_is_tried_on_a_page_before_it_is_published(http: httpx.Client, web: Site) -> None:
    found = told(http.post("/api/rules/shop/test", json={"body": RULE, "url": web.url("/7")}))
    assert [(each["fields"]["title"], each["sound"]) for each in found["items"]] == [("Shoe 7", True)]
    trial = {"body": RULE, "url": "https://shop.example/x", "content": "<h2>none</h2>"}
    (item,) = told(http.post("/api/rules/shop/test", json=trial))["items"]
    assert (item["sound"], item["problems"][0]["kind"]) == (False, "missing")
    assert told(http.post("/api/rules/shop/test", json={"body": RULE, "url": web.url("/none")}), 502)["title"]


def test_what_is_dispatched_at_the_same_moment_is_collected_all_and_once(
    http: httpx.Client, web: Site, folder: Path
) -> None:
    told(http.put("/api/configs/sink/rows", json={"body": {"connection": "ours__out", "table": "rows"}}))
    told(http.put("/api/rules/shop", json={"body": {**RULE, "sinks": ["rows"]}}))

    def send(number: int) -> Any:
        urls = [web.url(f"/{each}") for each in range(4 * number, 4 * number + 4)]
        path = "/dispatch" if number % 2 else "/api/dispatch"
        return told(http.post(path, json={"seed_id": "many", "site_id": "shop", "urls": [*urls, "mailto:x"]}), 202)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(10)))
    assert all((each["accepted"], each["rejected"]) == (4, 1) for each in answers)
    until(lambda: len(items(http, site="shop", seed="many")) == 40)
    ended(http, "many")
    assert {each["fields"]["title"] for each in items(http, seed="many")} == {f"Shoe {number}" for number in range(40)}
    assert all(web.counts()[f"/{number}"] == (2 if number == 7 else 1) for number in range(40))

    runs = told(http.get("/api/seeds/many/runs"))["items"]
    assert sum(each["stats"]["items"] for each in runs) == 40
    assert all(each["stats"]["p50Ms"] is not None for each in runs if each["stats"]["tasks"])
    listed = told(http.get("/api/crawls", params={"kind": "seed"}))["items"]
    assert {each["id"] for each in runs} <= {each["id"] for each in listed}
    assert told(http.get(f"/api/crawls/{runs[0]['id']}"))["status"] == "completed"
    rows = until(lambda: _lines(folder / "out") if len(_lines(folder / "out")) >= 40 else None)
    assert sorted(row["title"] for row in rows) == sorted(f"Shoe {number}" for number in range(40))
    (sink,) = told(http.get("/api/sinks"))
    assert (sink["name"], sink["connection"], sink["error"]) == ("rows", "ours__out", "")
    assert told(http.post("/api/sinks/rows/check")) == {"ok": True, "wrong": []}


def _lines(folder: Path) -> list[Any]:
    return [json.loads(line) for file in folder.rglob("*.jsonl") for line in file.read_text().splitlines()]


def test_a_mended_rule_reads_again_what_was_kept_back(http: httpx.Client, web: Site) -> None:
    rule = {**RULE, "site_id": "odd"}
    told(http.put("/api/rules/odd", json={"body": rule}))
    urls = [web.url(f"/odd/{number}") for number in range(3)]
    seed = told(http.post("/dispatch", json={"site_id": "odd", "urls": urls}), 202)["seed_id"]
    run = ended(http, seed)["run"]
    assert (run["stats"]["done"], run["stats"]["items"], run["stats"]["exceptions"]) == (3, 0, 3)
    (group,) = told(http.get("/api/exceptions/groups", params={"site": "odd"}))
    assert (group["count"], group["reason"], group["ruleVersion"]) == (3, "missing:title", 1)
    kept = told(http.get("/api/exceptions", params={"site": "odd", "reason": "missing:title"}))["items"]
    task = told(http.get(f"/api/tasks/{kept[0]['taskId']}"))
    assert (task["seedId"], task["state"], task["exceptions"]) == (seed, "completed", [kept[0]])

    mended = {**rule, "fields": {"title": {"css": "h2", "required": True}}}
    compared = told(http.post("/api/rules/odd/compare", json={"body": mended}))
    assert compared["complete"] is True
    assert sum(each["mended"] + each["gained"] for each in compared["changes"]) == 3
    told(http.put("/api/rules/odd", json={"body": mended}))
    fetched = len(web.requests)
    assert told(http.post("/api/exceptions/retry", json={"site": "odd"})) == {
        "pages": 3,
        "items": 3,
        "left": 0,
        "unread": 0,
        "complete": True,
    }
    assert len(web.requests) == fetched
    assert {(each["fields"]["title"], each["ruleVersion"]) for each in items(http, site="odd")} == {
        ("Odd 0", 2), ("Odd 1", 2), ("Odd 2", 2),
    }  # fmt: skip
    assert told(http.get("/api/exceptions/groups", params={"site": "odd"})) == []
    assert told(http.post("/api/exceptions/drop", json={"site": "odd"})) == {"dropped": 0}
    assert told(http.get("/api/alarms")) == []


def test_a_seed_brings_its_own_rule_and_is_held_stopped_and_deleted(http: httpx.Client, web: Site) -> None:
    told(http.put("/api/configs/seed_template/own", json={"body": {"task_type": "urls", "priority": 7}}))
    told(http.post("/api/sites/none/pause", json={}), 404)
    new = {"template": "own", "seed_id": "own", "site_id": "held", "payload": {"urls": [web.url("/1")]}}
    new["rule"] = {"selectors": {"head": "h1"}}
    added = told(http.post("/api/seeds", json={**new, "schedule": {"every": "1h", "at_once": False}}), 201)
    assert not any("nobody" in each for each in added["warnings"])
    other = told(http.post("/dispatch", json={"seed_id": "ruleless", "site_id": "new", "urls": [web.url("/1")]}), 202)
    assert other["warnings"] == ["nobody has published a rule for the site 'new' yet"]
    told(http.delete("/api/seeds/ruleless"))
    assert told(http.post("/api/sites/held/pause", json={"reason": "look"}))["paused"] is True
    told(http.post("/api/seeds/own/run"), 202)
    seed = told(http.get("/api/seeds/own"))
    assert (seed["state"], seed["priority"], seed["seed"]["payload"]) == ("active", 7, new["payload"])
    assert told(http.post("/api/seeds/own/pause"))["state"] == "paused"
    assert told(http.post("/api/sites/held/resume"))["paused"] is False
    assert items(http, site="held") == []
    assert told(http.post("/api/seeds/own/resume"))["state"] == "active"
    (item,) = until(lambda: items(http, site="held"))
    assert (item["fields"], item["ruleVersion"]) == ({"head": "Shoe 1"}, 0)
    assert told(http.get("/api/items", params={"site": "held", "key": item["uniqueKey"]}))["items"] == [item]
    assert told(http.post("/api/seeds/own/stop"))["nextAt"] is None
    assert told(http.delete("/api/seeds/own")) == {"deleted": True}
    told(http.get("/api/seeds/own"), 404)
    assert len(items(http, site="held")) == 1
    assert {each["siteId"] for each in told(http.get("/api/sites"))["items"]} >= {"held"}


def test_teams_see_nothing_of_each_other(http: httpx.Client, server: str, keys: dict[str, str]) -> None:
    told(http.put("/api/rules/private", json={"body": {**RULE, "site_id": "private"}}))
    with httpx.Client(base_url=server, timeout=60, headers={"Authorization": f"Bearer {keys['theirs']}"}) as other:
        for path in ("/api/rules", "/api/seeds", "/api/items", "/api/exceptions", "/api/sites"):
            assert told(other.get(path))["items"] == [], path
        assert told(other.get("/api/sinks")) == []
        told(other.get("/api/rules/private"), 404)
        for name in ("ours__out", "others"):
            assert (
                "has defined none"
                in told(other.put("/api/configs/sink/w", json={"body": {"connection": name}}), 400)["detail"]
            )
        told(other.delete("/api/seeds/many"), 404)
        mine = told(http.get("/api/items", params={"limit": 1}))["items"] or [{"taskId": 1}]
        told(other.get(f"/api/tasks/{mine[0]['taskId']}"), 404)


def test_long_seeds_are_listed_few_at_a_time(http: httpx.Client) -> None:
    names = ["long1", "long2", "long3", "short1"]
    for name in names:
        count = 20_000 if name.startswith("long") else 1
        urls = [f"https://long.example/{'p' * 100}/{number}" for number in range(count)]
        seed = {"seed_id": name, "site_id": "long", "urls": urls, "schedule": {"every": "1h", "at_once": False}}
        told(http.post("/api/seeds", json=seed), 201)
    pages, after = [], ""
    while after is not None:
        page = told(http.get("/api/seeds", params={"site": "long", "after": after}))
        pages.append([each["seedId"] for each in page["items"]])
        after = page["next"]
    assert pages == [["long1", "long2"], ["long3", "short1"]]
    for name in names:
        told(http.delete(f"/api/seeds/{name}"))
