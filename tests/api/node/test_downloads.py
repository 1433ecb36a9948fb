import base64
import hashlib
from collections.abc import AsyncIterator, Mapping

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.node.downloads import AGENT, INSTALLER, Download, Downloads
from ktms.api.wire import Dates
from tests.api.wire_client import ask, request

SCRIPT, WHEEL = b"#!/bin/sh\nexit 0\n", b"PK\x03\x04 a wheel"


class Maker:
    """Makes both files, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Mapping[str, Download]:
        self.times += 1
        return {
            INSTALLER: Download("text/x-shellscript; charset=utf-8", SCRIPT),
            AGENT: Download("application/octet-stream", WHEEL),
        }


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
async def port(maker: Maker) -> AsyncIterator[int]:
    dates = Dates(ManualClock())
    listener = Listener(Downloads(maker, dates).routes(), dates, ListenerSettings(), MemoryTelemetry())
    yield await listener.start("127.0.0.1", 0)
    await listener.stop()


@pytest.mark.parametrize(("path", "body"), [(INSTALLER, SCRIPT), (AGENT, WHEEL)])
async def test_a_file_comes_whole_with_its_sha_256(port: int, path: str, body: bytes) -> None:
    answer = await ask(port, request(path))
    assert (answer.status, answer.body) == (200, body)
    assert answer.headers["x-ktms-sha256"] == hashlib.sha256(body).hexdigest()
    digest = answer.headers["repr-digest"].removeprefix("sha-256=:").removesuffix(":")
    assert base64.b64decode(digest) == hashlib.sha256(body).digest()


async def test_files_are_made_at_the_first_question_and_kept(port: int, maker: Maker) -> None:
    assert maker.times == 0
    for path in (INSTALLER, AGENT, INSTALLER):
        await ask(port, request(path))
    assert maker.times == 1


async def test_nothing_can_be_put_there(port: int) -> None:
    assert (await ask(port, request(INSTALLER, method="PUT", body=b"x"))).status == 405
