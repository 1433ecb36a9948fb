from sim.fakes.entropy import SimEntropy
from sim.seed import Seed


def test_the_same_stream_gives_the_same_chance() -> None:
    first, again = (SimEntropy(Seed(7).chance("gw1")) for _ in range(2))
    assert (first.token_bytes(16), first.uniform(0, 1)) == (again.token_bytes(16), again.uniform(0, 1))


def test_another_host_has_other_chance() -> None:
    seed = Seed(7)
    assert SimEntropy(seed.chance("gw1")).token_bytes(16) != SimEntropy(seed.chance("gw2")).token_bytes(16)
