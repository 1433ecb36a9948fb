import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ktms.node.doctor.ask_ports import look_at_port, look_at_url, owner_of, place_of_url, read_lsof, read_ss
from ktms.node.doctor.facts import Program, Speaks
from tests.e2e.ports import any_port
from tests.node.doctor.certificates import own_context
from tests.node.fakes.ollama import FakeOllama
from tests.node.fakes.serving import serving
from tests.node.recordings import RecordedMachine, linux, mac


@asynccontextmanager
async def listening(says: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Listen, and say this to whoever has said something."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1):
            writer.write(says)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_port_that_speaks_tls_is_known_by_one_byte(tmp_path: Path) -> None:
    async with listening(b"", own_context(tmp_path)) as port:
        found = await look_at_url(f"https://127.0.0.1:{port}/v1")
    assert (found.is_open, found.speaks) == (True, Speaks.TLS)


async def test_an_alert_is_tls_too() -> None:
    async with listening(b"\x15\x03\x01\0\x02\x02\x46") as port:
        assert (await look_at_url(f"http://127.0.0.1:{port}")).speaks is Speaks.TLS


async def test_a_web_server_speaks_plain_http() -> None:
    async with serving(FakeOllama()) as engine:
        found = await look_at_url(engine.url)
    assert (found.is_open, found.speaks) == (True, Speaks.PLAIN)


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-OpenSSH_9.9\r\n"])
async def test_what_another_program_speaks_is_not_known(says: bytes) -> None:
    async with listening(says) as port:
        found = await look_at_url(f"http://127.0.0.1:{port}")
    assert (found.is_open, found.speaks) == (True, None)


async def test_a_port_where_nobody_listens_has_no_owner() -> None:
    machine = linux()
    found = await look_at_port(machine, "127.0.0.1", any_port())
    assert (found.is_open, found.owner, machine.asked) == (False, None, [])


async def test_who_listens_everywhere_is_dialled_on_loopback() -> None:
    async with listening(b"H") as port:
        found = await look_at_port(linux(), "0.0.0.0", port)
    assert (found.host, found.is_open) == ("127.0.0.1", True)


@pytest.mark.parametrize("machine", [mac(), linux()], ids=["mac", "linux"])
def test_the_owner_of_a_port_is_told_by_each_system(machine: RecordedMachine) -> None:
    assert owner_of(machine, 11434) == Program(4100, "ollama")


def test_the_first_of_several_programs_counts() -> None:
    assert read_lsof("p900\nccom.docker.backend\nf7\np901\ncother\n") == Program(900, "com.docker.backend")
    assert read_ss('LISTEN 0 4096 *:80 *:* users:(("nginx",pid=7,fd=6),("nginx",pid=8,fd=6))') == Program(
        7, "nginx"
    )


@pytest.mark.parametrize("text", ["", "p900\n", "LISTEN 0 4096 127.0.0.1:11434 0.0.0.0:*"])
def test_programs_of_other_users_are_not_known(text: str) -> None:
    assert (read_lsof(text), read_ss(text)) == (None, None)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://a.example", ("a.example", 80)),
        ("https://a.example/x", ("a.example", 443)),
        ("http://[::1]:11434", ("::1", 11434)),
        ("http://a.example:99999", ("a.example", 80)),
    ],
)
def test_a_url_has_a_port_by_default(url: str, place: tuple[str, int]) -> None:
    assert place_of_url(url) == place
