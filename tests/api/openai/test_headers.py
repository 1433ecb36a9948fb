import pytest

from ktms.api.openai.headers import ONCE_MAX_CHARS, SPELLINGS_MAX, HeaderReader, RequestHeaders
from ktms.domain.call import NO_CHOICES, Choices
from ktms.domain.errors import CallFailed
from ktms.domain.placement import Placement


def read(*headers: tuple[str, str]) -> RequestHeaders:
    return HeaderReader().read(tuple((name.encode(), value.encode()) for name, value in headers))


@pytest.mark.parametrize(
    "headers",
    [
        [("Authorization", "Bearer ktms_sk_a")],
        [("authorization", "bearer  ktms_sk_a")],
        [("X-Api-Key", "ktms_sk_a")],
        [
            ("Authorization", "Bearer ktms_sk_a"),
            ("x-api-key", "ktms_sk_a"),
        ],
    ],
)
def test_a_key_comes_in_either_header(headers: list[tuple[str, str]]) -> None:
    assert read(*headers).token == "ktms_sk_a"


def test_two_different_keys_are_refused() -> None:
    with pytest.raises(CallFailed, match="different keys"):
        read(("Authorization", "Bearer a"), ("x-api-key", "b"))


@pytest.mark.parametrize(
    "name",
    ["Authorization", "x-api-key", "X-KTMS-Placement", "X-KTMS-Tier", "X-KTMS-Interactive", "X-KTMS-Cache"],
)
def test_what_would_be_ambiguous_twice_is_refused(name: str) -> None:
    with pytest.raises(CallFailed, match="twice"):
        read((name, "Bearer a"), (name, "Bearer a"))


@pytest.mark.parametrize("value", ["order-7", "a", "two words", "~" * ONCE_MAX_CHARS])
def test_a_call_that_must_not_be_paid_twice_is_noted(value: str) -> None:
    assert read(("Authorization", "Bearer a"), ("Idempotency-Key", value)).once == value
    assert read(("Authorization", "Bearer a"), ("Accept", "*/*")).once is None


@pytest.mark.parametrize("value", ["", " ", "a\tb", "caf\u00e9", "~" * (ONCE_MAX_CHARS + 1)])
def test_an_idempotency_key_that_cannot_be_one_is_refused(value: str) -> None:
    with pytest.raises(CallFailed) as caught:
        read(("Authorization", "Bearer a"), ("Idempotency-Key", value))
    assert (caught.value.problem.code, caught.value.problem.param) == ("invalid_request", "Idempotency-Key")


def test_an_idempotency_key_is_given_once() -> None:
    with pytest.raises(CallFailed):
        read(("Idempotency-Key", "a"), ("idempotency-key", "a"))


def test_no_key_is_an_empty_token() -> None:
    assert read(("Accept", "*/*")).token == ""


@pytest.mark.parametrize("spelling", ["nodes-only", "nodes_only", "Nodes_Only"])
def test_a_placement_is_spelled_with_hyphen_or_underscore(spelling: str) -> None:
    assert read(("X-KTMS-Placement", spelling)).choices.placement is Placement.NODES_ONLY


def test_all_choices_are_read() -> None:
    found = read(("x-ktms-tier", "high"), ("x-ktms-interactive", "true"), ("x-ktms-cache", "off"))
    assert found.choices == Choices(None, "high", interactive=True, cache=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [("X-KTMS-Placement", "moon"), ("X-KTMS-Interactive", "yes"), ("X-KTMS-Cache", "maybe")],
)
def test_a_choice_that_does_not_exist_names_its_header(name: str, value: str) -> None:
    with pytest.raises(CallFailed) as refused:
        read((name, value))
    assert refused.value.problem.param == name


def test_feature_headers_travel_and_nothing_else_does() -> None:
    found = read(
        ("traceparent", "00-1-2-01"),
        ("OpenAI-Beta", "assistants=v2"),
        ("Cookie", "a=b"),
        ("X-Forwarded-For", "10.0.0.1"),
        ("Authorization", "Bearer a"),
    )
    assert found.forwarded == (("traceparent", "00-1-2-01"), ("OpenAI-Beta", "assistants=v2"))


def test_a_header_named_in_connection_does_not_travel() -> None:
    found = read(("Connection", "keep-alive, TraceParent"), ("traceparent", "00-1-2-01"))
    assert found.forwarded == ()


def test_invented_header_names_do_not_fill_memory() -> None:
    reader = HeaderReader()
    for index in range(SPELLINGS_MAX + 50):
        reader.read(((b"x-%d" % index, b"1"),))
    assert reader.read(((b"AUTHORIZATION", b"Bearer a"),)).token == "a"
    assert len(reader._spellings) == SPELLINGS_MAX


def test_encoding_and_expectation_are_read_with_and_without_a_key() -> None:
    for headers in ([("Content-Encoding", "GZIP")], [("Content-Encoding", "gzip"), ("x-api-key", "a")]):
        assert read(*headers).encoding == "gzip"
    assert read(("Expect", "100-Continue"), ("x-api-key", "a")).expects == "100-continue"
    assert read(("x-api-key", "a")).choices is NO_CHOICES
