"""The same seed gives the same trace: in one process, in two, under faults, whatever the hash seed."""

import os
import subprocess
import sys

from tests.sim.network.small_world import SmallWorld


def _digest(seed: int) -> str:
    world = SmallWorld(seed)
    world.run(60)
    world.loop.close()
    return world.trace.digest()


def _digest_elsewhere(seed: int, hash_seed: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tests.sim.network.small_world", str(seed)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},  # noqa: TID251 - a process of its own needs its path
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_seed_gives_the_same_trace_twice_in_one_process() -> None:
    assert _digest(1) == _digest(1)


def test_another_seed_gives_another_trace() -> None:
    assert _digest(1) != _digest(2)


def test_a_seed_gives_the_same_trace_in_processes_with_different_hash_seeds() -> None:
    assert {_digest_elsewhere(1, "0"), _digest_elsewhere(1, "11"), _digest(1)} == {_digest(1)}


def test_faults_strike_and_are_survived() -> None:
    world = SmallWorld(1)
    world.run(60)
    world.loop.close()
    assert 0 < world.ends.count("200") < len(world.ends) == 60
    assert world.loop.unhandled == []
