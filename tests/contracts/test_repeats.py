"""Contract of `ktms/ports/repeats.py`: one suite for every implementation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import SEALED_ANSWER_BYTES_MAX, KeyringSecrets
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.postgres.encryption_state import settle_keyring
from ktms.adapters.postgres.pool import open_database
from ktms.adapters.postgres.repeats import FORGET_MAX, PostgresRepeats
from ktms.domain.access.keyring import Keyring
from ktms.domain.ids import KeyId, RequestId
from ktms.engine.repeats import ANSWER_BYTES_MAX
from ktms.ports.catalogue import StoreAway
from ktms.ports.entropy import Entropy
from ktms.ports.repeats import KEPT_S, Begun, Kept, OtherBody, Repeatable, Repeats, Running
from sim.fakes.postgres.repeats import SimRepeats
from sim.fakes.postgres.server import SimPostgres
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace
from tests.conftest import Gate

RUNS_S = 700.0
ANSWER = b"an answer with a canary in it"


@dataclass(frozen=True, slots=True)
class Stage:
    """One store that two replicas share. `passes` lets time pass, `rows` counts what is stored."""

    mine: Repeats
    theirs: Repeats
    passes: Callable[[float], Awaitable[None]]
    rows: Callable[[], Awaitable[int]]
    take_away: Callable[[], Awaitable[None]]


def call(number: int = 1, *, key: str = "order-7", owner: str = "0" * 10, body: bytes = b"a") -> Repeatable:
    request = RequestId(f"019f0000-0000-7000-8000-{number:012d}")
    return Repeatable(KeyId(owner), key, body * 32, request, RUNS_S)


async def test_the_first_call_of_a_key_begins_and_no_other_does(repeats: Stage) -> None:
    assert await repeats.mine.begin(call()) == Begun()
    assert await repeats.theirs.begin(call(2)) == Running()
    assert await repeats.mine.begin(call(3)) == Running()


async def test_of_many_that_begin_at_once_one_does(repeats: Stage) -> None:
    both = (repeats.mine, repeats.theirs)
    found = await asyncio.gather(*(both[number % 2].begin(call(number)) for number in range(20)))
    assert sorted(type(one).__name__ for one in found) == ["Begun", *["Running"] * 19]


async def test_what_was_kept_is_given_to_every_replica(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.keep(call(), ANSWER)
    for replica in (repeats.mine, repeats.theirs):
        assert await replica.begin(call(2)) == Kept(call().request, ANSWER)


@pytest.mark.parametrize("size", [0, 1, 300_000, ANSWER_BYTES_MAX + 1000])
async def test_answers_of_all_sizes_are_kept(repeats: Stage, size: int) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.keep(call(), b"x" * size)
    assert await repeats.theirs.begin(call(2)) == Kept(call().request, b"x" * size)


async def test_that_there_was_an_answer_is_kept_without_it(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.keep(call(), None)
    assert await repeats.theirs.begin(call(2)) == Kept(call().request, None)


async def test_another_body_is_told_while_it_runs_and_afterwards(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    assert await repeats.theirs.begin(call(2, body=b"b")) == OtherBody()
    await repeats.mine.keep(call(), ANSWER)
    assert await repeats.theirs.begin(call(3, body=b"b")) == OtherBody()


async def test_the_words_of_two_clients_do_not_meet(repeats: Stage) -> None:
    assert await repeats.mine.begin(call()) == Begun()
    assert await repeats.mine.begin(call(2, owner="1" * 10, body=b"b")) == Begun()
    assert await repeats.mine.begin(call(3, key="order-8")) == Begun()
    assert await repeats.mine.begin(call(4, key="Order-7")) == Begun()


async def test_a_call_that_gave_up_leaves_its_key_free(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.give_up(call())
    assert await repeats.rows() == 0
    assert await repeats.theirs.begin(call(2, body=b"b")) == Begun()


async def test_an_answer_is_not_given_up_and_keeping_twice_is_harmless(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.keep(call(), ANSWER)
    await repeats.mine.keep(call(), b"other")
    await repeats.mine.give_up(call())
    assert await repeats.theirs.begin(call(2)) == Kept(call().request, ANSWER)


async def test_what_never_began_is_neither_kept_nor_given_up(repeats: Stage) -> None:
    await repeats.mine.keep(call(), ANSWER)
    await repeats.mine.give_up(call())
    assert await repeats.rows() == 0
    await repeats.mine.begin(call())
    await repeats.theirs.keep(call(2), ANSWER)
    await repeats.theirs.give_up(call(2))
    assert await repeats.mine.begin(call(3)) == Running()


async def test_a_call_that_was_never_ended_is_over_in_time(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.passes(RUNS_S - 5)
    assert await repeats.theirs.begin(call(2)) == Running()
    await repeats.passes(10)
    assert await repeats.theirs.begin(call(2, body=b"b")) == Begun()


async def test_the_late_end_of_a_call_that_was_over_changes_nothing(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.passes(RUNS_S + 5)
    await repeats.theirs.begin(call(2))
    await repeats.mine.keep(call(), ANSWER)
    await repeats.mine.give_up(call())
    assert await repeats.theirs.begin(call(3)) == Running()


async def test_an_answer_can_be_had_for_a_day(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.keep(call(), ANSWER)
    await repeats.passes(KEPT_S - 10)
    assert await repeats.theirs.begin(call(2)) == Kept(call().request, ANSWER)
    await repeats.passes(20)
    assert await repeats.theirs.begin(call(2, body=b"b")) == Begun()


async def test_what_is_over_is_removed_and_nothing_else(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.mine.keep(call(), ANSWER)
    await repeats.mine.begin(call(2, key="killed"))
    await repeats.passes(RUNS_S + 5)
    await repeats.mine.begin(call(3, key="runs"))
    assert await repeats.mine.forget_old() is False
    assert await repeats.rows() == 2
    await repeats.passes(KEPT_S)
    assert await repeats.theirs.forget_old() is False
    assert await repeats.rows() == 0


async def test_a_store_that_is_away_is_told(repeats: Stage) -> None:
    await repeats.mine.begin(call())
    await repeats.take_away()
    for asking in (
        repeats.mine.begin(call(2)),
        repeats.mine.keep(call(), ANSWER),
        repeats.mine.give_up(call()),
        repeats.mine.forget_old(),
    ):
        with pytest.raises(StoreAway):
            await asking


@pytest.mark.service
async def test_no_answer_lies_in_the_open(postgres_repeats: Stage, postgres_dsn: str) -> None:
    await postgres_repeats.mine.begin(call())
    await postgres_repeats.mine.keep(call(), ANSWER)
    connection = await asyncpg.connect(postgres_dsn)
    row = await connection.fetchrow("select answer, answer_key_id from repeatable_call")
    assert row["answer_key_id"] == "new"
    assert b"canary" not in row["answer"]
    await connection.execute(
        "insert into repeatable_call select gen_random_uuid(), '1111111111', key, body_digest, expires_at, "
        "answered, answer_key_id, answer from repeatable_call"
    )
    with pytest.raises(StoreAway, match="cannot be decrypted"):
        await postgres_repeats.mine.begin(call(2, owner="1" * 10))
    with pytest.raises(asyncpg.PostgresError, match="primary key"):
        await connection.execute(
            "insert into encryption_key (id, check_value) values ('other', '\\x0102030405060708'); "
            "update encryption_state set primary_id = 'other'; "
            "update repeatable_call set answer = answer"
        )
    await connection.close()


@pytest.mark.service
async def test_many_old_rows_are_removed_in_small_parts(postgres_repeats: Stage, postgres_dsn: str) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute(
        "insert into repeatable_call (request_id, owner, key, body_digest, expires_at) "
        "select gen_random_uuid(), 'o', n::text, decode(repeat('00', 32), 'hex'), now() "
        "from generate_series(1, $1) as n",
        FORGET_MAX + 1,
    )
    await connection.close()
    assert await postgres_repeats.mine.forget_old() is True
    assert await postgres_repeats.rows() == 1
    assert await postgres_repeats.mine.forget_old() is False


@pytest.fixture
async def memory_repeats() -> Stage:
    store, clock = MemoryStore(), ManualClock()
    both = MemoryRepeats(store, clock)

    async def passes(seconds: float) -> None:
        clock.advance(seconds)

    async def rows() -> int:
        return len(both)

    async def take_away() -> None:
        store.away = True

    return Stage(both, both, passes, rows, take_away)


@pytest.fixture
async def sim_repeats() -> Stage:
    """Time passes in the store alone: a loop of real time carries the rest."""
    server = SimPostgres(Seed(1), Trace())
    clock = ManualClock()
    server.repeats = MemoryRepeats(server.store, clock)
    journal = Journal(lambda: 0.0)

    async def passes(seconds: float) -> None:
        clock.advance(seconds)

    async def rows() -> int:
        return len(server.repeats)

    async def take_away() -> None:
        server.mode("postgres_away", on=True)

    mine, theirs = (SimRepeats(server.line(name), journal) for name in ("gw1", "gw2"))
    return Stage(mine, theirs, passes, rows, take_away)


@pytest.fixture
async def postgres_repeats(
    gated_dsn: str, postgres_dsn: str, postgres_gate: Gate, keyring: Keyring, entropy: Entropy
) -> AsyncIterator[Stage]:
    secrets = KeyringSecrets(keyring, entropy, sealed_bytes_max=SEALED_ANSWER_BYTES_MAX)
    other = await asyncpg.connect(postgres_dsn)

    async def passes(seconds: float) -> None:
        await other.execute(
            "update repeatable_call set expires_at = expires_at - make_interval(secs => $1)", seconds
        )

    async def rows() -> int:
        return int(await other.fetchval("select count(*) from repeatable_call"))

    async with open_database(gated_dsn) as mine, open_database(gated_dsn) as theirs:
        await settle_keyring(mine, secrets)
        yield Stage(
            PostgresRepeats(mine, secrets), PostgresRepeats(theirs, secrets), passes, rows, postgres_gate.close
        )
    await other.close()


@pytest.fixture(params=["memory", "sim", pytest.param("postgres", marks=pytest.mark.service)])
def repeats(request: pytest.FixtureRequest) -> Stage:
    stage: Stage = request.getfixturevalue(f"{request.param}_repeats")
    return stage
