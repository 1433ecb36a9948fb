"""What is made of the engines found, beside what is stored already."""

from contextlib import AsyncExitStack
from dataclasses import replace

from ktms.adapters.discovery.found import EngineFacts, EngineModel, Found, found
from ktms.adapters.discovery.look import PORTS
from ktms.app.first_catalogue import Wanted, beside, is_declared, look_around, registered, undeclared
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    EngineKind,
    ModelSpec,
    NodeSpec,
    TargetSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import LOCAL
from tests.e2e.ports import listens

CLOUD = TargetSpec("cloud", "big")


def engine(window: int | None = 4096) -> Found:
    made = found(EngineFacts(EngineKind.LLAMACPP, 4, (EngineModel("m", window),)), 8081)
    assert made
    return made


def after_first() -> Catalogue:
    return registered(Catalogue(), [engine()]).catalogue


def model_after(stored: Catalogue, window: int | None = 4096) -> ModelSpec:
    (model,) = registered(stored, [engine(window)]).catalogue.models
    return model


def with_model(model: ModelSpec) -> Catalogue:
    return replace(after_first(), models=(model,))


def test_a_first_look_registers_a_node_and_its_model() -> None:
    made = after_first()
    assert [node.name for node in made.nodes] == ["llamacpp-8081"]
    assert made.models == (ModelSpec("m", (TargetSpec(LOCAL, "m"),), context_window=4096),)


def test_a_second_look_changes_nothing() -> None:
    assert registered(after_first(), [engine()]).catalogue == after_first()


def test_a_window_that_grew_is_taken_over() -> None:
    assert model_after(after_first(), 8192).context_window == 8192


def test_a_window_that_is_told_no_more_is_kept() -> None:
    assert model_after(after_first(), None).context_window == 4096


def test_what_a_person_added_to_a_found_model_stays() -> None:
    mine = replace(after_first().models[0], aliases=("mine",), targets=(TargetSpec(LOCAL, "m", weight=2), CLOUD))
    assert model_after(with_model(mine), 8192) == mine


def test_a_model_of_that_name_gets_the_engine_as_a_further_target() -> None:
    mine = ModelSpec("m", (CLOUD,), context_window=100_000)
    assert model_after(with_model(mine)) == replace(mine, targets=(CLOUD, TargetSpec(LOCAL, "m")))


def test_a_name_that_is_an_alias_or_a_chain_of_a_person_stays_theirs() -> None:
    alias = Catalogue(models=(ModelSpec("other", (CLOUD,), aliases=("m",)),))
    chain = Catalogue(chains=(ChainSpec("m", {"medium": ()}, "medium"),))
    assert [registered(stored, [engine()]).catalogue.models for stored in (alias, chain)] == [(), ()]


def test_what_a_person_told_of_a_found_node_stays() -> None:
    (node,) = after_first().nodes
    told = replace(node, region="fr", base_weight=7, cloud_model="big")
    assert registered(Catalogue(nodes=(told,)), [engine()]).catalogue.nodes == (told,)


def test_an_engine_with_a_declared_node_is_not_registered_again() -> None:
    node = NodeSpec("gpu", "http://localhost:8081/", (), engine=EngineKind.LLAMACPP)
    assert undeclared(Catalogue(nodes=(node,)), [engine()]) == []


def test_an_engine_found_before_is_found_again() -> None:
    assert undeclared(after_first(), [engine()]) == [engine()]


def test_a_found_engine_that_is_gone_is_switched_off() -> None:
    other = replace(after_first().nodes[0], name="llamacpp-8082", url="http://127.0.0.1:8082")
    made = registered(Catalogue(nodes=(other,)), [engine()]).catalogue
    assert [(node.name, node.enabled) for node in made.nodes] == [
        ("llamacpp-8081", True),
        ("llamacpp-8082", False),
    ]


async def looked(stored: Catalogue, *, demo: bool = True) -> Wanted:
    """Look around a machine on which all usual ports are ours, so that nothing is found."""
    async with AsyncExitStack() as opened:
        return await look_around(stored, own_ports=PORTS, demo=demo, opened=opened)


async def test_where_nothing_is_found_a_demo_node_is_there_to_try() -> None:
    wanted = await looked(Catalogue())
    assert [node.engine for node in wanted.catalogue.nodes] == [EngineKind.DEMO]
    assert len(wanted.catalogue.models) == 1
    assert "demo" in wanted.notes[0]


async def test_a_demo_node_answers_while_it_is_opened() -> None:
    async with AsyncExitStack() as opened:
        wanted = await look_around(Catalogue(), own_ports=PORTS, demo=True, opened=opened)
        port = int(wanted.catalogue.nodes[0].url.rpartition(":")[2])
        assert listens(port)
    assert not listens(port)


async def test_a_demo_node_that_nobody_wants_is_not_there() -> None:
    vendor = VendorSpec("cloud", VendorKind.OPENAI, "https://api.example.com/v1")
    declared = NodeSpec("gpu", "http://10.0.0.1:8000", (), engine=EngineKind.VLLM)
    for stored in (Catalogue(vendors=(vendor,)), Catalogue(nodes=(declared,))):
        assert (await looked(stored)).catalogue == Catalogue()
    assert (await looked(Catalogue(), demo=False)).catalogue == Catalogue()


async def test_engines_that_are_gone_leave_room_for_the_demo_node() -> None:
    wanted = await looked(after_first())
    assert [(node.engine, node.enabled) for node in wanted.catalogue.nodes] == [
        (EngineKind.DEMO, True),
        (EngineKind.LLAMACPP, False),
    ]


async def test_a_file_switches_off_what_an_earlier_start_found_and_is_gone() -> None:
    stored = (await looked(Catalogue())).catalogue
    off = await beside(Catalogue(), stored, own_ports=PORTS)
    assert [(node.engine, node.enabled) for node in off] == [(EngineKind.DEMO, False)]


async def test_a_file_leaves_alone_what_it_declares_or_a_person_declared_before() -> None:
    mine = NodeSpec("gpu", "http://10.0.0.1:8000", (), engine=EngineKind.VLLM)
    stored = replace(after_first(), nodes=(*after_first().nodes, mine))
    assert await beside(after_first(), stored, own_ports=PORTS) == ()


async def test_beside_a_file_nothing_is_looked_for_where_nothing_was_found_before() -> None:
    assert await beside(after_first(), Catalogue()) == ()


def test_found_engines_and_the_demo_node_are_no_declaration() -> None:
    vendor = VendorSpec("cloud", VendorKind.OPENAI, "https://api.example.com/v1")
    declared = NodeSpec("gpu", "http://10.0.0.1:8000", (), engine=EngineKind.VLLM)
    assert not is_declared(after_first())
    assert not is_declared(Catalogue(nodes=(replace(declared, enabled=False),)))
    assert is_declared(Catalogue(vendors=(vendor,)))
    assert is_declared(Catalogue(nodes=(declared,)))
