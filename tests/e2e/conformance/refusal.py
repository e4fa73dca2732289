"""What is told of bodies that are refused."""

from __future__ import annotations

from typing import Any

from .conftest import Server

URL = "https://a.example/"
BODIES = {
    "/v1/scrape": {"url": URL},
    "/v2/scrape": {"url": URL},
    "/v1/crawl": {"url": URL},
    "/v2/crawl": {"url": URL},
    "/v1/batch/scrape": {"urls": [URL]},
    "/v2/batch/scrape": {"urls": [URL]},
    "/v1/map": {"url": URL},
    "/v2/map": {"url": URL},
}


def refused(server: Server, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What is told of a body that must be refused as bad."""
    answer = server.ask("POST", path, body)
    told: dict[str, Any] = answer.json()
    assert (answer.status_code, told["success"]) == (400, False), (path, body, answer.text)
    assert isinstance(told["error"], str)
    return told


def pointed(told: dict[str, Any]) -> set[str]:
    """Where the issues are."""
    assert isinstance(told["details"], list)
    assert told["details"]
    for issue in told["details"]:
        assert isinstance(issue["code"], str)
        assert isinstance(issue["path"], list)
        assert isinstance(issue["message"], str)
    return {".".join(map(str, issue["path"])) for issue in told["details"]}
