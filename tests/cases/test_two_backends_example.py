"""docs/examples/two-backends.yaml does what docs/routing.md says of it, sentence by sentence.

The file itself is read; only addresses, and what a sentence says to change, are replaced.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ktms.config.gateway_file import read_gateway, read_gateway_text
from ktms.config.secret_file import read_secret_file
from ktms.domain.catalogue import Catalogue, NodeSpec, PolicySpec, TimeoutSpec, VendorSpec
from ktms.domain.placement import Placement
from tests.cases.calls import Reply, call
from tests.cases.forms import CHAT, TEXT
from tests.world.catalogues import KEY
from tests.world.events import VENDOR_MODEL, chat_answer, compact
from tests.world.pace import Pace
from tests.world.script import Script, answer, hold, status
from tests.world.vendor import MockVendor
from tests.world.world import GatewayUnderTest, World

FILE = Path(__file__).parents[2] / "docs/examples/two-backends.yaml"
SECRETS = {"CLOUD_FR_KEY": "sk-of-the-cloud", "VLLM_TOKEN": "token-of-the-engines", "APP_KEY": KEY}

ENGINE_MODEL = "Qwen/Qwen3-32B"
STAND_IN, OWN_CLOUD_MODEL = b'"model":"large-fr"', b'"model":"small-fr"'

BUSY = status(503, body=compact({"error": {"message": "full", "type": "overloaded_error", "code": None}}))

FAILURES_THAT_TAKE_A_NODE_DOWN = 3

Change = Callable[[Catalogue], Catalogue]


def declared() -> Catalogue:
    """Read the file as `ktms up --config` does."""
    file = read_gateway(FILE, read_gateway_text(FILE), SECRETS, read_secret_file)
    file.check()
    return file.catalogue


def as_it_is(catalogue: Catalogue) -> Catalogue:
    return catalogue


def policy(**changes: object) -> Change:
    """Change the policy as the page says."""
    return lambda catalogue: replace(catalogue, policy=replace(catalogue.policy, **changes))  # type: ignore[arg-type]


LOCAL_MODE = policy(placement=Placement.NODES_ONLY)
CLOUD_MODE = policy(placement=Placement.CLOUD_ONLY)


class Site:
    """Two engines, a third that is switched off, one cloud, and the gateway in front of them."""

    def __init__(
        self, world: World, gateway: GatewayUnderTest, machines: list[MockVendor], cloud: MockVendor
    ) -> None:
        self._world = world
        self._gateway = gateway
        self.machines = machines
        self.cloud = cloud

    @property
    def asked(self) -> list[int]:
        """How many calls each engine saw."""
        return [len(one.requests) for one in self.machines]

    def machines_do(self, script: Script) -> None:
        """Let all engines do this from now on."""
        for one in self.machines:
            one.standing(script)

    async def call(self, model: str = "assistant") -> Reply:
        """Ask for the model of the file."""
        return await call(self._world, self._gateway, CHAT, model=model)

    async def wish(self, placement: str) -> Reply:
        """Ask for a placement of one's own."""
        headers = (("X-KTMS-Placement", placement),)
        return await call(self._world, self._gateway, CHAT, headers=headers, model="assistant")


async def site(world: World, change: Change = as_it_is) -> Site:
    machines = [await world.vendor(f"engine-{number}") for number in (1, 2, 3)]
    cloud = await world.vendor("cloud")
    catalogue = change(declared())
    vendors: tuple[VendorSpec, ...] = tuple(
        replace(vendor, base_url=cloud.url, private=True) for vendor in catalogue.vendors
    )
    nodes: tuple[NodeSpec, ...] = tuple(
        replace(node, url=machine.listening.url) for node, machine in zip(catalogue.nodes, machines, strict=True)
    )
    gateway = await world.gateway(replace(catalogue, vendors=vendors, nodes=nodes))
    made = Site(world, gateway, machines, cloud)
    made.machines_do(answer(chat_answer(TEXT).replace(VENDOR_MODEL.encode(), ENGINE_MODEL.encode())))
    cloud.standing(CHAT.healthy())
    return made


def test_it_takes_thirty_lines() -> None:
    assert len(FILE.read_text().splitlines()) == 30


async def test_the_engines_answer_in_turns_and_the_one_switched_off_never(world: World) -> None:
    made = await site(world)

    assert [(await made.call()).status for _ in range(6)] == [200] * 6
    assert made.asked == [3, 3, 0]
    assert made.cloud.requests == []


async def test_an_engine_sees_its_token(world: World) -> None:
    made = await site(world)

    await made.call()
    [seen] = [request for machine in made.machines for request in machine.requests]
    assert seen.head.header("authorization") == f"Bearer {SECRETS['VLLM_TOKEN']}"


@pytest.mark.parametrize("name", ["assistant", "gpt-4", "our-old-model"])
async def test_old_names_lead_to_the_one_that_answers_carry(world: World, name: str) -> None:
    got = await (await site(world)).call(name)

    assert b'"model":"assistant"' in got.body
    assert got.head.header("x-ktms-model") == "assistant"


async def test_auto_goes_on_to_the_cloud_when_both_engines_are_full(world: World) -> None:
    made = await site(world)
    made.machines_do(BUSY)

    got = await made.call()

    assert got.status == 200
    words = set((got.attempts or "").split(", "))
    assert words == {"local/vllm-1:busy", "local/vllm-2:busy", "cloud-fr:ok"}


async def test_what_the_engines_name_stands_in_for_them_in_the_cloud(world: World) -> None:
    made = await site(world)
    made.machines_do(BUSY)

    await made.call()

    [request] = made.cloud.requests
    assert STAND_IN in request.body


