import asyncio
from typing import Any

import pytest

from ktms.adapters.redis.lua import Script
from ktms.adapters.redis.request import Request


def made(**options: Any) -> tuple[Request, "asyncio.Future[Any]", list[Any]]:
    unheard: list[Any] = []
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    return Request(("PING",), 1.0, answer=answer, unheard=unheard.append, **options), answer, unheard


def test_a_script_is_asked_for_by_its_digest() -> None:
    assert Request((1, "key", "a"), 1.0, Script("return 1", "abc")).command() == ("EVALSHA", "abc", 1, "key", "a")
    assert Request(("GET", "key"), 1.0).command() == ("GET", "key")


async def test_an_answer_goes_to_who_waits_and_to_nobody_else() -> None:
    request, answer, unheard = made()
    request.resolve(7)
    assert (await answer, unheard, request.over) == (7, [], True)


async def test_an_answer_that_nobody_waits_for_is_unheard() -> None:
    request, answer, unheard = made()
    answer.cancel()
    request.resolve(7)
    assert unheard == [7]


async def test_a_failure_leaves_open_what_was_carried_out() -> None:
    request, answer, unheard = made()
    request.fail(OSError("lost"))
    with pytest.raises(OSError, match="lost"):
        await answer
    assert unheard == [None]


async def test_a_refusal_was_not_carried_out() -> None:
    request, answer, unheard = made()
    request.refuse(OSError("no"))
    request.refuse(OSError("twice"))
    with pytest.raises(OSError, match="no"):
        await answer
    assert unheard == []


async def test_where_nobody_waits_nothing_is_over_before_its_time() -> None:
    request = Request(("PING",), 1.0)
    request.resolve(7)
    request.fail(OSError())
    request.refuse(OSError())
    assert not request.over
