"""P30: what we do not know passes untouched, in both directions: numbers, order, spelling, spaces."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from tests.cases.calls import as_public, booked, one_upstream, reply
from tests.cases.forms import CHAT, COMPLETIONS, EMBEDDINGS, FORMS, STREAMS, WHOLES, Form, StreamForm, WholeForm
from tests.world.catalogues import KEY, MODEL
from tests.world.client import post
from tests.world.events import DONE, VENDOR_MODEL
from tests.world.script import answer, stream
from tests.world.world import World

UNKNOWN = (
    b'"client_metadata":{"k":"v","n":[1.0,1e3,-0.0,0.1000]},"chat_template_kwargs" : {"enable_thinking":false},\n'
    b'"seed":18446744073709551615, "temperature":0.70, "top_p":1E0,"x":"\\u00e9\\/\xf0\x9f\x99\x82","y":null'
)
PROMPTS = {
    CHAT.target: b'"messages":[{"role":"user","content":"hi","name":"\\u0061"}]',
    COMPLETIONS.target: b'"prompt":["hi"]',
    EMBEDDINGS.target: b'"input":[[1,2,3]]',
}


def written(form: Form, model: str, streaming: bytes = b"") -> bytes:
    """Write a request in an odd spelling; the model stands in the middle."""
    return b'{ %b%b,\n\t"model" : "%b" ,%b }' % (PROMPTS[form.target], streaming, model.encode(), UNKNOWN)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_the_vendor_gets_the_clients_bytes_but_for_the_model(world: World, form: Form) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*form.healthy())
    streaming = b',"stream":true, "stream_options":{"include_usage":true, "z":1.0}' if form in STREAMS else b""
    client = await world.client(gateway)
    client.send(post(form.target, written(form, MODEL, streaming), key=KEY))

    assert (await reply(client)).status == 200

    request = await upstream.request()
    assert request.body == written(form, VENDOR_MODEL, streaming)
    assert request.head.target == form.target
    assert request.head.header("content-length") == str(len(request.body))
    assert (await booked(gateway)).event.status is AttemptStatus.OK


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_asking_for_usage_adds_that_one_member_and_nothing_else(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*form.healthy())
    client = await world.client(gateway)
    client.send(post(form.target, written(form, MODEL, b',"stream":true'), key=KEY))

    assert (await reply(client)).status == 200

    added = b',"stream_options":{"include_usage":true}'
    body = (await upstream.request()).body
    assert body.count(added) == 1
    assert body.replace(added, b"") == written(form, VENDOR_MODEL, b',"stream":true')


@pytest.mark.parametrize("form", WHOLES, ids=str)
async def test_our_own_field_is_taken_out(world: World, form: WholeForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*form.healthy())
    client = await world.client(gateway)
    ours = b',"ktms":{"placement":"cloud_only"}'
    client.send(post(form.target, written(form, MODEL, ours), key=KEY))

    got = await reply(client)

    assert got.status == 200
    assert got.head.header("x-ktms-placement") == "cloud_only"
    assert (await upstream.request()).body == written(form, VENDOR_MODEL)


@pytest.mark.parametrize("form", WHOLES, ids=str)
async def test_unknown_members_of_an_answer_reach_the_client(world: World, form: WholeForm) -> None:
    upstream, gateway = await one_upstream(world)
    body = (
        b'{"zz" : {"model":"nested"}, "n":18446744073709551615,"f":1.0, ' + form.body[1:-1] + b' , "last":null }\n'
    )
    upstream.script(*answer(body))
    client = await world.client(gateway)
    client.send(post(form.target, dict(form.fields), key=KEY))

    got = await reply(client)

    assert got.body == as_public(body)
    assert (await booked(gateway)).event.usage == form.counted


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_unknown_members_of_chunks_reach_the_client(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    odd = b'data: {"zz" : {"model":"nested"}, "n":18446744073709551615,"f":1.0, '
    events = [
        event.replace(b"data: {", odd) for event in (form.content("a"), form.content("b"), form.finish("stop"))
    ]
    upstream.script(*stream(*events, DONE))
    client = await world.client(gateway)
    client.send(post(form.target, dict(form.fields), key=KEY))

    got = await reply(client)

    assert got.body == as_public(b"".join(events)) + DONE
    assert (await booked(gateway)).event.status is AttemptStatus.OK
