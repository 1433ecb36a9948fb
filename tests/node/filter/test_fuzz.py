"""Of all mutated targets exactly two byte strings are served, and what reaches the engine is always the same.

`test_both_parsers.py` runs this file once more with aiohttp's parser in Python.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.node.filter.target import Head, Route, route_of
from tests.api.wire_client import PATIENCE_S
from tests.node.filter.gate import BEARER, Gate, gate_of

SERVED = {(b"GET", b"/v1/models"), (b"POST", b"/v1/chat/completions")}
ODD = b"\x00\t !\"#%&'()*+,-./0:;<=>?@AZ[\\]^_`az{|}~\x7f\x80\xaf\xc0\xff"
LEFTOVERS = (
    b"/",
    b"//",
    b"/.",
    b"/..",
    b"/../",
    b"%2f",
    b"%00",
    b";a=b",
    b".json",
    b"\\",
    b"http://x",
    b"@x",
    b":80",
)


def mutations(target: bytes) -> Iterator[bytes]:
    """Give what differs from a target in one place: a byte more, less, other, twice, escaped, of other case."""
    for at in range(len(target)):
        before, byte, after = target[:at], target[at : at + 1], target[at + 1 :]
        yield before + after
        yield before + byte.swapcase() + after
        yield before + byte + byte + after
        for form in (b"%%%02x", b"%%%02X", b"%%25%02x", b"%%u00%02x"):
            yield before + form % byte[0] + after
        for odd in ODD:
            yield before + bytes([odd]) + after
            yield before + bytes([odd]) + byte + after
    for more in LEFTOVERS:
        yield target + more
        yield more + target


def path_of(target: bytes) -> bytes:
    return target.partition(b"?")[0]


def test_every_byte_at_every_place_is_another_target() -> None:
    for method, target in SERVED:
        for at in range(len(target) + 1):
            for byte in range(256):
                for other in (
                    target[:at] + bytes([byte]) + target[at + 1 :],
                    target[:at] + bytes([byte]) + target[at:],
                ):
                    route = route_of(Head(method, other, (1, 1), ((b"Host", b"node"),)))
                    assert isinstance(route, Route) == (
                        path_of(other) == target and b"#" not in other and _plain(other)
                    )


def _plain(target: bytes) -> bool:
    return all(0x21 <= byte <= 0x7E for byte in target)


@pytest.mark.parametrize(("method", "target"), sorted(SERVED))
async def test_over_the_wire_only_the_exact_bytes_are_served(method: bytes, target: bytes) -> None:
    corpus = sorted({other for other in mutations(target) if other != target} | {t for _, t in SERVED} | {target})
    async with gate_of() as gate, _engine_that_answers(gate):
        served = {other for other in corpus if await _is_served(gate.port, method, other)}
        wanted = {other for other in corpus if path_of(other) == target and b"#" not in other and _plain(other)}
        assert served - _spaced(corpus, target) == wanted
        assert {path_of(other) for other in wanted} == {target}
        assert len(set(_without_length(gate.engine.heads))) == (method == b"POST")


def _spaced(corpus: list[bytes], target: bytes) -> set[bytes]:
    """Give the target with spaces around, which the parser in C takes for the line's own."""
    return {other for other in corpus if other != target and other.strip(b" ") == target}


def _without_length(heads: list[bytes]) -> list[bytes]:
    return [b"\r\n".join(line for line in head.split(b"\r\n") if b"ontent-Length" not in line) for head in heads]


async def _is_served(port: int, method: bytes, target: bytes) -> bool:
    """Ask for a target, as bytes; whether it was served."""
    body = b'{"model":"qwen3:4b","messages":[]}' if method == b"POST" else b""
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    sent = b"%b %b HTTP/1.1\r\nHost: node\r\n%b\r\nConnection: close\r\n%b\r\n%b" % (
        method,
        target,
        BEARER.encode(),
        length,
        body,
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(PATIENCE_S):
            return (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    finally:
        writer.transport.abort()


@asynccontextmanager
async def _engine_that_answers(gate: Gate) -> AsyncIterator[None]:
    async def answer() -> None:
        while True:
            asked = await gate.engine._asked.get()
            await asked.answer(b"{}")

    async with asyncio.TaskGroup() as group:
        answering = group.create_task(answer())
        yield
        answering.cancel()


PIECES = st.sampled_from(
    [
        b"/",
        b"v1",
        b"models",
        b"chat",
        b"completions",
        b"..",
        b".",
        b"%2e",
        b"%2F",
        b"//",
        b"?",
        b"#",
        b";",
        b"http:",
    ]
)
TARGETS = st.one_of(
    st.lists(PIECES, max_size=8).map(b"".join),
    st.binary(max_size=40),
    st.sampled_from(sorted(target for _, target in SERVED)).flatmap(
        lambda target: st.tuples(st.integers(0, len(target)), st.binary(max_size=3)).map(
            lambda cut: target[: cut[0]] + cut[1] + target[cut[0] :]
        )
    ),
)


def test_no_target_of_a_fuzzer_is_served_but_the_two() -> None:
    with asyncio.Runner() as runner:
        opened = gate_of()
        gate = runner.run(opened.__aenter__())

        @settings(max_examples=300, deadline=None, derandomize=True)
        @given(method=st.sampled_from([b"GET", b"POST", b"get", b"HEAD"]), target=TARGETS)
        def ask_for(method: bytes, target: bytes) -> None:
            sent = b"%b %b HTTP/1.1\r\nHost: node\r\n%b\r\nContent-Length: 0\r\n\r\n" % (
                method,
                target,
                BEARER.encode(),
            )
            first_line = sent.partition(b"\r\n")[0]
            status = runner.run(_status(gate.port, sent))
            if b"\r" not in target and b"\n" not in target and status == 200:
                asked = tuple(first_line.removesuffix(b" HTTP/1.1").strip(b" ").split(b" ", 1))
                assert (asked[0], path_of(asked[1]).strip(b" ")) == (b"GET", b"/v1/models")
            assert gate.engine.heads == []

        try:
            ask_for()
        finally:
            runner.run(opened.__aexit__(None, None, None))


async def _status(port: int, sent: bytes) -> int:
    """Send bytes; give the first answer's status, 0 where there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            line = await reader.readline()
            return int(line.split(b" ")[1]) if line else 0
    except ConnectionError:
        return 0
    finally:
        writer.transport.abort()
