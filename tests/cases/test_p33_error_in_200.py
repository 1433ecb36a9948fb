"""P33: an error inside a 200 is an error: its real meaning ends the call or moves on, and it costs nothing."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from tests.cases.calls import UPSTREAM, Kind, Reply, booked, call, idle, one_upstream, two_vendors, works_again
from tests.cases.forms import CHAT_STREAM, FORMS, STREAMS, Form, StreamForm
from tests.world.events import DONE, comment, compact, error_answer, error_event, role
from tests.world.script import Step, answer, chunk, end, head, hold, stream
from tests.world.world import World

TOO_LONG = "context too long"

MOVES_ON: dict[str, tuple[int | str, str]] = {
    "429": (429, "429"),
    "503": (503, "503"),
    "text-503": ("503", "503"),
    "rate-limit": ("rate_limit_exceeded", "429"),
    "server-error": ("server_error", "500"),
}
"""Code of the error, and the word for it in the attempts' story."""


def said(
    form: Form, code: int | str | None, *, kind: str = "some_error", name: str | None = None
) -> tuple[Step, ...]:
    """Answer 200 and say an error in it."""
    if isinstance(form, StreamForm):
        return stream(error_event(TOO_LONG, code=code, kind=kind, name=name), DONE)
    return answer(error_answer(TOO_LONG, code=code, kind=kind))


def check_refused(got: Reply) -> None:
    assert got.status == 400
    assert got.head.header("content-type") == "application/json"
    assert got.error["message"] == TOO_LONG
    assert got.error["type"] == "invalid_request_error"
    assert got.retry_after is None


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_400_inside_is_the_clients_and_no_other_target_is_asked(world: World, form: Form) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*said(form, 400, kind="invalid_request_error"))

    check_refused(await call(world, gateway, form))

    assert second.requests == []
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.REFUSED
    assert books.event.usage == Usage()
    assert books.event.http_status == 200
    assert books.record.status == 400
    await works_again(world, gateway, first, form)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_named_error_event_is_one_too(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*said(form, None, kind="invalid_request_error", name="error"))

    check_refused(await call(world, gateway, form))

    assert (await booked(gateway)).event.status is AttemptStatus.REFUSED


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_plain_json_error_answers_a_streamed_call(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    body = error_answer(TOO_LONG, code=400)
    upstream.script(*answer(body))

    check_refused(await call(world, gateway, form))

    assert (await booked(gateway)).event.usage == Usage()


@pytest.mark.parametrize("code", MOVES_ON.values(), ids=MOVES_ON)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_what_another_target_may_mend_moves_on(
    world: World, form: Form, code: tuple[int | str, str]
) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*said(form, code[0]))
    second.script(*form.healthy())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.attempts == f"first:{code[1]}, second:ok"
    assert TOO_LONG.encode() not in got.body
    books = await booked(gateway)
    assert books.statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
    assert [event.usage for event in books.events] == [Usage(), form.counted]


@pytest.mark.parametrize(("code", "status"), [(429, 429), (503, 502), ("rate_limit_exceeded", 429)])
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_the_last_target_gives_a_real_status(world: World, form: Form, code: int | str, status: int) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*said(form, code))

    got = await call(world, gateway, form)

    assert got.status == status
    assert got.retry_after is not None
    assert TOO_LONG in got.error["message"]
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.FAILED
    assert books.event.usage == Usage()


@pytest.mark.parametrize(
    ("code", "status", "word"), [(429, 503, "busy"), (503, 502, "503"), ("rate_limit_exceeded", 503, "busy")]
)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_node_that_says_so_is_full_or_broken(
    world: World, form: Form, code: int | str, status: int, word: str
) -> None:
    upstream, gateway = await one_upstream(world, Kind.NODE)
    upstream.script(*said(form, code))

    got = await call(world, gateway, form)

    assert got.status == status
    assert got.attempts == f"local/upstream:{word}"
    assert got.retry_after is not None
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.FAILED
    assert books.event.usage == Usage()
    assert gateway.busy(UPSTREAM) == 0


@pytest.mark.parametrize("before", [role(), comment("wait")], ids=["role", "comment"])
async def test_an_error_behind_what_nobody_sees_is_still_a_status(world: World, before: bytes) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*stream(before, error_event(TOO_LONG, code=400)))

    check_refused(await call(world, gateway, CHAT_STREAM))

    assert (await booked(gateway)).event.usage == Usage()


@pytest.mark.parametrize("code", [400, 503], ids=str)
@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_an_error_behind_visible_text_is_one_error_event(world: World, form: StreamForm, code: int) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(head(), chunk(form.content("a")), chunk(error_event(TOO_LONG, code=code)), chunk(DONE), hold())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.whole
    assert got.text(form) == "a"
    assert TOO_LONG in got.error["message"]
    await upstream.left(0)
    books = await booked(gateway)
    assert books.event.status is AttemptStatus.INTERRUPTED
    assert books.event.usage.completion_tokens == 1
    idle(gateway)
    await works_again(world, gateway, upstream, form)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_an_error_of_null_is_none(world: World, form: StreamForm) -> None:
    upstream, gateway = await one_upstream(world)
    event = form.content("a").replace(b"}\n\n", b',"error":null}\n\n')
    upstream.script(head(), chunk(event + form.finish("stop") + DONE), end())

    got = await call(world, gateway, form)

    assert got.status == 200
    assert got.is_done


async def test_an_empty_object_is_no_answer_to_a_chat(world: World) -> None:
    first, second, gateway = await two_vendors(world)
    first.script(*answer(compact([])))
    second.script(*CHAT_STREAM.healthy())

    got = await call(world, gateway, CHAT_STREAM)

    assert got.status == 200
    assert got.attempts == "first:malformed, second:ok"
