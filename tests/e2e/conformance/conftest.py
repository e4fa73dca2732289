"""Servers as their users have them, shared by all tests, and for each file a web of its own to read."""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from perseid.testing import Site
from perseid.testing.service import serving
from perseid.testing.site import in_thread

_HOOK_SECRET = "s3cret"


@dataclass(frozen=True)
class Server:
    """An address, and how to ask there."""

    base: str
    http: httpx.Client = field(repr=False)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.request(method, path, json=body, headers=named)

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(path, json=body)

    def delete(self, path: str) -> httpx.Response:
        return self.http.delete(path)

    def told(self, path: str, **body: Any) -> dict[str, Any]:
        """The body of what must be a 200."""
        answer = self.post(path, **body) if body else self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        found: dict[str, Any] = answer.json()
        return found

    def page(self, url: str, *, version: str = "v2", **options: Any) -> dict[str, Any]:
        """The document of a scrape."""
        told = self.told(f"/{version}/scrape", url=url, **options)
        assert told["success"] is True, told
        document: dict[str, Any] = told["data"]
        return document

    def start(self, path: str, **body: Any) -> str:
        uid: str = self.told(path, **body)["id"]
        return uid

    def ended(self, path: str, within_s: float = 60) -> dict[str, Any]:
        """What a job says of itself once it is over."""
        until = time.monotonic() + within_s
        while (state := self.told(path))["status"] == "scraping":
            assert time.monotonic() < until, f"{path} does not end: {state}"
            time.sleep(0.03)
        return state

    def crawl(self, url: str, *, version: str = "v2", **options: Any) -> dict[str, Any]:
        """A crawl once it is over."""
        return self.ended(f"/{version}/crawl/{self.start(f'/{version}/crawl', url=url, **options)}")

    def crawled(self, url: str, **options: Any) -> list[str]:
        """The addresses whose pages a crawl has brought, sorted."""
        return sorted(page["metadata"]["sourceURL"] for page in self.crawl(url, **options)["data"])


def _asked(base: str) -> Iterator[Server]:
    with httpx.Client(base_url=base, timeout=90) as http:
        yield Server(base, http)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one process that crawls, which signs what it delivers."""
    secret = {"SELF_HOSTED_WEBHOOK_HMAC_SECRET": _HOOK_SECRET, "ALLOW_LOCAL_WEBHOOKS": "true"}
    with serving(tmp_path_factory.mktemp("conformance"), environment=secret) as served:
        yield from _asked(served[0])


@pytest.fixture(scope="session")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose crawls stand still, for nobody works on them."""
    with serving(tmp_path_factory.mktemp("idle"), workers=0) as served:
        yield from _asked(served[0])


@pytest.fixture(scope="session")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that wants a key."""
    keys = {"PERSEID_API__KEYS": "fc-first,fc-second"}
    with serving(tmp_path_factory.mktemp("locked"), workers=0, environment=keys) as served:
        yield from _asked(served[0])


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    """A site with further hosts; each test writes pages of its own below a folder of its own."""
    with in_thread(Site("other", "third", "fourth")) as site:
        yield site


@pytest.fixture(scope="session")
def hook_secret() -> bytes:
    return _HOOK_SECRET.encode()


@pytest.fixture(scope="session")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """TLS with a certificate that nobody vouches for."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "30",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
