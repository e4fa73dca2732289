"""The small world the machine crawls in, and what a run of a job may bring home from it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.work import Again, Done, End, Failed, Finished, HostNote, Lease, NewUrl, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import denied, document, kickoff, page, sitemap
from perseid.testing.conformance.store.oracle import CrawlModel

UNIVERSE = [page(f"https://h{n % 4}.example/{n}") for n in range(20)]
HOSTS = sorted({url.host for url in UNIVERSE})
GAP = 2 * SECOND
"""Of the first host, once a page has learnt it."""
SOME_URLS = st.lists(st.sampled_from(UNIVERSE), max_size=6)


class Plan(NamedTuple):
    """A crawl to start. It has a limit or a maximum depth: both at once leave several lawful ends."""

    first: Sequence[NewUrl]
    begin: str
    bounds: tuple[str, int]
    concurrency: int | None
    delay_us: int
    team: int
    kind: CrawlKind

    @property
    def is_batch(self) -> bool:
        return self.kind is CrawlKind.BATCH

    @property
    def limit(self) -> int | None:
        return self.bounds[1] if self.bounds[0] == "limit" else None

    @property
    def most(self) -> int | None:
        return self.bounds[1] if self.bounds[0] == "depth" and self.kind is CrawlKind.CRAWL else None

    def jobs(self) -> list[NewUrl]:
        match self.begin if self.kind is CrawlKind.CRAWL else "pages":
            case "kickoff":
                return [kickoff()]
            case "sitemap":
                return [*self.first, sitemap("https://h0.example/map")]
        return list(self.first)


PLANS = st.builds(
    Plan,
    st.lists(st.sampled_from(UNIVERSE), min_size=1, max_size=4, unique=True),
    st.sampled_from(["pages", "kickoff", "sitemap"]),
    st.one_of(
        st.just(("none", 0)),
        st.tuples(st.just("limit"), st.integers(1, 12)),
        st.tuples(st.just("depth"), st.integers(0, 4)),
    ),
    st.none() | st.integers(1, 3),
    st.sampled_from([0, 0, 0, SECOND]),
    st.integers(1, 2),
    st.sampled_from([CrawlKind.CRAWL, CrawlKind.CRAWL, CrawlKind.BATCH, CrawlKind.SEED]),
)


class Outcome(NamedTuple):
    """How a run went; `flag` is the finer point of its kind."""

    kind: str
    urls: Sequence[NewUrl] = ()
    refused: Sequence[NewUrl] = ()
    flag: bool = False


KINDS = ("done", "done", "done", "done", "failed", "refused", "again", "later", "moved", "throttled")
OUTCOMES = st.builds(
    Outcome,
    st.sampled_from(KINDS),
    SOME_URLS,
    st.lists(st.sampled_from(UNIVERSE), max_size=2),
    st.booleans(),
)


def any_outcome(chance: random.Random) -> Outcome:
    """One of `OUTCOMES`, for long runs that are drawn by their seed alone."""
    urls, refused = chance.sample(UNIVERSE, chance.randint(0, 6)), chance.sample(UNIVERSE, chance.randint(0, 2))
    return Outcome(chance.choice(KINDS), urls, refused, chance.random() < 0.5)


def bring_home(lease: Lease, crawl: CrawlModel, outcome: Outcome) -> Finished:
    """The end of a lease as a worker would tell it."""
    kind, urls, refused, flag = outcome
    if crawl.is_batch:
        urls, refused = (), ()
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
    # With a maximum depth several lawful ends would be left.
    links = list(urls) if kind == "done" or (kind in {"again", "later"} and crawl.most is None) else []
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
