"""FG10 with real `ktms migrate` processes: of two at once one applies; where it is killed the other takes over.

The holder is held up by a lock of ours on what its first file has made, so that both stories meet it in its work.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.program import KTMS, Done, Program, environment
from tests.e2e.waiting import until

pytestmark = pytest.mark.service

UP_TO_DATE = "The schema is up to date."
WAITS = "migration waits"
BEGINS = "migration begins"
FIRST_FILE = "0001_create_foundation.sql"

HELD_UP = "create domain ktms_ciphertext as bytea"
"""Uncommitted, it holds up the first file, which makes a domain of that name."""

FREE_WITHIN_S = 30.0
"""The database lets go of a dead runner's lock when its statement ends: at its lock timeout of 2 s."""


class Database:
    """The database, with something of ours in the way of migrations until `clear`."""

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._sql = self._runner.run(asyncpg.connect(url))
        self._in_the_way = self._sql.transaction()
        self._runner.run(self._in_the_way.start())
        self._runner.run(self._sql.execute(HELD_UP))

    def clear(self) -> None:
        """Let the migrations pass."""
        self._runner.run(self._in_the_way.rollback())

    def applied(self) -> list[str]:
        """Give the files that are written down as applied."""
        rows = self._runner.run(self._sql.fetch("select name from ktms_migration order by number"))
        return [row["name"] for row in rows]

    def close(self) -> None:
        self._runner.run(self._sql.close())
        self._runner.close()


@contextmanager
def database_at(url: str) -> Iterator[Database]:
    with closing(Database(url)) as database:
        yield database


class Two:
    """Two runners that were started at once: `holder` has begun, `other` waits for it."""

    def __init__(self, url: str, folder: Path, opened: ExitStack) -> None:
        env = environment(folder, KTMS_DATABASE_URL=url)
        runners = [
            opened.enter_context(Program([KTMS, "migrate"], env, folder, f"migrate-{number}"))
            for number in range(2)
        ]
        until(lambda: {word_of(runner) for runner in runners} == {BEGINS, WAITS}, "one works, the other waits")
        self.holder, self.other = sorted(runners, key=word_of)


def word_of(runner: Program) -> str:
    """Give what a runner said that tells it from the other; empty: nothing yet."""
    return next((word for word in (WAITS, BEGINS) if word in runner.err), "")


@dataclass(frozen=True)
class Seen:
    """How both ended, and what was applied in the end."""

    holder: Done
    other: Done
    applied: list[str]


@pytest.fixture(scope="module")
def at_once(new_database: NewDatabase, new_home: NewHome) -> Seen:
    url = new_database()
    with database_at(url) as database, ExitStack() as opened:
        two = Two(url, new_home().folder, opened)
        database.clear()
        return Seen(two.holder.ended(FREE_WITHIN_S), two.other.ended(FREE_WITHIN_S), database.applied())


@pytest.fixture(scope="module")
def killed(new_database: NewDatabase, new_home: NewHome) -> Seen:
    url = new_database()
    with database_at(url) as database, ExitStack() as opened:
        two = Two(url, new_home().folder, opened)
        two.holder.signal(signal.SIGKILL)
        holder = two.holder.ended()
        until(lambda: BEGINS in two.other.err, "the other one takes over", FREE_WITHIN_S)
        database.clear()
        return Seen(holder, two.other.ended(FREE_WITHIN_S), database.applied())


def files_of(done: Done) -> list[str]:
    """Give the files that a runner says it has applied."""
    return [line.removeprefix("applied: ") for line in done.err.splitlines() if line.startswith("applied: ")]


def test_fg10_of_two_migrations_at_once_one_applies_every_file(at_once: Seen) -> None:
    assert at_once.holder.code == 0
    assert files_of(at_once.holder)[: len(at_once.applied)] == at_once.applied
    assert at_once.applied[0] == FIRST_FILE


def test_fg10_the_other_one_finds_nothing_left_to_do(at_once: Seen) -> None:
    assert at_once.other.code == 0
    assert files_of(at_once.other) == []
    assert UP_TO_DATE in at_once.other.err


def test_fg10_whoever_waits_says_for_whom(at_once: Seen) -> None:
    assert "holder=ktms-migrate/" in at_once.other.err


def test_fg10_where_the_holder_is_killed_the_other_one_takes_over(killed: Seen) -> None:
    assert killed.holder.code == -signal.SIGKILL
    assert killed.other.code == 0
    assert files_of(killed.other)[: len(killed.applied)] == killed.applied
    assert killed.applied[0] == FIRST_FILE
