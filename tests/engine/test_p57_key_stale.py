"""P57: a key that was changed or revoked is known to be so within ten seconds, though nobody was told of it."""

from dataclasses import replace

from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec, TenantSpec
from ktms.domain.errors import ErrorCode
from ktms.engine.call import Failed, Result, Whole
from tests.engine.rig import CATALOGUE, KEY, TEST, Rig, key_id, rig_of, whole
from tests.engine.virtual_loop import after

KNOWN_S = 10.0
"""A verdict older than this is used only while the database is away."""


def code(result: Result) -> str | None:
    return result.problem.code if isinstance(result, Failed) else None


def limited(limits: Limits, team: Limits | None = None) -> Catalogue:
    key = ClientKeySpec("app", "default", limits=limits, secret=Secret(KEY))
    return replace(CATALOGUE, client_keys=(key,), tenants=(TenantSpec("default", limits=team or Limits()),))


async def warm_rig() -> Rig:
    """Start a replica that has just used the key."""
    rig = await rig_of(catalogue=limited(Limits()))
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call()), Whole)
    return rig


async def apply(rig: Rig, catalogue: Catalogue) -> None:
    """Change what is stored; the replica has not heard of it."""
    await rig.config.apply(catalogue, actor=TEST, prune=False, dry_run=False)


async def test_a_limit_of_the_key_is_in_force() -> None:
    rig = await warm_rig()
    await apply(rig, limited(Limits(rpm=0)))
    await after(KNOWN_S)
    assert code(await rig.handle(rig.call())) == ErrorCode.RATE_LIMIT_EXCEEDED


async def test_a_limit_of_the_team_is_in_force() -> None:
    rig = await warm_rig()
    await apply(rig, limited(Limits(), Limits(concurrent=0)))
    await after(KNOWN_S)
    assert code(await rig.handle(rig.call())) == ErrorCode.RATE_LIMIT_EXCEEDED


async def test_a_limit_that_was_taken_away_refuses_nobody() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=1)))
    rig.says("alpha", whole())
    await rig.handle(rig.call())
    assert code(await rig.handle(rig.call())) == ErrorCode.RATE_LIMIT_EXCEEDED
    await apply(rig, limited(Limits()))
    await after(KNOWN_S)
    assert isinstance(await rig.handle(rig.call()), Whole)


async def test_a_lowered_limit_counts_what_was_used_before() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=60)))
    rig.says("alpha", whole())
    for _ in range(30):
        await rig.handle(rig.call())
    await apply(rig, limited(Limits(rpm=2)))
    await after(KNOWN_S)
    results = [code(await rig.handle(rig.call())) for _ in range(2)]
    assert results == [None, ErrorCode.RATE_LIMIT_EXCEEDED]


async def test_a_revoked_key_is_refused() -> None:
    rig = await warm_rig()
    await MemoryKeyAdmin(rig.store, rig.entropy).revoke(key_id(), actor=TEST)
    await after(KNOWN_S)
    assert code(await rig.handle(rig.call())) == ErrorCode.INVALID_API_KEY
