"""What the store is owed piles up here: nobody tells it."""

from ktms.engine.call import Whole
from ktms.engine.repeats import ANSWER_BYTES_MAX, OWED_BYTES_MAX, OWED_MAX
from ktms.ports.repeats import Repeatable
from ktms.ports.telemetry import Dependency
from tests.engine.rig import Rig, client_key, whole


def owed_for(rig: Rig) -> Repeatable:
    return Repeatable(client_key().id, "k", bytes(32), rig.identities.request(), 1.0)


async def test_beyond_the_bound_a_call_is_not_waited_for(rig: Rig) -> None:
    rig.says("alpha", whole())
    for _ in range(OWED_MAX):
        _ = rig.keyed._enqueue(owed_for(rig), kept=False, answer=None)
    began = rig.clock.monotonic()
    call = rig.call()
    call.once = "order-7"
    assert isinstance(await rig.handle(call), Whole)
    assert rig.clock.monotonic() == began
    assert (Dependency.POSTGRES, "end_call", "away") in rig.telemetry.failures


async def test_beyond_the_bound_of_bytes_is_kept_only_that_there_was_an_answer(rig: Rig) -> None:
    fitting = OWED_BYTES_MAX // ANSWER_BYTES_MAX
    for answer in [bytes(ANSWER_BYTES_MAX)] * (fitting + 1):
        _ = rig.keyed._enqueue(owed_for(rig), kept=True, answer=answer)
    owed = [rig.keyed._owed.get_nowait() for _ in range(fitting + 1)]
    assert [one.answer is None for one in owed] == [False] * fitting + [True]
    assert all(one.kept for one in owed)
