"""The answer to a request that no route takes."""

from ktms.adapters.system.clock import SystemClock
from ktms.api.routes import refusal
from ktms.api.wire import Dates
from ktms.domain.errors import ErrorCode, problem
from tests.api.porch import porch_of
from tests.api.wire_client import ask, request


async def test_a_problem_becomes_its_status_and_openais_shape() -> None:
    async with porch_of() as porch:
        answer = await ask(porch.port, request("/nowhere"))
    assert (answer.status, answer.code) == (404, "not_found")
    assert answer.headers["content-type"] == "application/json"


def test_a_vendors_status_is_kept_and_headers_are_added() -> None:
    class Asked:
        method, version, keep_alive = "POST", (1, 1), True

    cause = problem(ErrorCode.RATE_LIMIT_EXCEEDED, "slow down")
    reply = refusal(Asked(), Dates(SystemClock()), cause, headers=(("Retry-After", "7"),))  # type: ignore[arg-type]  # only these are read
    assert reply.status == 429
    assert b"Retry-After: 7\r\n" in reply.head
    assert reply.keeps
    assert not refusal(Asked(), Dates(SystemClock()), cause, keeps=False).keeps  # type: ignore[arg-type]  # only these are read
