"""P13: the vendor's own counts win, wherever they stand; cumulative ones replace each other."""

import pytest

from ktms.domain.conversation.usage import Usage
from tests.cases.calls import as_public, booked, call, one_upstream
from tests.cases.forms import CHAT, CHAT_STREAM, EMBEDDINGS, PROMPT_TOKENS, STREAMS, WHOLES, StreamForm, WholeForm
from tests.world.events import DONE, VENDOR_MODEL, compact, delta, usage
from tests.world.script import answer, stream
from tests.world.world import World

CACHED = usage(1000, 12, prompt_tokens_details={"cached_tokens": 900})


async def test_usage_on_a_content_chunk_is_taken_with_its_cached_tokens(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    sent = (delta({"content": "a"}), delta({"content": "b"}, finish="stop", usage=CACHED))
    upstream.script(*stream(*sent, DONE))

    got = await call(world, gateway, CHAT_STREAM)

    assert got.body == as_public(b"".join(sent)) + DONE
    assert (await booked(gateway)).event.usage == Usage(1000, 12, cached_tokens=900)


async def test_cumulative_usage_on_every_chunk_is_replaced_not_summed(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    sent = [delta({"content": "w "}, usage=usage(1000, count)) for count in range(1, 12)]
    sent.append(delta({}, finish="stop", usage=CACHED))
    upstream.script(*stream(*sent, DONE))

    got = await call(world, gateway, CHAT_STREAM)

    assert got.body == as_public(b"".join(sent)) + DONE
    assert (await booked(gateway)).event.usage == Usage(1000, 12, cached_tokens=900)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_usage_null_on_every_chunk_but_the_last_is_no_usage(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    said = form.content("a").replace(b"}\n\n", b',"usage":null}\n\n')
    upstream.script(*stream(said, form.finish("stop"), form.usage(9, 1), said.replace(b'"a"', b'""'), DONE))

    got = await call(world, gateway, form)

    assert got.is_done
    assert (await booked(gateway)).event.usage == Usage(9, 1)


async def test_cached_tokens_of_a_whole_answer_are_kept(world: World) -> None:
    upstream, gateway = await one_upstream(world)
    body = CHAT.body.replace(compact(usage(7, 2)), compact(CACHED))
    assert body != CHAT.body
    upstream.script(*answer(body))

    got = await call(world, gateway, CHAT)

    assert got.body == as_public(body)
    assert (await booked(gateway)).event.usage == Usage(1000, 12, cached_tokens=900)


@pytest.mark.parametrize("form", WHOLES, ids=str)
async def test_a_whole_answer_without_usage_is_estimated_from_its_text_alone(
    world: World, form: WholeForm
) -> None:
    upstream, gateway = await one_upstream(world)
    text = "four"
    bodies = {
        "chat": {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
        },
        "completions": {"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]},
        "embeddings": {"data": [{"object": "embedding", "index": 0, "embedding": [0.125] * 1024}]},
    }
    upstream.script(*answer(compact({"model": VENDOR_MODEL, **bodies[form.name]})))

    got = await call(world, gateway, form)

    assert got.status == 200
    completion = 0 if form is EMBEDDINGS else 1
    assert (await booked(gateway)).event.usage == Usage(PROMPT_TOKENS, completion, estimated=True)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_stream_without_usage_is_estimated_from_what_was_delivered(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*stream(form.content("four" * 10), form.finish("stop"), DONE))

    got = await call(world, gateway, form)

    assert got.is_done
    assert (await booked(gateway)).event.usage == Usage(PROMPT_TOKENS, 10, estimated=True)
