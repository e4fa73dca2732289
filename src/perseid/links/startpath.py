"""How far down the start URL's own path confines a crawl that doesn't take the entire domain."""

from __future__ import annotations

import re

from perseid.dom import url as urls
from perseid.links.host import politeness_host
from perseid.links.key import normalize_href

_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,7}$")


def confining(requested: str, final: str) -> str:
    """Of the start URL as it was asked for and as it was found: the one whose path confines the crawl.

    A front page that leads on within the same site (`/` to `/home/`) leaves the site open; a start page that
    has moved elsewhere takes the crawl along.
    """
    asked, found = urls.parse(requested), urls.parse(final)
    if asked is None or found is None or politeness_host(requested) != politeness_host(final):
        return final
    return requested if StartPath(asked.path).covers(found.path) else final


class StartPath:
    """The paths under that of the start page.

    | start            | covers                             |
    |------------------|------------------------------------|
    | `/`              | everything                         |
    | `/docs/`         | `/docs/` and below, `/docs` itself |
    | `/docs/a.html`   | the same                           |
    | `/docs`          | `/docs` and below `/docs/`         |
    | `/docs/v1.2`     | `/docs/v1.2` and below             |

    What counts as a file is a last segment that ends in a dot, a letter, and one to seven letters or digits.
    """

    __slots__ = ("_folder", "_page")

    def __init__(self, path: str) -> None:
        path = normalize_href(path)
        folder, _, last = path.rpartition("/")
        self._folder = f"{folder}/" if not last or _FILE.search(last) else f"{path}/"
        self._page = self._folder[:-1]

    @property
    def rule(self) -> str:
        """The path below which pages are accepted, for people."""
        return self._folder

    def may_cover(self, prefix: str, *, exact: bool) -> bool:
        """Whether some path that begins with `prefix` (or with `exact`, is it) is covered."""
        return self.covers(prefix) or (not exact and self._folder.startswith(prefix))

    def covers(self, path: str) -> bool:
        if "%" in path:
            path = normalize_href(path)
        return path.startswith(self._folder) or path == self._page
