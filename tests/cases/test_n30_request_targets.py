"""N30: no spelling of a request target opens a route but its own, and nodes are asked by constant ones alone."""

import json

import pytest

from tests.cases.calls import call, reply
from tests.cases.fleets import FleetCase, fleet_of
from tests.cases.forms import CHAT
from tests.world.catalogues import KEY
from tests.world.client import get, post
from tests.world.vendor import MockVendor
from tests.world.world import World

CONSTANT = frozenset({"/v1/models", "/metrics", "/v1/chat/completions"})
"""Of looks, and of what the cases here ask well."""

ODD_GETS = (
    "http://x/v1/models",
    "http://gateway/v1/models",
    "//v1/models",
    "//x/v1/models",
    "/v1%2Fmodels",
    "/v1%2fmodels",
    "/v1//models",
    "/v1/./models",
    "/v1/x/../models",
    "/v1/%6dodels",
    "/V1/models",
    "/v1/models;x",
    "/v1\\models",
    "/v1/%2e%2e/api/delete",
    "/v1/../api/delete",
    "/v1/models/%2e%2e%2f%2e%2e%2fapi%2fdelete",
    "/v1/models/../../api/tags",
    "/api/tags",
)

ODD_POSTS = (
    "http://x/v1/chat/completions",
    "//v1/chat/completions",
    "/v1/chat%2Fcompletions",
    "/v1/chat/./completions",
    "/v1/chat/completions/",
    "/v1/chat/completions/../../api/delete",
    "/v1/chat/completions%3f",
    "/v1/%2e%2e/api/delete",
    "/api/delete",
)


def targets(node: MockVendor) -> set[str]:
    """Give the targets that a node was asked by, looks included."""
    return {request.head.target for request in (*node.requests, *node.probes)}


async def fleet(world: World) -> FleetCase:
    made = await fleet_of(world, cloud=False)
    made.node.standing(CHAT.healthy())
    return made


@pytest.mark.parametrize("target", ODD_GETS)
async def test_an_odd_target_of_a_list_is_refused_and_no_node_is_asked(world: World, target: str) -> None:
    made = await fleet(world)
    client = await world.client(made.gateway)
    client.send(get(target, key=KEY))
    got = await reply(client)
    assert got.status in {400, 404}
    assert json.loads(got.body)["error"]["code"] in {"invalid_request", "not_found", "model_not_found"}
    assert made.node.requests == []
    assert targets(made.node) <= CONSTANT


@pytest.mark.parametrize("target", ODD_POSTS)
async def test_an_odd_target_of_a_call_is_refused_and_no_node_is_asked(world: World, target: str) -> None:
    made = await fleet(world)
    client = await world.client(made.gateway)
    client.send(post(target, CHAT.fields, key=KEY))
    got = await reply(client)
    assert got.status in {400, 404}
    assert json.loads(got.body)["error"]["code"] in {"invalid_request", "not_found"}
    assert made.node.requests == []
    assert targets(made.node) <= CONSTANT


@pytest.mark.parametrize("query", ["?x=/../../api/delete", "?", "?%00", "?http://x/"])
async def test_what_follows_a_question_mark_stays_here(world: World, query: str) -> None:
    made = await fleet(world)
    client = await world.client(made.gateway)
    client.send(post(CHAT.target + query, CHAT.fields, key=KEY))
    assert (await reply(client)).status == 200
    assert [request.head.target for request in made.node.requests] == [CHAT.target]


@pytest.mark.parametrize("model", ["../../api/delete", "/api/delete", "http://x/api/delete", "%2e%2e"])
async def test_the_name_of_a_model_is_no_part_of_a_target(world: World, model: str) -> None:
    made = await fleet(world)
    assert (await call(world, made.gateway, CHAT, model=model)).status == 404
    assert made.node.requests == []
    assert (await call(world, made.gateway, CHAT)).status == 200
    assert targets(made.node) <= CONSTANT
