"""Several keys of one vendor: a refused one is set aside, a limited one rests alone, the last one stays in use."""

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from ktms.ports.telemetry import Dependency
from tests.cases.calls import Booked, booked, call, idle
from tests.cases.forms import CHAT, FORMS, Form
from tests.world.catalogues import VENDOR_SECRET, catalogue, vendor
from tests.world.script import status
from tests.world.vendor import MockVendor
from tests.world.world import GatewayUnderTest, World

REFUSED = (401, 402, 403)


async def keyed(world: World, keys: int) -> tuple[MockVendor, GatewayUnderTest]:
    """Start a gateway on one vendor with so many keys."""
    upstream = await world.vendor("keyed")
    return upstream, await world.gateway(catalogue(vendor("keyed", upstream.url, keys=keys)))


def keys_used(upstream: MockVendor) -> list[int]:
    """Tell by their numbers which keys the vendor saw, in order."""
    prefix = f"Bearer {VENDOR_SECRET}-keyed-"
    seen = [request.head.header("authorization") or "" for request in upstream.requests]
    assert all(one.startswith(prefix) for one in seen)
    return [int(one.removeprefix(prefix)) for one in seen]


def alarms(gateway: GatewayUnderTest) -> list[str | float | None]:
    """Give what each alarm about a key says of a replacement."""
    named = [event for event in gateway.telemetry.events if event.name == "vendor_key_refused"]
    assert {event.level for event in named} <= {"error"}
    return [event.facts["replaced"] for event in named]


def check_refused(books: Booked) -> None:
    assert books.event.status is AttemptStatus.FAILED
    assert books.event.usage == Usage()
    assert books.record.status == 502
    assert books.record.code == "upstream_auth_error"


@pytest.mark.parametrize("code", REFUSED)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_refused_key_is_set_aside_for_a_minute_with_an_alarm(world: World, form: Form, code: int) -> None:
    upstream, gateway = await keyed(world, 3)
    upstream.script(*status(code))
    upstream.standing(form.healthy())

    got = await call(world, gateway, form)

    assert got.status == 502
    assert got.error["code"] == "upstream_auth_error"
    check_refused(await booked(gateway))
    assert alarms(gateway) == ["True"]
    assert gateway.telemetry.failures == [(Dependency.VENDOR, "keyed", "credential_refused")]
    for _ in range(2):
        assert (await call(world, gateway, form)).status == 200
    gateway.clock.advance(59)
    assert (await call(world, gateway, form)).status == 200
    gateway.clock.advance(1)
    assert (await call(world, gateway, form)).status == 200
    assert keys_used(upstream) == [0, 1, 1, 1, 0]
    idle(gateway)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_429_rests_exactly_the_key_it_was_said_to(world: World, form: Form) -> None:
    upstream, gateway = await keyed(world, 3)
    upstream.script(*status(429, (("Retry-After", "10"),)))
    upstream.script(*status(429, (("Retry-After", "20"),)))
    upstream.standing(form.healthy())

    assert (await call(world, gateway, form)).status == 429
    assert (await call(world, gateway, form)).status == 429
    assert (await call(world, gateway, form)).status == 200
    gateway.clock.advance(10)
    assert (await call(world, gateway, form)).status == 200

    assert keys_used(upstream) == [0, 1, 2, 0]
    assert alarms(gateway) == []


async def test_where_every_key_rests_nobody_is_dialled_and_the_soonest_end_is_told(world: World) -> None:
    upstream, gateway = await keyed(world, 2)
    upstream.script(*status(429, (("Retry-After", "30"),)))
    upstream.script(*status(429, (("Retry-After", "12"),)))
    assert [(await call(world, gateway, CHAT)).status for _ in range(2)] == [429, 429]

    got = await call(world, gateway, CHAT)

    assert (got.status, got.retry_after) == (503, "12")
    assert got.error["code"] == "no_target_available"
    assert len(upstream.requests) == 2


@pytest.mark.parametrize("code", REFUSED)
async def test_the_only_key_stays_in_use(world: World, code: int) -> None:
    upstream, gateway = await keyed(world, 1)
    for _ in range(7):
        upstream.script(*status(code))
        assert (await call(world, gateway, CHAT)).status == 502
    upstream.script(*CHAT.healthy())

    assert (await call(world, gateway, CHAT)).status == 200

    assert keys_used(upstream) == [0] * 8
    assert alarms(gateway) == ["False"] * 7


async def test_the_last_of_several_keys_stays_in_use(world: World) -> None:
    upstream, gateway = await keyed(world, 2)
    for _ in range(4):
        upstream.script(*status(401))
        assert (await call(world, gateway, CHAT)).status == 502

    assert keys_used(upstream) == [0, 1, 1, 1]
    assert alarms(gateway) == ["True", "False", "False", "False"]


async def test_a_key_that_is_refused_never_shows_in_what_the_client_gets(world: World) -> None:
    upstream, gateway = await keyed(world, 2)
    secret = f"{VENDOR_SECRET}-keyed-0"
    upstream.script(*status(401, body=b'{"error":{"message":"Incorrect API key provided: %b"}}' % secret.encode()))

    got = await call(world, gateway, CHAT)

    assert secret.encode() not in got.body
    assert got.error["message"] == "The upstream refused the gateway's credential (status 401)."
