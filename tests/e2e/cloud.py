"""A cloud vendor for processes under test: the mock vendor of `tests/world` on a thread and loop of its own.

What it does follows from the last thing the user says: `slow` sends one word and goes on when told, `hang` sends
one word and never ends, `later` is answered whole when told, `fail` is a 500, `refuse` a 400; everything else is
answered at once.
"""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.world.events import DONE, C, F, U, chat_answer, role
from tests.world.http_message import SeenRequest
from tests.world.real import RealGround
from tests.world.script import Step, answer, chunk, end, head, hold, status, stream, wait
from tests.world.vendor import MockVendor

GO_ON = "go on"
WORD = "cloudy"


class Cloud:
    """A running vendor; all methods may be called from the test's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, vendor: MockVendor) -> None:
        self._loop = loop
        self._vendor = vendor

    @property
    def url(self) -> str:
        """The base URL, with `/v1`."""
        return self._vendor.url

    @property
    def dialled(self) -> int:
        """How many requests came."""
        return len(self._vendor.requests)

    def go_on(self) -> None:
        """Let every slow answer go on, now and later."""
        self._loop.call_soon_threadsafe(self._vendor.open, GO_ON)


@contextmanager
def cloud() -> Iterator[Cloud]:
    """Run a vendor while the block runs."""
    with asyncio.Runner() as runner:
        ground = RealGround()
        vendor = MockVendor("cloud", ground)
        vendor.standing(_script)
        runner.run(vendor.start())
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name="cloud")
        thread.start()
        try:
            yield Cloud(loop, vendor)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            runner.run(vendor.stop())
            runner.run(ground.stop())


def _script(request: SeenRequest) -> Sequence[Step]:
    asked = json.loads(request.body)
    said = asked["messages"][-1]["content"]
    if said == "fail":
        return status(500)
    if said == "refuse":
        return status(400)
    if said == "later":
        return (wait(GO_ON), *answer(chat_answer(WORD)))
    if not asked.get("stream"):
        return answer(chat_answer(WORD))
    first = (head(), chunk(role()), chunk(C(WORD)))
    match said:
        case "slow":
            return (
                *first,
                wait(GO_ON),
                chunk(C(" and dry")),
                chunk(F("stop")),
                chunk(U(3, 2)),
                chunk(DONE),
                end(),
            )
        case "hang":
            return (*first, hold())
        case _:
            return stream(role(), C(WORD), F("stop"), U(3, 1), DONE)
