"""`ktms serve` killed, and started again while its Postgres is away, with a file of what it served before (FP9).

One story happens once, in a fixture that notes what was seen; a test states one fact of it.
"""

import asyncio
import base64
import json
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewHome
from tests.e2e.own_postgres import Postgres, Seen, chat
from tests.e2e.serve_process import KEYRING, Replica, one_model, prepared, serving
from tests.e2e.waiting import until

pytestmark = pytest.mark.service

KEY_WINDOW_S = 30.0
"""Long enough for a start in it on a busy machine, short enough to see its end."""

SAVINGS = 3
"""After so many more a file has what was verified before them: keys and file have a pause of 5 s each."""

SAVED_WITHIN_S = 30.0

OTHER_KEYRING = "tests-2:" + base64.urlsafe_b64encode(bytes(range(200, 232))).decode().rstrip("=")
"""Another key, of which this installation never heard."""

SAVED = 'ktms_snapshot_saves_total{result="saved"}'


@dataclass
class Life:
    """What one process said: of its readiness, to a key of the file and to another one, and in its log."""

    ready: tuple[int, Any]
    known: Seen
    other: Seen
    log: str

    def said(self, event: str) -> list[dict[str, Any]]:
        """Give its lines of this event."""
        lines = (json.loads(line) for line in self.log.splitlines() if line.startswith("{"))
        return [line for line in lines if line["event"] == event]


@dataclass
class Story:
    """The lives after the first one: alone, alone past the window, with a foreign and an old file, with all."""

    mode: int
    content: bytes
    alone: Life
    past: Life
    foreign: Life
    old: Life
    back: Life


@pytest.fixture(scope="module")
def postgres(new_home: NewHome) -> Iterator[Postgres]:
    with asyncio.Runner() as runner:
        server = Postgres(new_home().folder, runner)
        server.start()
        yield server
        server.stop()


@dataclass
class Stand:
    """One machine with one file, its database and its keys."""

    home: Path
    postgres: Postgres
    known: str = ""
    other: str = ""

    @property
    def file(self) -> Path:
        return self.home / "state" / "snapshot"

    def variables(self, **more: str) -> dict[str, str]:
        shared = {"KTMS_KEY_WINDOW_S": str(KEY_WINDOW_S), "KTMS_DRAIN_DELAY_S": "0"}
        return {**shared, "KTMS_SNAPSHOT_FILE": str(self.file), **more}

    def first_life(self, cloud: Cloud) -> None:
        """Serve, save, and be killed."""
        with serving(self.home, self.postgres.url, self.variables()) as replica:
            prepared(replica)
            replica.apply("first", **one_model(cloud))
            self.known, self.other = replica.new_key("known"), replica.new_key("other")
            until(lambda: chat(replica, self.known).answer.status == 200, "the model is served")
            before = replica.metric(SAVED) or 0
            until(lambda: (replica.metric(SAVED) or 0) >= before + SAVINGS, "it is saved", SAVED_WITHIN_S)
            replica.program.signal(signal.SIGKILL)
            replica.program.ended()

    def life(self, replica: Replica) -> Life:
        """Look at a process."""
        ready = replica.readiness()
        known, other = chat(replica, self.known), chat(replica, self.other)
        return Life(ready, known, other, replica.program.out)

    def short_life(self, **variables: str) -> Life:
        with serving(self.home, self.postgres.url, self.variables(**variables)) as replica:
            life = self.life(replica)
            replica.program.stop()
            life.log = replica.program.out
            return life


@pytest.fixture(scope="module")
def story(postgres: Postgres, new_home: NewHome, vendor_cloud: Cloud) -> Story:
    stand = Stand(new_home().folder, postgres)
    stand.first_life(vendor_cloud)
    postgres.stop()
    mode, content = stat.S_IMODE(stand.file.stat().st_mode), stand.file.read_bytes()
    with serving(stand.home, postgres.url, stand.variables()) as replica:
        alone = stand.life(replica)
        until(lambda: replica.readiness()[0] == 503, "the window closes", 2 * KEY_WINDOW_S)
        past = stand.life(replica)
        foreign = stand.short_life(KTMS_ENCRYPTION_KEYS=OTHER_KEYRING)
        old = stand.short_life()
        postgres.start()
        until(lambda: replica.readiness()[1]["status"] == "ok", "it is sound by itself")
        back = stand.life(replica)
        replica.program.stop()
        alone.log = back.log = replica.program.out
    return Story(mode, content, alone, past, foreign, old, back)


def refusals(life: Life) -> list[tuple[int, str | None]]:
    return [(seen.answer.status, seen.answer.code) for seen in (life.known, life.other)]


def test_the_file_is_for_its_owner_alone_and_nothing_can_be_read_in_it(story: Story) -> None:
    assert story.mode == 0o600
    assert declared.VENDOR_KEY.encode() not in story.content
    assert declared.CLOUD.encode() not in story.content


def test_fp9_it_starts_degraded_and_says_why(story: Story) -> None:
    assert story.alone.ready[0] == 200
    assert story.alone.ready[1]["status"] == "degraded"
    assert set(story.alone.ready[1]["reasons"]) == {"saved_snapshot", "postgres_away"}
    assert story.alone.ready[1]["snapshot"] > 0


def test_fp9_it_says_in_one_line_what_it_serves(story: Story) -> None:
    (line,) = story.alone.said("started_from_saved_snapshot")
    assert (line["level"], line["keys"]) == ("warning", 1)
    assert 0 < line["age_s"] < KEY_WINDOW_S


def test_fp9_a_key_of_the_file_works(story: Story) -> None:
    assert story.alone.known.answer.status == 200


def test_fp9_another_key_cannot_be_told(story: Story) -> None:
    assert (story.alone.other.answer.status, story.alone.other.answer.code) == (503, "auth_unavailable")


def test_fp9_after_the_window_no_key_counts_and_it_is_not_ready(story: Story) -> None:
    assert "key_window_closed" in story.past.ready[1]["reasons"]
    assert refusals(story.past) == [(503, "auth_unavailable"), (503, "auth_unavailable")]


def test_fp9_a_file_under_a_key_that_is_not_here_is_one_line_and_the_start_waits(story: Story) -> None:
    (line,) = story.foreign.said("saved_snapshot_unusable")
    assert "not in the keyring (tests-2)" in line["reason"]
    assert (story.foreign.ready[0], story.foreign.ready[1]["status"]) == (503, "unready")
    assert refusals(story.foreign) == [(503, "auth_unavailable"), (503, "auth_unavailable")]


def test_fp9_a_file_that_is_too_old_is_one_line_and_the_start_waits(story: Story) -> None:
    (line,) = story.old.said("saved_snapshot_unusable")
    assert line["age_s"] >= KEY_WINDOW_S
    assert story.old.ready[1]["reasons"] == ["no_snapshot", "postgres_away", "key_window_closed"]
    assert refusals(story.old) == [(503, "auth_unavailable"), (503, "auth_unavailable")]


def test_fp9_when_postgres_is_there_it_is_sound_without_another_start(story: Story) -> None:
    assert story.back.ready[1]["reasons"] == []
    assert (story.back.known.answer.status, story.back.other.answer.status) == (200, 200)


def test_no_traceback_and_no_secret_is_in_any_log(story: Story) -> None:
    logs = [life.log for life in (story.alone, story.foreign, story.old)]
    words = ("Traceback", declared.VENDOR_KEY, "ktms_sk_", KEYRING.partition(":")[2])
    assert not [word for word in words for log in logs if word in log]
