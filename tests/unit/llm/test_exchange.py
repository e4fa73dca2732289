"""What a server's trouble comes to: tried again, waited for, or told; and never with a secret in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from perseid.errors import ConfigError, Unavailable
from perseid.llm.chat import ChatModel
from perseid.testing import Answer

from .conftest import Hurried, Server, completion, refusal


async def ask(model: ChatModel, timeout_s: float = 60) -> object:
    return (await model.ask("S", "U", timeout_s=timeout_s)).value


async def test_a_server_that_asks_for_patience_gets_it(server: Server, model: ChatModel, clock: Hurried) -> None:
    server.say(refusal(429, "slow down", **{"Retry-After": "7"}), completion("ok"))
    assert await ask(model) == "ok"
    assert clock.slept == [7.0]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_trouble_that_passes_is_sat_out_ever_longer(
    server: Server, model: ChatModel, clock: Hurried, status: int
) -> None:
    server.say(refusal(status, "no"), refusal(status, "no"), completion("ok"))
    assert await ask(model) == "ok"
    first, second = clock.slept
    assert 0.5 <= first <= 0.75
    assert 1.0 <= second <= 1.5


async def test_more_patience_than_there_is_time_is_told_at_once(
    server: Server, model: ChatModel, clock: Hurried
) -> None:
    server.say(refusal(429, "slow down", **{"Retry-After": "90"}))
    with pytest.raises(Unavailable, match=r"\(429: slow down\); try again in 90 s") as raised:
        await ask(model)
    assert raised.value.retryable
    assert clock.slept == []


async def test_trouble_that_stays_is_told(server: Server, model: ChatModel) -> None:
    server.say(refusal(500, "out of memory"))
    with pytest.raises(Unavailable, match="500: out of memory") as raised:
        await ask(model)
    assert raised.value.retryable
    assert len(server.asked) == 6


async def test_a_used_up_quota_is_not_waited_for(server: Server, model: ChatModel) -> None:
    server.say(Answer(status=429, body='{"error": {"message": "pay first", "code": "insufficient_quota"}}'))
    with pytest.raises(Unavailable, match="pay first"):
        await ask(model)
    assert len(server.asked) == 1


async def test_a_server_that_says_nothing_is_given_up_in_time(server: Server, model: ChatModel) -> None:
    server.say(Answer(hang=True))
    with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s") as raised:
        await ask(model, timeout_s=0.2)
    assert raised.value.retryable


async def test_a_broken_connection_is_tried_again(server: Server, model: ChatModel) -> None:
    server.say(Answer(reset=True), completion("ok"))
    assert await ask(model) == "ok"


async def test_a_server_that_is_not_there_is_told(server: Server, model: ChatModel) -> None:
    await server.stop()
    with pytest.raises(Unavailable, match="no answer") as raised:
        await ask(model)
    assert raised.value.retryable


async def test_an_answer_without_an_end_is_broken_off(server: Server, model: ChatModel) -> None:
    server.say(Answer(body=b"x" * 1_000_000, endless=True))
    with pytest.raises(Unavailable, match="larger than 16 MB"):
        await ask(model)
    assert len(server.asked) == 1


async def test_a_refused_key_is_told_without_the_key(server: Server, model: ChatModel) -> None:
    server.say(refusal(401, "Incorrect API key provided: sk-secret-1234"))
    with pytest.raises(Unavailable, match="PERSEID_LLM__API_KEY") as raised:
        await ask(model)
    assert "sk-secret" not in str(raised.value)
    assert len(server.asked) == 1


async def test_a_model_nobody_knows_is_told_with_the_settings(server: Server, model: ChatModel) -> None:
    server.say(refusal(404, "model 'stone-7' not found"))
    with pytest.raises(Unavailable, match=r"'stone-7' not found.*PERSEID_LLM__MODEL"):
        await ask(model)


async def test_a_redirect_is_not_followed_with_the_key(server: Server, model: ChatModel) -> None:
    server.say(Answer(status=307, headers={"Location": server.url("/elsewhere")}))
    with pytest.raises(Unavailable, match="redirects elsewhere"):
        await ask(model)
    assert "/elsewhere" not in server.counts()


async def test_a_password_in_the_address_stays_out_of_messages(
    server: Server, connect: Callable[..., ChatModel]
) -> None:
    server.say(refusal(403, "no"))
    with pytest.raises(Unavailable) as raised:
        await ask(connect(base_url=f"http://user:hush@127.0.0.1:{server.port}/v1", key=""))
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize("address", ["localhost:11434", "ftp://x/v1", "http://", "http://[::"])
async def test_an_address_that_is_none_is_refused_at_once(connect: Callable[..., ChatModel], address: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        connect(base_url=address)


async def test_questions_beyond_the_bound_wait_for_their_turn(
    server: Server, connect: Callable[..., ChatModel]
) -> None:
    server.say(Answer(delay_s=0.01, headers={"Content-Type": "application/json"}, body=completion("ok").body))
    model = connect(most_at_once=2)
    await asyncio.gather(*[ask(model) for _ in range(6)])
    assert server.peak() == 2
