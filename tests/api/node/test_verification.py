import asyncio

import pytest

from ktms.api.node import verification
from ktms.api.node.verification import REASON_LENGTH_MAX, VERIFY_AT_ONCE_MAX, Verification
from ktms.domain.catalogue import NodeModelSpec, NodeSpec
from ktms.domain.snapshot import Node

SERVED = NodeSpec("mac-1", "http://10.0.0.7:1", (NodeModelSpec("a"),))


class Dialler:
    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason
        self.hold = asyncio.Event()
        self.hold.set()
        self.busy = self.most = 0

    async def verify(self, node: Node) -> str | None:
        assert node.name == "mac-1"
        self.busy += 1
        self.most = max(self.most, self.busy)
        await self.hold.wait()
        await asyncio.sleep(0)
        self.busy -= 1
        return self.reason


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (NodeSpec("mac-1", "http://10.0.0.7:1", (NodeModelSpec("a"),), enabled=False), "drains"),
        (NodeSpec("mac-1", "http://10.0.0.7:1", ()), "no model"),
    ],
)
async def test_a_node_that_takes_no_calls_is_not_dialled(served: NodeSpec, said: str) -> None:
    dialler = Dialler()
    assert said in (await Verification(dialler).reason(served) or "")
    assert dialler.most == 0


async def test_a_long_reason_is_cut_to_a_line() -> None:
    reason = await Verification(Dialler("a\r\n" * 1000)).reason(SERVED)
    assert reason is not None
    assert len(reason) == REASON_LENGTH_MAX
    assert reason.startswith("a a a")


async def test_a_node_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "VERIFY_TIMEOUT_S", 0.01)
    dialler = Dialler()
    dialler.hold.clear()
    assert (await Verification(dialler).reason(SERVED) or "").startswith("no answer within")


async def test_only_so_many_are_dialled_at_once() -> None:
    dialler = Dialler()
    verifying = Verification(dialler)
    assert await asyncio.gather(*(verifying.reason(SERVED) for _ in range(20))) == [None] * 20
    assert dialler.most == VERIFY_AT_ONCE_MAX
