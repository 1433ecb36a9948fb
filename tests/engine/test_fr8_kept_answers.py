"""FR8: a call that found Redis hanging when it looked for a kept answer asks it nothing more."""

from dataclasses import replace

import pytest

from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import ClientKeySpec
from ktms.engine.call import Whole
from tests.engine.rig import CATALOGUE, KEY, Rig, rig_of, whole

MODELS = tuple(replace(model, cache_ttl_s=600) for model in CATALOGUE.models)
KEYS = (ClientKeySpec("app", "default", secret=Secret(KEY), limits=Limits(rpm=1)),)


@pytest.fixture
async def rig() -> Rig:
    made = await rig_of(catalogue=replace(CATALOGUE, models=MODELS, client_keys=KEYS))
    made.says("alpha", whole())
    made.says("mac-1", whole())
    return made


async def test_where_redis_hangs_limits_are_not_asked_for_after_the_cache(rig: Rig) -> None:
    rig.answers.away = "timeout"
    for seed in range(3):
        assert isinstance(await rig.handle(rig.call(seed=seed)), Whole)
    assert [event.uncounted for event in rig.ledger.events] == [True] * 3


async def test_where_redis_hangs_no_machine_is_asked_for_after_the_cache(rig: Rig) -> None:
    rig.answers.away = "timeout"
    assert isinstance(await rig.handle(rig.call("mixed")), Whole)
    assert rig.dialled == ["alpha"]


@pytest.mark.parametrize("kind", ["slow", "silenced", "away"])
async def test_where_the_cache_alone_does_not_answer_limits_are_counted(rig: Rig, kind: str) -> None:
    rig.answers.away = kind
    first, second = await rig.handle(rig.call(seed=1)), await rig.handle(rig.call(seed=2))
    assert (isinstance(first, Whole), isinstance(second, Whole)) == (True, False)
    assert [event.uncounted for event in rig.ledger.events] == [False]
