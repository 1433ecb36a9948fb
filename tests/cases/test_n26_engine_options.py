"""N26: how a model lies in an engine's memory is its operator's to say; no client's body tells an Ollama."""

import json

import pytest

from ktms.domain.catalogue import EngineKind
from tests.cases.calls import Reply, call
from tests.cases.fleets import FleetCase, fleet_of
from tests.cases.forms import FORMS, Form
from tests.world.events import VENDOR_MODEL, Json
from tests.world.script import status
from tests.world.world import World

OPTIONS: dict[str, Json] = {"options": {"num_ctx": 4096, "temperature": 0.1}, "num_ctx": 4096, "keep_alive": 0}
OWN: Json = {"num_ctx": 7}
"""Of the same name, but inside of something else: nobody's option."""


async def call_with_options(world: World, fleet: FleetCase, form: Form) -> Reply:
    return await call(
        world,
        fleet.gateway,
        form,
        options=OPTIONS["options"],
        num_ctx=OPTIONS["num_ctx"],
        keep_alive=OPTIONS["keep_alive"],
        metadata=OWN,
    )


@pytest.mark.parametrize("engine", [EngineKind.OLLAMA, EngineKind.AGENT])
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_an_ollama_is_told_none_behind_an_agent_either(world: World, form: Form, engine: EngineKind) -> None:
    fleet = await fleet_of(world, engine=engine)
    fleet.node.standing(form.healthy())

    got = await call_with_options(world, fleet, form)

    assert (got.status, got.attempts) == (200, "local/upstream:ok")
    sent = json.loads((await fleet.node.request()).body)
    assert sent.keys() & OPTIONS.keys() == set()
    assert (sent["model"], sent["metadata"]) == (VENDOR_MODEL, OWN)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_the_cloud_behind_it_gets_the_body_as_it_came(world: World, form: Form) -> None:
    fleet = await fleet_of(world, engine=EngineKind.OLLAMA)
    fleet.node.script(*status(500))
    fleet.cloud.standing(form.healthy())

    await call_with_options(world, fleet, form)

    assert json.loads((await fleet.cloud.request()).body).items() >= OPTIONS.items()


@pytest.mark.parametrize("engine", [EngineKind.VLLM, EngineKind.LLAMACPP])
async def test_engines_that_know_no_such_options_get_what_came(world: World, engine: EngineKind) -> None:
    fleet = await fleet_of(world, engine=engine)
    fleet.node.standing(FORMS[0].healthy())

    await call_with_options(world, fleet, FORMS[0])

    assert json.loads((await fleet.node.request()).body).items() >= OPTIONS.items()
