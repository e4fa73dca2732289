"""Ten sites unlike each other, on loopback: five of stored pages of real sites, five written here.

What lies beside this file (rules, seeds, truths) names sites by their public addresses; `Web.local` puts those of this
machine in their place, in pages as well.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.sites import made

from perseid.dom.tree import parse
from perseid.testing import Answer, Request, Site
from perseid.testing.site import Pages

HERE = Path(__file__).parent
ORIGINS = {
    "news": "https://www.aljazeera.com",
    "shop": "https://www.ifixit.com",
    "forum": "https://bbs.archlinux.org",
    "wiki": "https://wiki.archlinux.org",
    "desks": "https://www.ikea.com",
    "jobs": "https://stellen.test",
    "api": "https://api.test",
    "feed": "https://podcast.test",
    "login": "https://members.test",
    "chinese": "https://shuwu.test",
}
STORED = {
    "news": ("aeb-42aad16bde928862", "aeb-7916ecca969ffdd8"),
    "shop": ("wcxb-0621", "wcxb-2981", "wcxb-3022", "wcxb-3023"),
    "forum": ("wcxb-0541", "wcxb-0555"),
    "wiki": ("wcxb-0682", "wcxb-2879", "wcxb-2998"),
}
DESKS = "wcxb-2925"
DESKS_PATH = "/us/en/cat/desks-computer-desks-20649/"
TOKEN = "t0ken"
PASSWORD = "open sesame"


class Web:
    """The ten sites of one test."""

    def __init__(self, shared: Path) -> None:
        self.site = Site(*ORIGINS)
        self._folders = [shared / "data/extraction" / name for name in ("wcxb", "mixed")]
        self._truths = {folder: json.loads((folder / "truth.json").read_text("utf-8")) for folder in self._folders}

    def local(self, text: str) -> str:
        for name, origin in ORIGINS.items():
            text = text.replace(origin, self.site.host(name).origin)
            text = text.replace(origin.replace("/", "\\/"), self.site.host(name).origin.replace("/", "\\/"))
        return text

    def public(self, text: str) -> str:
        for name, origin in ORIGINS.items():
            text = text.replace(self.site.host(name).origin, origin)
        return text

    def lay(self) -> None:
        """Once the ports are known."""
        for name, ids in STORED.items():
            for each in ids:
                address, body = self._stored(each)
                path = address.removeprefix(ORIGINS[name])
                self.site.host(name).page(path, self.local(body), headers={"Content-Type": "text/html; charset=utf-8"})
        self._desks()
        host = self.site.host
        made.news_feed(host("news"), [urlsplit(self._stored(each)[0]).path for each in STORED["news"]])
        made.shop_sitemaps(host("shop"), [urlsplit(self._stored(each)[0]).path for each in STORED["shop"]])
        made.jobs(host("jobs"))
        made.api(host("api"), TOKEN)
        made.feeds(host("feed"))
        made.members(host("login"), PASSWORD)
        made.books(host("chinese"))

    def _stored(self, name: str) -> tuple[str, str]:
        """Where a stored page was, and its source."""
        for folder in self._folders:
            if name in self._truths[folder]:
                stored = folder / "html" / f"{name}.html.gz"
                return self._truths[folder][name]["url"], gzip.decompress(stored.read_bytes()).decode(
                    "utf-8", "replace"
                )
        raise LookupError(name)

    def _desks(self) -> None:
        """The stored page holds 24 desks: here half of them are on a second page."""
        body = self.local(self._stored(DESKS)[1])
        for number, kept in ((1, slice(None, 12)), (2, slice(12, None))):
            tree = parse(body)
            desks = tree.select(".plp-fragment-wrapper")
            for desk in desks:
                if desk not in desks[kept]:
                    tree.remove(desk)
            if number == 2:
                for link in tree.select('a[href*="page=2"], link[href*="page=2"]'):
                    tree.remove(link)
            path = DESKS_PATH if number == 1 else f"{DESKS_PATH}?page=2"
            self.site.host("desks").page(path, f"<!doctype html>{tree.outer_html(tree.root)}")

    def write(self, folder: Path) -> None:
        """Rules, seeds and what they name, as an analyst has them in a folder."""
        (folder / "rules").mkdir()
        for file in (*sorted((HERE / "rules").iterdir()), HERE / "seeds.yaml", HERE / "warehouse.yaml"):
            target = folder / file.relative_to(HERE)
            target.write_text(self.local(file.read_text("utf-8")), "utf-8")
        (folder / "lists").mkdir()
        (folder / "lists" / "titles.csv").write_text("no;title\n1;Sudo\n2;Systemd\n3;Pacman\n", "utf-8")
        with closing(sqlite3.connect(folder / "members.db")) as database:
            database.execute("CREATE TABLE member(name TEXT PRIMARY KEY, active INTEGER)")
            database.executemany("INSERT INTO member VALUES (?, ?)", [("ann", 1), ("bob", 0), ("cy", 1), ("dee", 1)])
            database.commit()

    def truth(self, name: str) -> dict[str, dict[str, object]]:
        """What the site holds, by key, written down from its pages by hand."""
        found: dict[str, dict[str, object]] = json.loads((HERE / "truth" / f"{name}.json").read_text("utf-8"))
        return found


__all__ = ["ORIGINS", "PASSWORD", "TOKEN", "Answer", "Pages", "Request", "Web"]
