"""CPU time of writing one page (markdown file and JSON line) into OUT, and of naming it.

python benchmarks/sink.py [PAGES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import msgspec

from perseid.model.document import Document
from perseid.sink.pages import PageWriter
from perseid.sink.paths import page_path

PAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
BODY = "A paragraph of prose with `code` and a [link](https://example.org/).\n\n" * 100


def documents() -> list[tuple[bytes, Document]]:
    found = []
    for number in range(PAGES):
        url = f"https://example.org/docs/part-{number % 40}/page-{number}.html"
        document = Document(
            url=url,
            source_url=url,
            status=200,
            title=f"Page {number}: a title",
            content_type="text/html; charset=utf-8",
            markdown=BODY,
            metadata={"description": "What this page is about.", "language": "en"},
            fetched_at=1_700_000_000_000_000 + number,
        )
        found.append((msgspec.json.encode(document), document))
    return found


def main() -> None:
    pages = documents()
    writing, naming = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.process_time()
            with PageWriter(Path(folder), Path(folder) / "cursor", "a") as writer:
                for seq, (line, document) in enumerate(pages, 1):
                    writer.write(seq, line, document)
            writing.append(time.process_time() - begin)
        begin = time.process_time()
        for _line, document in pages:
            page_path(document.url)
        naming.append(time.process_time() - begin)
    print(f"{'step':<12}{'µs a page':>10}")
    print(f"{'write':<12}{min(writing) / PAGES * 1e6:>10.1f}")
    print(f"{'name':<12}{min(naming) / PAGES * 1e6:>10.1f}")


if __name__ == "__main__":
    main()
