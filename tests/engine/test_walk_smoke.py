from ktms.adapters.memory.client import MemoryClient
from ktms.engine.call import Whole, Streamed
from tests.engine.rig import Rig, whole, stream, refusal


async def test_x_y_z(rig: Rig) -> None:
    rig.says("alpha", refusal(500))
    rig.says("beta", whole())
    r = await rig.handle(rig.call())
    print(r)
    assert isinstance(r, Whole)
    client = MemoryClient()
    rig.says("alpha", stream("a", "b"))
    r = await rig.handle(rig.call(stream=True), client)
    print(r, client.body)
    assert isinstance(r, Streamed)
    rig.assert_at_rest(calls=2)
