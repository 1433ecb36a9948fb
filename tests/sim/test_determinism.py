"""The same seed gives the same world, to the byte; another byte, reply or microsecond gives another hash."""

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from contextvars import Context
from pathlib import Path

import pytest

from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId
from sim.draft import CallDraft, Draft, Level
from sim.loop import VirtualLoop
from sim.network.side import Side
from sim.run import run
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.worlds import plain

SEEDS = (1, 2, 3, 4, 5)


ROOT = Path(__file__).parents[2]


def in_process(scenario: str, seed: int, hash_seed: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "sim", "run", "--seed", str(seed), "--scenario", scenario, "--json"],
        cwd=ROOT,
        env={"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    return told


@pytest.mark.parametrize("scenario", ["explore-ports", "explore", "fleet", "fleet-wire"])
def test_two_processes_with_other_hash_seeds_give_the_same_hash(scenario: str) -> None:
    for seed in SEEDS:
        one, other = (in_process(scenario, seed, hash_seed) for hash_seed in ("0", "11"))
        assert (one["hash"], one["ok"]) == (other["hash"], True), seed


def test_a_world_does_not_depend_on_those_before_it() -> None:
    first = [run(SCENARIOS["explore-ports"], seed).outcome.hash for seed in SEEDS]
    again = [run(SCENARIOS["explore-ports"], seed).outcome.hash for seed in reversed(SEEDS)]
    assert again == first[::-1]


def test_other_seeds_give_other_hashes() -> None:
    assert len({run(SCENARIOS["explore-ports"], seed).outcome.hash for seed in SEEDS}) == len(SEEDS)


def test_one_byte_of_a_vendor_changes_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(plain(), 1).outcome
    write = Side.write
    flipped: list[bytes] = []

    def flip(side: Side, data: bytes | bytearray | memoryview) -> None:
        if side.host == "cloud-a" and b'"content":"1.1' in data:
            flipped.append(bytes(data))
            data = bytes(data).replace(b'"content":"1.1', b'"content":"1.7')
        write(side, data)

    monkeypatch.setattr(Side, "write", flip)
    after = run(plain(), 1).outcome
    assert [data.count(b'"content":"1.1') for data in flipped[:1]] == [1]
    assert after.hash != before.hash


def test_one_reply_of_a_port_changes_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(plain(), 1).outcome
    find = MemoryKeyStore.find
    asked: list[Collection[KeyId]] = []

    async def forget_once(store: MemoryKeyStore, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        asked.append(ids)
        return {} if len(asked) == 20 else await find(store, ids)

    monkeypatch.setattr(MemoryKeyStore, "find", forget_once)
    assert run(plain(), 1).outcome.hash != before.hash
    assert len(asked) >= 20


def test_one_microsecond_of_a_timer_changes_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(plain(), 1).outcome
    call_later = VirtualLoop.call_later
    timers: list[float] = []

    def late_once(
        loop: VirtualLoop,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> object:
        if callback.__name__ == "_set_result_unless_cancelled":  # a sleep's: nobody takes it back
            timers.append(delay)
            if len(timers) == 50:
                delay += 1e-6
        return call_later(loop, delay, callback, *args, context=context)

    monkeypatch.setattr(VirtualLoop, "call_later", late_once)
    assert run(plain(), 1).outcome.hash != before.hash
    assert len(timers) >= 50


def test_one_byte_of_a_target_changes_the_hash_where_there_is_no_http(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tuple(CallDraft(at_s=number * 2.0) for number in range(3))
    quiet = plain(draft=Draft(level=Level.PORTS, calls=calls, runs_s=10.0))
    before = run(quiet, 1).outcome
    monkeypatch.setattr("sim.fakes.vendors.openai.FINGERPRINT", "fp_44709d6fcc")  # nobody reads it
    assert run(quiet, 1).outcome.hash != before.hash
