"""Contract of `ktms/ports/policy_store.py`: one suite for every implementation."""

from dataclasses import dataclass, replace

import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.policy_store import MemoryPolicyStore
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.policy_store import PostgresPolicyStore
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor, Role
from ktms.domain.catalogue import Catalogue, PolicySpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.placement import Placement
from ktms.ports.catalogue import StoreAway
from ktms.ports.config_store import ConfigStore
from ktms.ports.policy_store import Policy, PolicyStore
from tests.contracts.conftest import Act, Gate

OPERATOR = Actor("tester", Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class Desk:
    policies: PolicyStore
    config: ConfigStore
    take_away: Act


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.service)])
def desk(request: pytest.FixtureRequest) -> Desk:
    made: Desk = request.getfixturevalue(f"{request.param}_desk")
    return made


@pytest.fixture
def memory_desk(entropy: SeededEntropy) -> Desk:
    store = MemoryStore()

    async def take_away() -> None:
        store.away = True

    return Desk(MemoryPolicyStore(store), MemoryConfigStore(store, entropy), take_away)


@pytest.fixture
def postgres_desk(
    gated_database: Database,
    postgres_gate: Gate,
    keyring_secrets: KeyringSecrets,
    entropy: SeededEntropy,
    telemetry: MemoryTelemetry,
) -> Desk:
    config = PostgresConfigStore(gated_database, keyring_secrets, entropy, telemetry)
    return Desk(PostgresPolicyStore(gated_database, entropy), config, postgres_gate.close)


async def test_a_new_gateway_has_the_settings_of_a_new_gateway(desk: Desk) -> None:
    assert await desk.policies.policy() == Policy(PolicySpec(), 0)


async def test_single_settings_change_and_all_others_stay(desk: Desk) -> None:
    stored = PolicySpec(placement=Placement.NODES_ONLY, allowed_regions=("fr",), attempts_max=2)
    await desk.config.apply(Catalogue(policy=stored), actor=OPERATOR, prune=False, dry_run=False)
    after = await desk.policies.change_policy(
        PolicySpec(force_cloud=True, band=float("inf")), ("force_cloud", "band"), actor=OPERATOR
    )
    assert after == Policy(replace(stored, force_cloud=True, band=float("inf")), 2)
    assert await desk.policies.policy() == after
    assert (await desk.config.export()).policy == after.spec


async def test_a_change_to_what_holds_moves_no_version(desk: Desk) -> None:
    after = await desk.policies.change_policy(PolicySpec(), ("force_cloud",), actor=OPERATOR)
    assert after == Policy(PolicySpec(), 0)


async def test_a_value_that_cannot_be_changes_nothing(desk: Desk) -> None:
    with pytest.raises(CatalogueInvalid):
        await desk.policies.change_policy(PolicySpec(attempts_max=0), ("attempts_max",), actor=OPERATOR)
    assert await desk.policies.policy() == Policy(PolicySpec(), 0)


async def test_a_store_that_is_away_says_so(desk: Desk) -> None:
    await desk.take_away()
    with pytest.raises(StoreAway):
        await desk.policies.policy()
    with pytest.raises(StoreAway):
        await desk.policies.change_policy(PolicySpec(), (), actor=OPERATOR)
