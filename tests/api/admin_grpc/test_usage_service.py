import grpc
import pytest

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.usage_service import DIMENSIONS
from ktms.domain.access.actor import Role
from ktms.domain.access.usage_report import Dimension
from ktms.domain.access.usage_sums import day_of, day_text
from ktms.domain.ids import KeyId
from tests.api.admin_grpc.stage import Stage, Stub
from tests.usage_events import usage_event

DAY = day_of(usage_event(1))


async def ask(stage: Stage, stub: Stub, **members: object) -> admin_pb2.GetUsageResponse:
    said = {"from_day": DAY, "until_day": DAY + 1, **members}
    request = admin_pb2.GetUsageRequest(**said)  # type: ignore[arg-type]  # the test names members
    return await stub.GetUsage(request, metadata=stage.bearer(Role.VIEWER))


async def refusal(stage: Stage, stub: Stub, **members: object) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await ask(stage, stub, **members)
    return failed.value.code(), failed.value.details() or ""


async def test_sums_are_given_in_the_dimensions_that_were_asked_for(stage: Stage, stub: Stub) -> None:
    await stage.book.send([usage_event(1), usage_event(2, key_id=KeyId("other"), cost_picos=10**20)])
    found = await ask(stage, stub, by=[DIMENSIONS[Dimension.KEY], DIMENSIONS[Dimension.DAY]])
    assert [(list(row.group), row.attempts, row.cost_picos) for row in found.rows] == [
        (["0123456789", day_text(DAY)], 1, "1500000"),
        (["other", day_text(DAY)], 1, "1" + 20 * "0"),
    ]


async def test_every_column_is_in_its_place(stage: Stage, stub: Stub) -> None:
    await stage.book.send([usage_event(1)])
    (row,) = (await ask(stage, stub)).rows
    assert (row.prompt_tokens, row.completion_tokens, row.cached_tokens) == (100, 50, 10)
    assert (row.cache_write_tokens, row.reasoning_tokens, row.estimated, row.failed) == (5, 20, 0, 0)
    assert row.saved_picos == "0"


@pytest.mark.parametrize(
    "members", [{"tenant": "other"}, {"key_id": "other"}, {"model": "other"}, {"vendor": "other"}], ids=str
)
async def test_filters_are_handed_on(stage: Stage, stub: Stub, members: dict[str, object]) -> None:
    await stage.book.send([usage_event(1)])
    assert list((await ask(stage, stub, **members)).rows) == []


@pytest.mark.parametrize("by", [[99], [0], [1, 1]], ids=str)
async def test_dimensions_that_cannot_be_are_refused(stage: Stage, stub: Stub, by: list[int]) -> None:
    assert (await refusal(stage, stub, by=by))[0] is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("days", [(-1, 5), (5, 4)])
async def test_days_that_cannot_be_are_refused(stage: Stage, stub: Stub, days: tuple[int, int]) -> None:
    code, details = await refusal(stage, stub, from_day=days[0], until_day=days[1])
    assert (code, details) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "from_day, until_day: days since 1970, the first before the last",
    )


async def test_an_answer_that_nobody_would_read_is_refused(stage: Stage, stub: Stub) -> None:
    await stage.book.send([usage_event(number, key_id=KeyId(f"key-{number}")) for number in range(10_001)])
    code, details = await refusal(stage, stub, by=[DIMENSIONS[Dimension.KEY]])
    assert (code, details.startswith("more than 10000 rows")) == (grpc.StatusCode.INVALID_ARGUMENT, True)


async def test_a_ledger_that_is_away_is_named(stage: Stage, stub: Stub) -> None:
    stage.book.away = "timeout"
    assert await refusal(stage, stub) == (grpc.StatusCode.UNAVAILABLE, "the ledger does not answer")
