from __future__ import annotations

import socket

import pytest

from perseid.fetch.resolver import Found, Resolver, ask_system

FOUND = [Found(socket.AF_INET6, "2001:db8::1"), Found(socket.AF_INET, "192.0.2.1")]


@pytest.fixture
async def names():
    """The resolver, a list of the names the system was asked for, and a hand on its clock."""
    asked: list[str] = []
    now = [1000.0]

    def ask(host):
        asked.append(host)
        if host.startswith("dead"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return FOUND

    subject = Resolver(ask=ask, now_s=lambda: now[0])
    yield subject, asked, now
    await subject.close()


async def test_answers_are_kept_for_a_minute(names):
    subject, asked, now = names
    await subject.lookup("a.test")
    now[0] += 59
    await subject.lookup("a.test")
    assert asked == ["a.test"]
    now[0] += 2
    await subject.lookup("a.test")
    assert asked == ["a.test", "a.test"]


async def test_failures_are_not_kept(names):
    subject, asked, _ = names
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            await subject.lookup("dead.test")
    assert len(asked) == 2


async def test_it_works_again_after_closing(names):
    subject, asked, _ = names
    await subject.lookup("a.test")
    await subject.close()
    await subject.lookup("a.test")
    assert len(asked) == 2


@pytest.mark.parametrize("host", ["x" * 300, "a..b", "\0", "ü.test", "." * 10, "a" * 64 + ".test", " ", ""])
def test_what_is_no_name_is_no_such_name(host):
    with pytest.raises(socket.gaierror):
        ask_system(host)


def test_an_address_of_several_protocols_comes_once():
    found = ask_system("127.0.0.1")
    assert found == [Found(socket.AF_INET, "127.0.0.1")]
