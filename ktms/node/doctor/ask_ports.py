"""Ports: whether somebody listens, who it is, and by one byte of an answer whether it speaks TLS.

A greeting of TLS is sent: a port that speaks it answers with a record (0x16) or an alert (0x15), a web server with
the `H` of a refusal, others not at all. Not here: what should be there (`judge.py`).
"""

import asyncio
import re
import ssl
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from ktms.node.doctor.facts import Port, Program, Speaks
from ktms.node.machine import Machine

DIAL_S = 2.0
"""On this machine it takes no time, on its network a fraction of that."""

HEARD_S = 0.5
"""Who speaks HTTP or TLS answers at once; llama.cpp says nothing at all to what is not HTTP."""

OWNER_S = 4.0
"""`lsof` walks through all programs of a user."""

ALERT, HANDSHAKE = 0x15, 0x16

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - is dialled, not bound
"""Where one that listens everywhere is reached from here."""

_SS_USER = re.compile(r'users:\(\("([^"]*)",pid=(\d+)')


async def look_at_port(machine: Machine, host: str, number: int) -> Port:
    """Look at one port of this machine."""
    there = ANY_ADDRESS.get(host, host)
    is_open, speaks = await _dialled(there, number)
    owner = await asyncio.to_thread(owner_of, machine, number) if is_open else None
    return Port(there, number, is_open, speaks, owner)


async def look_at_url(url: str) -> Port:
    """Look at the port a URL leads to, wherever that is."""
    host, number = place_of_url(url)
    is_open, speaks = await _dialled(host, number)
    return Port(host, number, is_open, speaks)


def place_of_url(url: str) -> tuple[str, int]:
    """Give host and port of a URL, whose port has a default."""
    parts = urlsplit(url)
    try:
        number = parts.port
    except ValueError:
        number = None
    return parts.hostname or "", number or (443 if parts.scheme == "https" else 80)


async def _dialled(host: str, number: int) -> tuple[bool, Speaks | None]:
    try:
        async with asyncio.timeout(DIAL_S):
            reader, writer = await asyncio.open_connection(host, number)
    except (OSError, TimeoutError, UnicodeError):
        return False, None
    try:
        async with asyncio.timeout(HEARD_S):
            writer.write(_greeting())
            return True, _read(await reader.read(1))
    except (OSError, TimeoutError):
        return True, None
    finally:
        writer.transport.abort()


def _greeting() -> bytes:
    """Give the first bytes of a real handshake; no part of a handshake follows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    came, leaves = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(came, leaves).do_handshake()
    return leaves.read()


def _read(first: bytes) -> Speaks | None:
    if first[:1] in {bytes([ALERT]), bytes([HANDSHAKE])}:
        return Speaks.TLS
    return Speaks.PLAIN if first == b"H" else None


def owner_of(machine: Machine, number: int) -> Program | None:
    """Tell which program listens; it waits for a command, so never in an event loop."""
    if machine.system == "darwin":
        words: Sequence[str] = ("lsof", "+c", "0", "-nP", f"-iTCP:{number}", "-sTCP:LISTEN", "-F", "pc")
        return read_lsof(machine.run(words, within_s=OWNER_S).out)
    return read_ss(machine.run(("ss", "-Hltnp", "sport", "=", f":{number}"), within_s=OWNER_S).out)


def read_lsof(text: str) -> Program | None:
    """Read the first program of `lsof -F pc`: a line with its number, one with its name."""
    fields = {line[:1]: line[1:] for line in reversed(text.splitlines())}
    pid, name = fields.get("p", ""), fields.get("c", "")
    return Program(int(pid), name) if pid.isdecimal() and name else None


def read_ss(text: str) -> Program | None:
    """Read the first program of `ss -p`, which names none of other users."""
    found = _SS_USER.search(text)
    return Program(int(found[2]), found[1]) if found else None
