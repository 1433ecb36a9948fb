import asyncio
from collections.abc import Awaitable, Callable

import grpc
import pytest
from google.protobuf.message import Message

from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.entropy import SystemEntropy
from ktms.api.admin_grpc.door import DETAILS_MAX_BYTES, Door, Refused, fitting
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.method import Method
from ktms.domain.access.actor import Actor
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.ports.key_admin import NameTaken

Answer = Callable[[Message, Actor], Awaitable[Message]]


class Knock:
    """Knocks at a door with an owner's key; the method behind it does what the test says."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.telemetry = MemoryTelemetry()
        self.keys = MemoryKeyAdmin(self.store, SystemEntropy())
        self.token = make_key(KeyKind.ADMIN, SystemEntropy().token_bytes)

    async def __call__(
        self, answer: Answer, data: bytes = b"", *, key: str | None = None, timeout_s: float = 5.0
    ) -> bytes:
        door = Door(self.keys, self.telemetry, timeout_s)
        metadata = (("authorization", f"Bearer {key or self.token}"),)
        return await door.answer("GetVersion", Method(admin_pb2.GetVersionRequest, answer), metadata, data)


@pytest.fixture
async def knock() -> Knock:
    knock = Knock()
    assert await knock.keys.bootstrap(knock.token)
    return knock


async def fine(message: Message, actor: Actor) -> Message:
    return admin_pb2.GetVersionResponse(server_version=actor.name)


async def test_an_answer_comes_back_as_bytes(knock: Knock) -> None:
    assert admin_pb2.GetVersionResponse.FromString(await knock(fine)).server_version == "bootstrap"


async def test_a_database_that_is_away_is_unavailable_and_no_refusal_of_the_key(knock: Knock) -> None:
    knock.store.away = True
    with pytest.raises(Refused) as refused:
        await knock(fine)
    assert refused.value.code is grpc.StatusCode.UNAVAILABLE
    assert "nothing was changed" in refused.value.details


async def test_an_unforeseen_error_is_internal_without_details_and_reported_by_kind(knock: Knock) -> None:
    async def broken(message: Message, actor: Actor) -> Message:
        raise RuntimeError("canary")

    with pytest.raises(Refused) as refused:
        await knock(broken)
    assert (refused.value.code, refused.value.details) == (grpc.StatusCode.INTERNAL, "internal error")
    event = knock.telemetry.events[-1]
    assert (event.name, event.facts["method"], event.facts["kind"]) == (
        "admin_call_failed",
        "GetVersion",
        "RuntimeError",
    )
    assert "admin_grpc/door.py:" in str(event.facts["where"])
    assert "canary" not in str(event.facts)


async def test_a_method_that_takes_too_long_ends_at_the_deadline(knock: Knock) -> None:
    async def endless(message: Message, actor: Actor) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(Refused) as refused:
        await knock(endless, timeout_s=0.01)
    assert refused.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_bytes_that_are_no_message_are_refused(knock: Knock) -> None:
    with pytest.raises(Refused) as refused:
        await knock(fine, b"\xff\xff\xff")
    assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT


async def test_bytes_of_a_caller_without_a_key_are_not_even_parsed(knock: Knock) -> None:
    with pytest.raises(Refused) as refused:
        await knock(fine, b"\xff\xff\xff", key="ktms_adm_nobody")
    assert refused.value.code is grpc.StatusCode.UNAUTHENTICATED
    assert knock.telemetry.events[-1].name == "admin_key_refused"


async def test_a_taken_name_is_told_without_the_name(knock: Knock) -> None:
    async def taken(message: Message, actor: Actor) -> Message:
        raise NameTaken("canary")

    with pytest.raises(Refused) as refused:
        await knock(taken)
    assert (refused.value.code, refused.value.details) == (
        grpc.StatusCode.ALREADY_EXISTS,
        "a live client key has this name",
    )


def test_lines_that_fit_are_all_sent() -> None:
    assert fitting(["a", "b"]) == "a\nb"


def test_lines_that_do_not_fit_are_counted() -> None:
    lines = fitting([f"{n}: " + "x" * 200 for n in range(100)]).splitlines()
    assert lines[-1] == f"and {100 - len(lines) + 1} more"
    assert len("\n".join(lines)) <= DETAILS_MAX_BYTES


def test_a_long_line_is_cut() -> None:
    assert fitting(["x" * 5000]) == "x" * 300 + "…"


def test_letters_beyond_ascii_count_as_they_travel() -> None:
    text = fitting(["é" * 250] * 100)
    assert len("".join(f"%{byte:02X}" for byte in text.encode())) <= DETAILS_MAX_BYTES + 300
