"""Privacy: whatever happens to a call, its content and the credentials show nowhere but where they belong.

Canaries travel as prompt, completion, vendor key and client key along every path of success and error; then all
that the gateway said is searched: records, usage events, log lines, metrics, response headers, error messages.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ktms.adapters.telemetry.access_line import LogFormat
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.domain.catalogue import TimeoutSpec
from ktms.engine.settings import KIB, EngineSettings
from tests.cases.calls import Reply, ask, booked, call, reply
from tests.cases.canaries import (
    CONTENT,
    PROMPT,
    SECRETS,
    VENDOR_KEYS,
    canaries,
    failures,
    keyed,
    refused_at_the_door,
    said,
)
from tests.cases.forms import FORMS, STREAMS, Form, StreamForm
from tests.world.script import chunk, head, hold
from tests.world.world import GatewayUnderTest, World

SMALL = EngineSettings(whole_answer_max_bytes=64 * KIB)
TIMEOUTS = TimeoutSpec(first_token_s=0.2, idle_s=0.2)

OURS = frozenset(
    {
        "date",
        "content-type",
        "content-length",
        "transfer-encoding",
        "cache-control",
        "x-accel-buffering",
        "connection",
        "retry-after",
        "server-timing",
        "x-request-id",
        "allow",
    }
)
"""Headers of an answer, besides those that begin with `x-ktms-`: whatever a vendor sends, no others."""


def everything(gateway: GatewayUnderTest, folder: Path) -> Iterator[tuple[str, str]]:
    """Give all that was written down, and where."""
    telemetry = gateway.telemetry
    yield "records", repr(telemetry.records)
    yield "events", repr(telemetry.events)
    yield "counts", repr(telemetry.failures) + repr(telemetry.gauges)
    yield "usage events", repr(gateway.ledger.events)
    for log_format in LogFormat:
        yield f"{log_format.value} lines and metrics", as_the_real_telemetry_says_it(gateway, folder, log_format)


def as_the_real_telemetry_says_it(gateway: GatewayUnderTest, folder: Path, log_format: LogFormat) -> str:
    """Tell the real telemetry all that the recording one was told; give its lines and its metrics."""
    told, path = gateway.telemetry, folder / log_format.value
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    try:
        real = GatewayTelemetry(gateway.clock, LogSettings(log_format, "debug", fd), version="0")
        for record in told.records:
            real.call_started()
            real.call_ended(record)
        for event in told.events:
            real.event(event.level, event.name, **event.facts)
        for failure in told.failures:
            real.dependency_failed(*failure)
        for (gauge, label), value in told.gauges.items():
            real.gauge(gauge, value, label)
        metrics = real.exposition().decode()
        assert real.stop()
    finally:
        os.close(fd)
    lines = path.read_text()
    assert lines.count("\n") == len(told.records) + len(told.events)
    return lines + metrics


def check_nothing_leaked(gateway: GatewayUnderTest, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    written = [*everything(gateway, folder), ("library logs", caplog.text)]
    found = [(where, canary) for where, text in written for canary in (*CONTENT, *SECRETS) if canary in text]
    assert found == []


def check_answer(got: Reply) -> None:
    """Check that no secret is in an answer, and neither a canary nor a vendor's own header in its head."""
    for name, value in got.head.headers:
        assert name.lower() in OURS or name.lower().startswith("x-ktms-"), name
        assert not any(canary in value for canary in (*CONTENT, *SECRETS)), name
    assert not any(secret.encode() in got.body for secret in SECRETS), got.body


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_call_that_goes_well_leaves_no_content_behind(
    world: World, form: Form, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    upstream = await world.vendor("canary")
    gateway = await world.gateway(keyed(upstream.url, VENDOR_KEYS[0], TIMEOUTS))
    upstream.script(*said(form))

    got = await call(world, gateway, canaries(form))

    assert got.status == 200
    assert PROMPT.encode() in (await upstream.request()).body
    check_answer(got)
    check_nothing_leaked(gateway, tmp_path, caplog)


@pytest.mark.parametrize("secret", VENDOR_KEYS)
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_whatever_a_vendor_repeats_goes_no_further_than_it_may(
    world: World, form: Form, secret: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    upstream = await world.vendor("canary")
    gateway = await world.gateway(keyed(upstream.url, secret, TIMEOUTS), engine=SMALL)
    scripts = failures(form, secret)
    for script in scripts:
        upstream.script(*script)
        gateway.clock.advance(301)  # no rest and no open breaker stands in the way

        check_answer(await call(world, gateway, canaries(form)))

    assert len(upstream.requests) == len(scripts)
    assert len(gateway.ledger.events) == len(scripts)
    check_nothing_leaked(gateway, tmp_path, caplog)


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_request_that_is_refused_is_not_repeated_anywhere(
    world: World, form: Form, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    upstream = await world.vendor("canary")
    gateway = await world.gateway(keyed(upstream.url, VENDOR_KEYS[0], TIMEOUTS))
    for request in refused_at_the_door(form):
        client = await world.client(gateway)
        client.send(request)

        got = await reply(client)

        assert 400 <= got.status < 500, (request, got)
        check_answer(got)
        assert PROMPT.encode() not in got.body, (request, got)
    assert upstream.requests == []
    check_nothing_leaked(gateway, tmp_path, caplog)


@pytest.mark.parametrize("form", STREAMS, ids=str)
async def test_a_client_that_leaves_leaves_no_content_behind(
    world: World, form: StreamForm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    upstream = await world.vendor("canary")
    gateway = await world.gateway(keyed(upstream.url, VENDOR_KEYS[0], TIMEOUTS))
    upstream.script(head(), chunk(form.content(CONTENT[1])), hold())
    client = await ask(world, gateway, canaries(form))
    await client.event()

    client.rst()

    assert (await booked(gateway)).record.cancelled
    check_nothing_leaked(gateway, tmp_path, caplog)


async def test_the_configuration_shows_no_secret_in_any_of_its_forms(world: World) -> None:
    upstream = await world.vendor("canary")
    made = keyed(upstream.url, VENDOR_KEYS[1], TIMEOUTS)
    gateway = await world.gateway(made)

    shown = repr(made) + repr(gateway.store)

    assert not any(secret in shown for secret in SECRETS)
