"""What a simulated client sends."""

import json

from sim.actors.request import Request, question_of, request_of, word_of
from sim.draft import CallDraft


def test_a_call_goes_to_its_route() -> None:
    request = request_of("7", CallDraft(0.0, route="embeddings"), "key")
    assert (request.method, request.path) == ("POST", "/v1/embeddings")


def test_a_target_of_its_own_stands_in_the_place_of_the_routes() -> None:
    request = request_of("7", CallDraft(0.0, path="http://x/v1/models"), "key")
    assert request.encoded().startswith(b"POST http://x/v1/models HTTP/1.1\r\n")


def test_members_besides_come_with_the_usual_ones() -> None:
    plain = json.loads(request_of("7", CallDraft(0.0), "key").body)
    more = json.loads(request_of("7", CallDraft(0.0, more=(("num_ctx", 4096),)), "key").body)
    assert more == plain | {"num_ctx": 4096}


def headers(request: Request) -> dict[bytes, bytes]:
    return dict(request.headers)


def test_calls_of_one_question_have_the_same_body_and_say_who_they_are_in_a_header() -> None:
    one, other = (request_of(number, CallDraft(0.0, question="q"), "key") for number in ("7", "8"))
    assert one.body == other.body
    assert (headers(one)[b"traceparent"], headers(other)[b"traceparent"]) == (b"call=7", b"call=8")


def test_a_retry_that_counts_on_not_being_paid_twice_says_the_same_again() -> None:
    first, again, fresh = (request_of(number, CallDraft(0.0, once=True), "key") for number in ("7", "7r1", "7r1s"))
    assert first.body == again.body == fresh.body
    assert {headers(one)[b"Idempotency-Key"] for one in (first, again, fresh)} == {b"once-7"}
    assert (question_of("7r1", CallDraft(0.0)), word_of("7", CallDraft(0.0))) == ("7r1", "")


def test_several_calls_may_have_one_word() -> None:
    assert headers(request_of("7", CallDraft(0.0, once=True, word="w"), "key"))[b"Idempotency-Key"] == b"w"
