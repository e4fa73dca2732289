"""CPU time and memory of reading sitemaps of 50,000 URLs, sound, broken and as text."""

from __future__ import annotations

import gzip
import time
import tracemalloc

from perseid.links.sitemap import SitemapParser

COUNT = 50_000
CHUNK = 64 * 1024


def read(body: bytes) -> int:
    """Feed as a fetcher would, keeping nothing."""
    parser = SitemapParser()
    found = sum(len(parser.feed(body[at : at + CHUNK])) for at in range(0, len(body), CHUNK))
    return found + len(parser.close())


def bodies() -> dict[str, bytes]:
    entries = [
        f"<url><loc>https://www.shop.example/department/{n % 97}/product-{n}.html?ref=map&amp;page={n}</loc>"
        "<lastmod>2026-03-01T12:00:00+00:00</lastmod><changefreq>weekly</changefreq>"
        "<priority>0.5</priority></url>\n"
        for n in range(COUNT)
    ]
    start = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    sound = (start + "".join(entries) + "</urlset>").encode()
    lines = "".join(f"https://www.shop.example/department/{n % 97}/product-{n}.html\n" for n in range(COUNT))
    return {
        "urlset": sound,
        "urlset, gzipped": gzip.compress(sound, 6),
        "urlset, bare &": sound.replace(b"&amp;", b"&"),
        "text": lines.encode(),
    }


def main() -> None:
    print(f"{'file':<18}{'MB':>7}{'found':>9}{'CPU ms':>9}{'peak MB':>9}")
    for name, body in bodies().items():
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            found = read(body)
            best = min(best, time.process_time() - start)
        tracemalloc.start()
        read(body)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{name:<18}{len(body) / 1e6:>7.1f}{found:>9}{best * 1e3:>9.0f}{peak / 1e6:>9.1f}")


if __name__ == "__main__":
    main()
