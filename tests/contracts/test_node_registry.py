"""Contract of `ktms/ports/node_registry.py`: one suite for every implementation."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import cast

import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import Announcement
from ktms.domain.catalogue import EngineKind, NodeSpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import NodePermit
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged, ChangeFeed, News
from ktms.ports.node_registry import HEARTBEAT_WRITE_S, NodeKeyGone, NodeKeyTaken, StaleAnnouncement
from tests.contracts.conftest import Gate
from tests.contracts.registry_stage import (
    DECLARED,
    MAC,
    OPERATOR,
    Fleet,
    fleet_in_memory,
    fleet_on_postgres,
)
from tests.domain.announcements import SAID

NEWS_WITHIN_S = 10.0


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.service)])
def fleet(request: pytest.FixtureRequest) -> Fleet:
    made: Fleet = request.getfixturevalue(f"{request.param}_fleet")
    return made


@pytest.fixture
def memory_fleet(entropy: SeededEntropy) -> Fleet:
    return fleet_in_memory(entropy)


@pytest.fixture
def postgres_fleet(
    gated_database: Database,
    gated_dsn: str,
    postgres_dsn: str,
    postgres_gate: Gate,
    keyring_secrets: KeyringSecrets,
    entropy: SeededEntropy,
    telemetry: MemoryTelemetry,
) -> Fleet:
    return fleet_on_postgres(
        gated_database, gated_dsn, postgres_dsn, postgres_gate, keyring_secrets, entropy, telemetry
    )


async def test_a_key_is_found_by_its_id_with_what_it_permits(fleet: Fleet) -> None:
    permit = NodePermit("mac-1", ("qwen3:4b", "llama3"), "fr")
    key, token = await fleet.nodes.issue(permit, actor=OPERATOR)
    text = read_key(token)
    assert text is not None
    assert (text.kind, text.id, text.digest) == (KeyKind.NODE, key.id, key.digest)
    assert await fleet.nodes.find(key.id) == key
    assert key.permit == permit


async def test_a_key_is_found_with_the_epoch_last_announced(fleet: Fleet) -> None:
    found = await fleet.nodes.find(await fleet.join())
    assert found is not None
    assert found.epoch_ms == SAID.epoch_ms


async def test_an_unknown_key_is_absent(fleet: Fleet) -> None:
    assert await fleet.nodes.find(KeyId("0000000000")) is None


async def test_a_node_has_one_live_key(fleet: Fleet) -> None:
    await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    with pytest.raises(NodeKeyTaken):
        await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    await fleet.nodes.issue(NodePermit("mac-2"), actor=OPERATOR)


async def test_a_permit_that_breaks_a_rule_is_refused(fleet: Fleet) -> None:
    with pytest.raises(CatalogueInvalid, match="name"):
        await fleet.nodes.issue(NodePermit("a b"), actor=OPERATOR)


async def test_a_revoked_key_is_gone_and_another_can_be_issued(fleet: Fleet) -> None:
    key, _ = await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    assert await fleet.nodes.revoke(MAC, actor=OPERATOR)
    assert await fleet.nodes.find(key.id) is None
    assert not await fleet.nodes.revoke(MAC, actor=OPERATOR)
    await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)


async def test_a_revoked_key_announces_nothing(fleet: Fleet) -> None:
    key_id = await fleet.join()
    await fleet.nodes.revoke(MAC, actor=OPERATOR)
    with pytest.raises(NodeKeyGone):
        await fleet.nodes.announce(key_id, SAID)


async def test_a_node_that_was_never_heard_is_not_served(fleet: Fleet) -> None:
    await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    assert await fleet.served() == ()


async def test_an_announced_node_is_served_with_all_that_it_said(fleet: Fleet) -> None:
    await fleet.join()
    (node,) = await fleet.served()
    assert (node.name, node.origin.key, node.engine) == (MAC, ("http", "10.0.0.7", 8790, None), EngineKind.OLLAMA)
    assert (node.token, node.slots) == (Secret("canary-node-token"), 4)
    assert dict(node.windows) == {"qwen3:4b": 8192, "llama3": None}


async def test_the_certificate_it_announced_is_the_one_to_be_accepted(fleet: Fleet) -> None:
    await fleet.join(said=replace(SAID, url="https://10.0.0.7:8790", certificate="ab" * 32))
    assert [node.origin.certificate for node in await fleet.served()] == ["ab" * 32]


async def test_the_answer_says_which_models_are_served(fleet: Fleet) -> None:
    key, _ = await fleet.nodes.issue(NodePermit("mac-1", ("qwen3:4b",)), actor=OPERATOR)
    answer = await fleet.nodes.announce(key.id, SAID)
    assert (answer.accepted, answer.ignored) == (("qwen3:4b",), ("llama3",))
    assert (answer.served.url, answer.version) == (SAID.url, await fleet.catalogue.version())
    assert [list(node.windows) for node in await fleet.served()] == [["qwen3:4b"]]


async def test_an_announcement_is_laid_over_a_declared_node_and_ends_with_its_key(fleet: Fleet) -> None:
    await fleet.declare(DECLARED, replace(DECLARED, name="by-hand"))
    await fleet.join()
    first, second = await fleet.served()
    assert (first.name, first.origin.host, first.token, first.region) == (MAC, "10.0.0.7", SAID.token, "fr")
    assert list(first.windows) == ["qwen3:4b"]
    assert (second.name, second.origin.host) == ("by-hand", "10.0.0.1")
    await fleet.nodes.revoke(MAC, actor=OPERATOR)
    assert [node.origin.host for node in await fleet.served()] == ["10.0.0.1", "10.0.0.1"]
    assert (await fleet.served())[0].token == Secret("declared-token")


async def test_no_announced_value_becomes_a_declaration(fleet: Fleet) -> None:
    await fleet.declare(DECLARED)
    await fleet.join()
    await fleet.join("mac-2")
    exported = await fleet.config.export()
    assert exported.nodes == (replace(DECLARED, token=None),)
    applied = await fleet.config.apply(exported, actor=OPERATOR, prune=True, dry_run=False)
    assert applied.changes == ()
    assert [node.origin.host for node in await fleet.served()] == ["10.0.0.7", "10.0.0.7"]


async def test_the_same_again_moves_no_version(fleet: Fleet) -> None:
    key_id = await fleet.join()
    version = await fleet.catalogue.version()
    assert (await fleet.nodes.announce(key_id, SAID)).version is None
    assert await fleet.catalogue.version() == version


async def test_what_is_only_told_is_stored_and_moves_no_version(fleet: Fleet) -> None:
    key_id = await fleet.join()
    version = await fleet.catalogue.version()
    told = replace(
        SAID, engine_version="0.33", epoch_ms=SAID.epoch_ms + 1, models=(*SAID.models[1:], SAID.models[0])
    )
    told = replace(told, models=tuple(replace(model, loaded=False) for model in SAID.models))
    assert (await fleet.nodes.announce(key_id, told)).version is None
    assert await fleet.catalogue.version() == version
    (known,) = await fleet.nodes.list()
    assert known.announcement == replace(told, token=None)


@pytest.mark.parametrize(
    "changed",
    [
        replace(SAID, url="http://10.0.0.8:8790"),
        replace(SAID, token=Secret("another-token")),
        replace(SAID, slots=2),
        replace(SAID, models=SAID.models[:1]),
    ],
)
async def test_what_changes_the_way_of_calls_moves_the_version_and_is_served(
    fleet: Fleet, changed: Announcement
) -> None:
    key_id = await fleet.join()
    version = await fleet.catalogue.version()
    assert (await fleet.nodes.announce(key_id, changed)).version == version + 1
    (node,) = await fleet.served()
    assert f"http://{node.origin.host}:8790" == changed.url
    assert (node.token, node.slots, len(node.windows)) == (changed.token, changed.slots, len(changed.models))


async def test_a_node_that_drains_keeps_its_place_and_is_marked_until_it_is_back(fleet: Fleet) -> None:
    key_id = await fleet.join()
    await fleet.nodes.announce(key_id, replace(SAID, draining=True))
    assert [(node.name, node.draining) for node in await fleet.served()] == [(MAC, True)]
    await fleet.nodes.announce(key_id, replace(SAID, epoch_ms=SAID.epoch_ms + 1))
    assert [(node.name, node.draining) for node in await fleet.served()] == [(MAC, False)]


async def test_of_two_agents_under_one_name_the_one_that_started_later_is_served(fleet: Fleet) -> None:
    key_id = await fleet.join()
    newer = replace(SAID, url="http://10.0.0.9:8790", epoch_ms=SAID.epoch_ms + 1)
    await fleet.nodes.announce(key_id, newer)
    with pytest.raises(StaleAnnouncement):
        await fleet.nodes.announce(key_id, SAID)
    assert [node.origin.host for node in await fleet.served()] == ["10.0.0.9"]


async def test_agents_of_one_node_that_announce_at_once_leave_the_latest(fleet: Fleet) -> None:
    key, _ = await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    agents = [replace(SAID, url=f"http://10.0.1.{turn}:1", epoch_ms=SAID.epoch_ms + turn) for turn in range(1, 9)]
    ends = await asyncio.gather(
        *(fleet.nodes.announce(key.id, said) for said in reversed(agents)), return_exceptions=True
    )
    assert all(isinstance(end, StaleAnnouncement) for end in ends if isinstance(end, Exception))
    assert [node.origin.host for node in await fleet.served()] == ["10.0.1.8"]


async def test_a_new_key_forgets_the_epoch_of_the_last_one(fleet: Fleet) -> None:
    await fleet.join()
    await fleet.nodes.revoke(MAC, actor=OPERATOR)
    await fleet.join(said=replace(SAID, epoch_ms=1))
    assert [node.name for node in await fleet.served()] == [MAC]


async def test_a_node_that_fell_silent_keeps_its_place(fleet: Fleet) -> None:
    await fleet.join()
    await fleet.passes(3600)
    (known,) = await fleet.nodes.list()
    assert known.heard_ago_s == pytest.approx(3600, abs=60)
    assert [node.name for node in await fleet.served()] == [MAC]


async def test_an_announcement_moves_the_time_a_node_was_heard(fleet: Fleet) -> None:
    key_id = await fleet.join()
    await fleet.passes(HEARTBEAT_WRITE_S + 1)
    await fleet.nodes.announce(key_id, SAID)
    (known,) = await fleet.nodes.list()
    assert known.heard_ago_s == pytest.approx(0, abs=5)
    assert known.heard_at is not None
    assert known.heard_at > 1_700_000_000


async def test_a_flood_of_the_same_writes_once_in_a_while(fleet: Fleet) -> None:
    key_id = await fleet.join()
    (before,) = await fleet.nodes.list()
    for _ in range(5):
        await fleet.nodes.announce(key_id, SAID)
    (after,) = await fleet.nodes.list()
    assert before.heard_at == after.heard_at


async def test_nodes_are_listed_declared_or_joined_without_a_token(fleet: Fleet) -> None:
    await fleet.declare(DECLARED)
    awaited, _ = await fleet.nodes.issue(NodePermit("awaited", ("a",), "us"), actor=OPERATOR)
    key_id = await fleet.join()
    listed = await fleet.nodes.list()
    assert [node.name for node in listed] == ["mac-1", "awaited"]
    assert (listed[0].declared, listed[0].key_id) == (replace(DECLARED, token=None), key_id)
    assert (listed[0].announcement, listed[0].permit) == (replace(SAID, token=None), NodePermit("mac-1"))
    assert (listed[1].key_id, listed[1].permit) == (awaited.id, NodePermit("awaited", ("a",), "us"))
    assert (listed[1].declared, listed[1].announcement, listed[1].heard_at) == (None, None, None)
    assert "token" not in repr(listed).replace("token=None", "")


@pytest.mark.parametrize("declared", [(DECLARED,), ()])
async def test_a_node_is_switched_off_and_on(fleet: Fleet, declared: tuple[NodeSpec, ...]) -> None:
    await fleet.declare(*declared)
    await fleet.join()
    assert await fleet.nodes.set_enabled(MAC, enabled=False, actor=OPERATOR)
    assert [node.enabled for node in await fleet.nodes.list()] == [False]
    assert await fleet.served() == ()
    assert await fleet.nodes.set_enabled(MAC, enabled=True, actor=OPERATOR)
    assert [node.name for node in await fleet.served()] == [MAC]


async def test_a_node_that_is_only_declared_is_switched_too(fleet: Fleet) -> None:
    await fleet.declare(DECLARED)
    assert await fleet.nodes.set_enabled(MAC, enabled=False, actor=OPERATOR)
    assert not (await fleet.config.export()).nodes[0].enabled


async def test_switching_to_what_holds_changes_nothing(fleet: Fleet) -> None:
    await fleet.join()
    version = await fleet.catalogue.version()
    assert await fleet.nodes.set_enabled(MAC, enabled=True, actor=OPERATOR)
    assert await fleet.catalogue.version() == version


async def test_a_node_that_nobody_knows_is_not_switched(fleet: Fleet) -> None:
    assert not await fleet.nodes.set_enabled(MAC, enabled=False, actor=OPERATOR)


async def test_each_change_of_an_operator_moves_the_version_once(fleet: Fleet) -> None:
    await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    assert await fleet.catalogue.version() == 1
    await fleet.nodes.set_enabled(MAC, enabled=False, actor=OPERATOR)
    assert await fleet.catalogue.version() == 2
    await fleet.nodes.revoke(MAC, actor=OPERATOR)
    assert await fleet.catalogue.version() == 3


async def test_other_replicas_hear_of_an_announcement(fleet: Fleet) -> None:
    key, _ = await fleet.nodes.issue(NodePermit("mac-1"), actor=OPERATOR)
    async with asyncio.TaskGroup() as group, asyncio.timeout(NEWS_WITHIN_S):
        heard = group.create_task(_first(fleet.feed))
        slots = 1
        while not heard.done():  # a feed says nothing about when it began
            slots = slots % 100 + 1
            await fleet.nodes.announce(key.id, replace(SAID, slots=slots))
            await asyncio.sleep(0)
    assert heard.result() == CatalogueChanged()


async def _first(feed: ChangeFeed) -> News:
    async with aclosing(cast("AsyncGenerator[News]", feed.listen())) as news:
        return await anext(news)


async def test_a_store_that_is_away_says_so(fleet: Fleet) -> None:
    key_id = await fleet.join()
    await fleet.take_away()
    asked: list[Callable[[], Awaitable[object]]] = [
        lambda: fleet.nodes.find(key_id),
        lambda: fleet.nodes.announce(key_id, SAID),
        lambda: fleet.nodes.issue(NodePermit("mac-2"), actor=OPERATOR),
        lambda: fleet.nodes.revoke(MAC, actor=OPERATOR),
        lambda: fleet.nodes.set_enabled(MAC, enabled=False, actor=OPERATOR),
        fleet.nodes.list,
    ]
    for ask in asked:
        with pytest.raises(StoreAway):
            await ask()