async def test_auto_goes_to_the_cloud_while_the_engines_are_known_to_be_down(world: World) -> None:
    made = await site(world)
    for machine in made.machines:
        await machine.stop()

    before = [await made.call() for _ in range(2 * FAILURES_THAT_TAKE_A_NODE_DOWN)]
    assert {got.status for got in before} == {502}
    got = await made.call()

    assert (got.status, got.attempts) == (200, "local:down, cloud-fr:ok")


@pytest.mark.parametrize("script", [status(500), status(502)], ids=["500", "502"])
async def test_a_failed_attempt_is_never_repeated_elsewhere(world: World, script: Script) -> None:
    made = await site(world)
    made.machines_do(script)

    got = await made.call()

    assert got.status == 502
    assert sum(made.asked) == 1
    assert made.cloud.requests == []


@pytest.mark.parametrize("mode", [LOCAL_MODE, as_it_is], ids=["local", "auto"])
async def test_an_engine_that_does_not_begin_in_time_is_a_504(world: World, pace: Pace, mode: Change) -> None:
    def hurried(catalogue: Catalogue) -> Catalogue:
        [model] = catalogue.models
        quick = replace(model, timeouts=TimeoutSpec(first_token_s=pace(30, 0.2)))
        return mode(replace(catalogue, models=(quick,)))

    made = await site(world, hurried)
    made.machines_do((hold(),))

    got = await made.call()

    assert (got.status, got.error["code"]) == (504, "upstream_timeout")
    assert made.cloud.requests == []


async def test_local_says_502_when_an_engine_fails_and_the_cloud_is_not_asked(world: World) -> None:
    made = await site(world, LOCAL_MODE)
    made.machines_do(status(500))

    got = await made.call()

    assert (got.status, got.error["code"]) == (502, "upstream_error")
    assert made.cloud.requests == []


async def test_local_says_503_when_the_engines_are_full_and_the_cloud_is_not_asked(world: World) -> None:
    made = await site(world, LOCAL_MODE)
    made.machines_do(BUSY)

    got = await made.call()

    assert (got.status, got.error["code"], got.error["type"]) == (503, "no_node_available", "upstream_error")
    assert got.retry_after is not None
    assert made.cloud.requests == []


async def test_fallback_asks_the_cloud_alone_for_the_model_of_its_own_target(world: World) -> None:
    made = await site(world, CLOUD_MODE)

    got = await made.call()

    assert (got.status, got.attempts) == (200, "cloud-fr:ok")
    assert OWN_CLOUD_MODEL in made.cloud.requests[0].body
    assert made.asked == [0, 0, 0]


@pytest.mark.parametrize("mode", [as_it_is, LOCAL_MODE, CLOUD_MODE], ids=["auto", "local", "fallback"])
async def test_a_client_that_asks_for_another_mode_is_refused(world: World, mode: Change) -> None:
    made = await site(world, mode)

    refused = await made.wish("cloud_first")

    assert (refused.status, refused.error["code"]) == (403, "placement_locked")
    assert made.cloud.requests == []
    assert made.asked == [0, 0, 0]


async def test_a_suffix_asks_for_another_mode_too(world: World) -> None:
    refused = await (await site(world)).call("assistant:cloud-only")

    assert (refused.status, refused.error["code"]) == (403, "placement_locked")


@pytest.mark.parametrize("mode", [as_it_is, LOCAL_MODE], ids=["auto", "local"])
async def test_force_cloud_sends_everybody_to_the_cloud(world: World, mode: Change) -> None:
    made = await site(world, lambda catalogue: policy(force_cloud=True)(mode(catalogue)))

    got = await made.call()

    assert (got.status, got.attempts) == (200, "cloud-fr:ok")
    assert got.head.header("x-ktms-placement") == "cloud_only"
    assert made.asked == [0, 0, 0]


async def test_a_failing_cloud_is_asked_once(world: World) -> None:
    made = await site(world, CLOUD_MODE)
    made.cloud.standing(status(500))

    assert (await made.call()).status == 502
    assert len(made.cloud.requests) == 1


async def test_a_cloud_elsewhere_is_never_asked(world: World) -> None:
    def moved(catalogue: Catalogue) -> Catalogue:
        return replace(catalogue, vendors=tuple(replace(one, region="us") for one in catalogue.vendors))

    made = await site(world, moved)
    made.machines_do(BUSY)

    assert (await made.call()).status == 503
    assert made.cloud.requests == []


async def test_an_engine_elsewhere_is_never_asked(world: World) -> None:
    def moved(catalogue: Catalogue) -> Catalogue:
        first, *others = catalogue.nodes
        return replace(catalogue, nodes=(replace(first, region=None), *others))

    made = await site(world, moved)

    assert [(await made.call()).status for _ in range(2)] == [200, 200]
    assert made.asked == [0, 2, 0]


async def test_what_the_cloud_says_of_an_error_is_cut_to_300_characters(world: World) -> None:
    made = await site(world, CLOUD_MODE)
    told = {"error": {"message": "word " * 200, "type": "invalid_request_error", "param": None, "code": None}}
    made.cloud.standing(status(400, body=compact(told)))

    got = await made.call()

    assert got.status == 400
    assert len(got.error["message"]) == 300


async def test_without_any_target_it_is_a_503_of_type_upstream_error(world: World) -> None:
    def bare(catalogue: Catalogue) -> Catalogue:
        off = tuple(replace(node, enabled=False) for node in catalogue.nodes)
        return LOCAL_MODE(replace(catalogue, nodes=off))

    got = await (await site(world, bare)).call()

    assert (got.status, got.error["type"]) == (503, "upstream_error")


def test_the_file_states_its_mode_for_the_administrator_alone() -> None:
    expected = PolicySpec(placement_lock=True, allowed_regions=("fr",), attempts_max=1)

    assert declared().policy == expected
