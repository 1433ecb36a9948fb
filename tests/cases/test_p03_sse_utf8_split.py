"""P03: a character of several bytes may be cut between two reads; nothing is decoded before its line is whole."""

import asyncio
import json

import pytest

from tests.cases.calls import as_public, call, one_upstream
from tests.cases.forms import STREAMS, StreamForm
from tests.world.events import DONE
from tests.world.http_message import SeenRequest
from tests.world.script import Step, end, head, pieces
from tests.world.world import World

TEXT = "한글🙂"


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_text_is_the_same_wherever_its_bytes_are_cut(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    sent = form.content(TEXT)
    begin = sent.index(TEXT.encode())
    rest = form.finish("stop") + DONE

    def split(request: SeenRequest) -> tuple[Step, ...]:
        at = begin + json.loads(request.body)["seed"]
        return (head(), *pieces(sent[:at], sent[at:] + rest), end())

    upstream.standing(split)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(world, gateway, form, seed=at)) for at in range(len(TEXT.encode()) + 1)]
    for made in calls:
        got = made.result()
        assert got.text(form) == TEXT
        assert got.body == as_public(sent + form.finish("stop")) + DONE
