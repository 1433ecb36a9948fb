"""P39: chains that name each other are walked once: each target at most once, six attempts, one deadline."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import Catalogue, ChainSpec, ModelSpec, TargetSpec
from ktms.domain.conversation.usage import Usage
from ktms.engine.settings import EngineSettings
from tests.cases.calls import booked, call
from tests.cases.forms import CHAT, FORMS, Form
from tests.world.catalogues import catalogue, vendor
from tests.world.events import VENDOR_MODEL
from tests.world.pace import Pace
from tests.world.script import hold, status
from tests.world.vendor import CANCELLED_WITHIN_S, MockVendor
from tests.world.watch import PATIENCE_S
from tests.world.world import World


def chain(vendors: Sequence[MockVendor], *models: str) -> Catalogue:
    """Declare a chain `auto` of models, each spelled as the letters of its vendors: "AB" asks a, then b."""
    made = catalogue(*(vendor(one.name, one.url) for one in vendors))
    specs = tuple(
        ModelSpec(f"model-{name.lower()}", tuple(TargetSpec(letter.lower(), VENDOR_MODEL) for letter in name))
        for name in models
    )
    auto = ChainSpec("auto", {"medium": tuple(spec.name for spec in specs)}, "medium")
    return replace(made, models=(*made.models, *specs), chains=(auto,))


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_mutual_chains_ask_each_target_once(world: World, form: Form) -> None:
    vendors = [await world.vendor(name) for name in "abc"]
    gateway = await world.gateway(chain(vendors, "AB", "BA", "AC"))
    for number, one in enumerate(vendors):
        one.standing(status(500 + number))

    got = await call(world, gateway, form, model="auto")

    assert got.status == 502
    assert got.attempts == "a:500, b:501, c:502"
    assert [len(one.requests) for one in vendors] == [1, 1, 1]
    assert "vendor says 500" in got.error["message"], "the first cause"
    assert "a:500, b:501, c:502" in got.error["message"]
    assert got.head.header("x-ktms-chain") == "auto"
    books = await booked(gateway)
    assert books.statuses == (AttemptStatus.FAILED,) * 3
    assert {event.usage for event in books.events} == {Usage()}
    assert {event.chain for event in books.events} == {"auto"}


async def test_never_more_than_six_targets_are_asked(world: World) -> None:
    vendors = [await world.vendor(name) for name in "abcdefgh"]
    gateway = await world.gateway(chain(vendors, "ABCD", "DCBA", "EFGH"))
    for one in vendors:
        one.standing(status(500))

    got = await call(world, gateway, CHAT, model="auto")

    assert got.status == 502
    assert sum(len(one.requests) for one in vendors) == 6
    assert len((await booked(gateway)).events) == 6


async def test_the_model_that_served_is_named_beside_its_chain(world: World) -> None:
    vendors = [await world.vendor(name) for name in "ab"]
    gateway = await world.gateway(chain(vendors, "A", "B"))
    vendors[0].standing(status(503))
    vendors[1].script(*CHAT.healthy())

    got = await call(world, gateway, CHAT, model="auto")

    assert got.status == 200
    assert b'"model":"model-b"' in got.body
    assert got.head.header("x-ktms-model") == "model-b"
    assert got.head.header("x-ktms-chain") == "auto"


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_one_deadline_bounds_all_attempts_together(world: World, pace: Pace, form: Form) -> None:
    deadline_s = pace(660, 0.4)
    settings = EngineSettings(call_total_s=deadline_s, lookup_s=deadline_s / 2)
    vendors = [await world.vendor(name) for name in "abc"]
    gateway = await world.gateway(chain(vendors, "A", "B", "C"), engine=settings)
    for one in vendors:
        one.standing((hold(),))
    began_at = world.now()

    got = await call(world, gateway, form, model="auto", within_s=deadline_s + PATIENCE_S)

    assert got.status == 504
    assert world.now() - began_at < deadline_s + CANCELLED_WITHIN_S
    assert len(vendors[0].requests) == 1
    assert (await booked(gateway)).record.status == 504
