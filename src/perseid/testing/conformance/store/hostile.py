"""Data that no text column likes, and values no integer column holds: one bad page costs no other page."""

from __future__ import annotations

import pytest

from perseid.errors import NotFound
from perseid.model.crawl import CrawlStatus
from perseid.model.verdict import Denial, DenialReason, Denied
from perseid.ports.work import Again, Done, Failed, Finished, HostNote, Lease, StoredDocument
from perseid.testing.conformance.store.desk import HOME, Desk, document, ended, key_of, page

BAD = ["a\x00b", "a\ud800b", "\udfff\ud800", "\x00", "\U0010ffff\ufffe", "x" * 100_000]


async def _survives(desk: Desk, poisoned: Finished, *others: Finished) -> None:
    """The poisoned page ends, cleaned or as a failure, and the other pages of its batch are kept."""
    crawl = poisoned.lease.crawl
    result = await desk.step([others[0], poisoned, *others[1:]])
    assert result.kept[0]
    assert all(result.kept[2:])
    await desk.drain()
    seen = await desk.look(crawl)
    assert seen.status is CrawlStatus.COMPLETED
    assert seen.counts.done >= len(others)
    assert (await desk.store.failure_counts(crawl)).keys() <= {"store_error", "timeout"}
    documents = set(await desk.documents(crawl))
    assert {other.lease.url for other in others} <= documents


async def _three(desk: Desk) -> tuple[Lease, Lease, Lease]:
    await desk.start("one", "two", "three")
    one, two, three = await desk.claim_all()
    return one, two, three


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_document(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    end = Done(document=StoredDocument(HOME + bad, 200, bad, b"\x00\xff", None))
    await _survives(desk, ended(two, end=end), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_link(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    link = page("l")._replace(url=HOME + bad, payload=bad)
    await _survives(desk, ended(two, link, "n2"), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_host(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    link = page("l")._replace(host=bad)
    notes = [HostNote(host=bad, answered=True)]
    await _survives(desk, ended(two, link, hosts=notes), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_refusal(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    refused = [Denied(bad, key_of(bad), Denial(DenialReason.EXCLUDE_PATTERN, bad, bad))]
    await _survives(desk, ended(two, denied=refused), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_failure(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    end = Failed(code="timeout", message=bad, document=document(bad))
    await _survives(desk, ended(two, end=end), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_redirect(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    poisoned = ended(two, final_key=key_of(bad), final_url=HOME + bad)
    await _survives(desk, poisoned, ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_a_poisoned_move(desk: Desk, bad: str) -> None:
    one, two, three = await _three(desk)
    again = Again(host=bad, code=bad, message=bad, hops=b"\xff")
    await _survives(desk, ended(two, end=again), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
async def test_numbers_beyond_the_column_fail_only_their_page(desk: Desk, number: int) -> None:
    one, two, three = await _three(desk)
    end = Done(document=document(two.url, status=number))
    await _survives(desk, ended(two, end=end), ended(one, "n1"), ended(three, "n3"))


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1, 10**30])
async def test_keys_beyond_the_column_fail_only_their_page(desk: Desk, key: int) -> None:
    one, two, three = await _three(desk)
    await _survives(desk, ended(two, page("l", key=key)), ended(one, "n1"), ended(three, "n3"))


async def test_the_culprit_of_a_bad_batch_is_named(desk: Desk) -> None:
    one, two, three = await _three(desk)
    await desk.step([ended(one), ended(two, end=Done(document=document(two.url, status=10**30))), ended(three)])
    (failure,) = await desk.store.failures(two.crawl)
    assert (failure.url, failure.code) == (two.url, "store_error")
    assert failure.message


async def test_a_culprit_in_a_batch_loses_no_claim(desk: Desk) -> None:
    """The claims of a step must come out of it whichever way its pages had to be written."""
    await desk.start("one", "two", "three", "four")
    one, two = await desk.claim(2)
    poisoned = ended(two, end=Done(document=document(two.url, status=10**30)))
    result = await desk.step([ended(one, "five"), poisoned], 10)
    rest = result.leases + await desk.claim_all()
    assert sorted(lease.url for lease in rest) == [page(name).url for name in ("five", "four", "three")]


@pytest.mark.parametrize("bad", BAD[:3], ids=ascii)
async def test_a_crawl_of_a_poisoned_url(desk: Desk, bad: str) -> None:
    crawl = await desk.start(page("x")._replace(url=HOME + bad), url=HOME + bad, options=b"\xff\x00")
    await desk.drain()
    seen = await desk.look(crawl)
    assert (seen.status, seen.options) == (CrawlStatus.COMPLETED, b"\xff\x00")


@pytest.mark.parametrize("bad", BAD[:3], ids=ascii)
async def test_poisoned_questions_get_answers(desk: Desk, bad: str) -> None:
    crawl = await desk.start()
    with pytest.raises(NotFound):
        await desk.store.crawl(f"none{bad}")
    assert (await desk.store.explain(crawl, [1], HOME + bad)).state == "unknown"
    await desk.store.put_robots("https://" + bad, 200, b"")
    await desk.store.get_robots("https://" + bad)
    assert await desk.store.fail(crawl, bad)
    assert (await desk.look(crawl)).error is not None


async def test_a_page_with_very_many_links_is_one_step(desk: Desk) -> None:
    crawl = await desk.start()
    urls = [page(f"https://h{n % 97}.example/{n}") for n in range(20_000)]
    await desk.finish(await desk.one(), *urls, denied=[])
    assert (await desk.look(crawl)).counts.discovered == 20_001
