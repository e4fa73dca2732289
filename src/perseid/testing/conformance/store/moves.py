"""The small world the machine crawls in, and what a run of a job may bring home from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from perseid.model.job import JobKind
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.store import Again, Done, End, Failed, Finished, HostNote, Lease, NewUrl, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import denied, document, page
from perseid.testing.conformance.store.oracle import CrawlModel

UNIVERSE = [page(f"https://h{n % 4}.example/{n}") for n in range(20)]
HOSTS = sorted({url.host for url in UNIVERSE})
GAP = 2 * SECOND
"""Of the first host, once a page has learnt it."""
SOME_URLS = st.lists(st.sampled_from(UNIVERSE), max_size=6)


class Outcome(NamedTuple):
    """How a run went; `flag` is the finer point of its kind."""

    kind: str
    urls: Sequence[NewUrl] = ()
    refused: Sequence[NewUrl] = ()
    flag: bool = False


OUTCOMES = st.builds(
    Outcome,
    st.sampled_from(["done", "done", "done", "failed", "refused", "again", "later", "moved", "throttled"]),
    SOME_URLS,
    st.lists(st.sampled_from(UNIVERSE), max_size=2),
    st.booleans(),
)


def bring_home(lease: Lease, crawl: CrawlModel, outcome: Outcome) -> Finished:
    """The end of a lease as a worker would tell it."""
    kind, urls, refused, flag = outcome
    is_page = lease.kind is not JobKind.SITEMAP
    stored = document(lease.url) if is_page else None
    ends: dict[str, End] = {
        "done": Done(document=stored),
        "failed": Failed(code="http_500", message="broken", document=stored if flag else None),
        "refused": Refused(denial=Denial(DenialReason.ROBOTS_TXT, "/")),
        "again": Again(attempted=flag),
        "later": Again(delay_us=SECOND * (1 + len(urls)), attempted=flag),
        "moved": Again(host=HOSTS[len(urls) % len(HOSTS)], hops=b"h", delay_us=SECOND if flag else 0),
        "throttled": Again(),
    }
    links = list(urls) if kind == "done" else []
    if not is_page:
        links = [url._replace(sitemap=True) for url in links] if crawl.most is None else []
    return Finished(
        lease=lease,
        end=ends[kind],
        urls=links,
        denied=[denied(url.url) for url in refused] if kind == "done" else [],
        cut=crawl.most is not None and is_page and lease.depth >= crawl.most,
        hosts=[_note(lease, outcome)],
    )


def _note(lease: Lease, outcome: Outcome) -> HostNote:
    throttled = outcome.kind == "throttled"
    return HostNote(
        host=lease.host,
        answered=not throttled,
        throttled=throttled,
        retry_after_us=(5 if outcome.flag else 1) * SECOND if throttled else None,
        request_age_us=0,
        gap_us=GAP if outcome.flag and lease.host == HOSTS[0] else None,
    )
