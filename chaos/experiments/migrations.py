"""Two migrations at once on an empty database, and one whose holder is killed: FG10.

The first file is held up by a transaction of ours, so that both runners meet; traffic goes on beside, on another
database. Not here: the schema itself.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.gauges import gauges, note_gauge
from chaos.experiments.reading import ended, good, in_fault, share
from chaos.stand.databases import databases
from chaos.stand.process import KTMS, Process, environment, unguarded
from chaos.stand.stand import Stand
from chaos.traffic.load import Mix

AT_ONCE, KILLED = "at_once", "holder_killed"

RUNNERS = 2

BEGINS, WAITS, APPLIED = "migration begins", "migration waits", "applied: "
"""What a runner says."""

HELD_UP = "create domain ktms_ciphertext as bytea"
"""Uncommitted, it holds up the first file, which makes a domain of that name."""

CONNECT_S = 5.0

ENDS_WITHIN_S = 30.0
"""The database lets go of a dead runner's lock when its statement ends: at its lock timeout of 2 s."""

HOST = "migrate"


@asynccontextmanager
async def two_migrate(stand: Stand) -> AsyncIterator[None]:
    """Let two runners migrate an empty database, twice: once both go on, once the first is killed."""
    async with databases(stand.services.postgres) as names:
        with tempfile.TemporaryDirectory(prefix="ktms-chaos-migrate-") as folder:
            await _story(stand, AT_ONCE, stand.services.postgres.url(names.gateway), Path(folder))
            await _story(stand, KILLED, stand.services.postgres.url(names.ledger), Path(folder))
    yield


async def _story(stand: Stand, story: str, url: str, folder: Path) -> None:
    guard = stand.settings.unguarded
    words = (*(unguarded(guard) if guard else (KTMS,)), "migrate")
    env = environment(folder, {"KTMS_DATABASE_URL": url})
    runners = [_Runner(f"{story}-{number}", words, env, folder) for number in range(RUNNERS)]
    connection = await asyncpg.connect(url, timeout=CONNECT_S, command_timeout=ENDS_WITHIN_S)
    try:
        in_the_way = connection.transaction()
        await in_the_way.start()
        await connection.execute(HELD_UP)
        for runner in runners:
            await runner.process.start()
        for runner in runners:
            await runner.until_it_says(BEGINS, WAITS)
        holder, other = sorted(runners, key=lambda runner: WAITS in runner.told)
        if story == KILLED:
            await holder.process.kill()
            await other.until_it_says(BEGINS)
        await in_the_way.rollback()
        for role, runner in (("holder", holder), ("other", other)):
            note_gauge(stand, HOST, f"{story}_code", await runner.process.ended(ENDS_WITHIN_S), role)
            note_gauge(stand, HOST, f"{story}_files", runner.told.count(APPLIED), role)
            note_gauge(stand, HOST, f"{story}_waited", float(WAITS in runner.told), role)
        applied = await connection.fetchval("select count(*) from ktms_migration")
        note_gauge(stand, HOST, f"{story}_applied", applied)
    finally:
        await connection.close(timeout=CONNECT_S)
        for runner in runners:
            await runner.process.close()


class _Runner:
    """One `ktms migrate`."""

    def __init__(self, name: str, words: Sequence[str | Path], env: Mapping[str, str], folder: Path) -> None:
        self.process = Process(name, words, env, folder)
        self._said = folder / f"{name}-1.err"

    @property
    def told(self) -> str:
        """All that it said so far."""
        return self._said.read_text(errors="replace")

    async def until_it_says(self, *words: str) -> None:
        """Wait until it has said one of these.

        Raises:
            ProcessFailed: it ended before, or the time is over.
        """

        async def look() -> bool:
            return any(each in self.told for each in words)

        await self.process.wait_ready(look)


def _value(broken: Broken, name: str, role: str = "") -> float:
    """Give what was noted last; -1 where nothing was."""
    return next(reversed(gauges(broken, name, host=HOST, label=role)), -1.0)


def _expects(broken: Broken) -> Iterator[Expected]:
    code, files = _value(broken, "at_once_code", "holder"), _value(broken, "at_once_files", "holder")
    applied = _value(broken, "at_once_applied")
    words = f"the first ends with {code:.0f} and applies {files:.0f} of {applied:.0f} files"
    yield Expected("FG10", code == 0 and files >= applied > 0, words)
    code, files = _value(broken, "at_once_code", "other"), _value(broken, "at_once_files", "other")
    waited = _value(broken, "at_once_waited", "other")
    words = f"the other waits ({waited:.0f}), ends with {code:.0f} and applies {files:.0f}"
    yield Expected("FG10", waited == 1 and code == 0 and files == 0, words)
    killed, code = _value(broken, "holder_killed_code", "holder"), _value(broken, "holder_killed_code", "other")
    files, applied = _value(broken, "holder_killed_files", "other"), _value(broken, "holder_killed_applied")
    words = f"of a killed one ({killed:.0f}) the other takes over: {code:.0f}, {files:.0f} of {applied:.0f} files"
    yield Expected("FG10", killed < 0 and code == 0 and files >= applied > 0, words)
    calls = ended(in_fault(broken))
    fine = good(calls)
    yield Expected(
        "FG10", len(fine) == len(calls) > 0, f"{share(len(fine), len(calls))} calls are answered beside"
    )


def _refused(broken: Broken) -> float:
    """Count the runners that failed although nobody killed them."""
    return sum(code > 0 for code in (*gauges(broken, "at_once_code"), *gauges(broken, "holder_killed_code")))


MIGRATION_EXPERIMENTS = (
    Experiment(
        "two-migrations",
        "two runners migrate an empty database, and one of two is killed",
        ("FG10",),
        two_migrate,
        lambda broken: int(sum(gauges(broken, "at_once_waited") + gauges(broken, "holder_killed_waited"))),
        _expects,
        felt_min=2,
        spans=Spans(before_s=1.0, fault_s=0.2, after_s=1.0),
        mix=Mix(rate_per_s=15.0, placements={None: 1.0}),
        figure=Figure("one-migrates", "migrations that fail", _refused, 1.0),
    ),
)
