"""Batches on real replicas and a real Postgres: one is killed in the middle, and a large file passes through."""

import asyncio
import json
import signal
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Self
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest
from openai import OpenAI
from openai.types import Batch

from tests.e2e import declared
from tests.e2e.cloud import Cloud, cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.serve_process import Replica, one_model, prepared, serving
from tests.e2e.waiting import until

pytestmark = pytest.mark.service

ENDED = {"completed", "failed", "expired", "cancelled"}
LINES = 40
SAID_AT_ONCE = 10
LARGE_MB = 100
MB = 1024 * 1024
RSS_GROWTH_MAX_MB = 32
"""What a large file may add to a gateway's memory on its way through, however large it is."""

EDGE = "XedgeX"
PREFIX = (
    f'--{EDGE}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    f'--{EDGE}\r\nContent-Disposition: form-data; name="file"; filename="large"\r\n\r\n'
).encode()
SUFFIX = f"\r\n--{EDGE}--\r\n".encode()


@pytest.fixture
def vendor() -> Iterator[Cloud]:
    with cloud() as running:
        yield running


def sql(database_url: str, statement: str) -> list[tuple[object, ...]]:
    async def ask() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(database_url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return asyncio.run(ask())


def ready(replica: Replica, vendor: Cloud) -> str:
    prepared(replica)
    replica.apply("gateway", **one_model(vendor))
    key = replica.new_key("app")
    until(lambda: replica.readiness()[0] == 200, "it is ready")
    return key


def sdk(replica: Replica, key: str) -> OpenAI:
    return OpenAI(base_url=f"{replica.url}/v1", api_key=key, max_retries=0)


def line(number: int) -> bytes:
    said = "hi" if number < SAID_AT_ONCE else "later"
    body = {"model": declared.CLOUD, "messages": [{"role": "user", "content": said}]}
    asked = {"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(asked).encode() + b"\n"


def begun(client: OpenAI) -> Batch:
    file = client.files.create(file=("night", b"".join(map(line, range(LINES)))), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")


def count_of(client: OpenAI, batch: Batch) -> int:
    counts = client.batches.retrieve(batch.id).request_counts
    return 0 if counts is None else counts.completed


def test_a_killed_replica_loses_and_doubles_nothing(
    new_home: NewHome, new_database: NewDatabase, vendor: Cloud
) -> None:
    database_url = new_database()
    homes = [new_home().folder for _ in range(2)]
    each = [{"KTMS_SPOOL_DIR": str(home / "spool"), "KTMS_BATCH_LINES_MAX": "4"} for home in homes]
    with serving(homes[0], database_url, each[0]) as first:
        key = ready(first, vendor)
        with serving(homes[1], database_url, each[1]) as second:
            until(lambda: second.readiness()[0] == 200, "the other replica is ready")
            with sdk(first, key) as client:
                batch = begun(client)
                until(lambda: count_of(client, batch) == SAID_AT_ONCE, "what is answered at once has its result")
                running = "select count(*) from batch_line where state = 'running'"
                until(lambda: sql(database_url, running) == [(8,)], "both replicas have their hands full")
            first.program.signal(signal.SIGKILL)
            first.program.ended()
            vendor.go_on()
            with sdk(second, key) as client:
                until(lambda: count_of(client, batch) == LINES - 4, "all is done but what the dead one had")
                sql(database_url, "update batch_line set lease_until = now() where state = 'running'")  # its time
                until(lambda: client.batches.retrieve(batch.id).status == "completed", "the batch is complete")
                done = client.batches.retrieve(batch.id)
                assert done.output_file_id is not None
                assert done.error_file_id is None
                results = [
                    json.loads(text) for text in client.files.content(done.output_file_id).text.splitlines()
                ]
                for _ in range(10):
                    assert client.batches.retrieve(batch.id).status == "completed"
    assert [result["custom_id"] for result in results] == [str(number) for number in range(LINES)]
    with serving(homes[0], database_url, each[0]) as again:  # its spool is sent
        prepared(again)
        booked = "select batch_line from ledger.usage_event where batch is not null order by batch_line"
        until(lambda: len(sql(database_url, booked)) >= LINES, "all is booked")
        assert sql(database_url, booked) == [(number,) for number in range(1, LINES + 1)]
    assert vendor.dialled <= LINES + 4


def test_a_replica_that_is_stopped_gives_its_lines_back_at_once(
    new_home: NewHome, new_database: NewDatabase, vendor: Cloud
) -> None:
    database_url = new_database()
    variables = {"KTMS_DRAIN_DELAY_S": "0", "KTMS_SHUTDOWN_TIMEOUT_S": "1", "KTMS_BATCH_LINES_MAX": "4"}
    with serving(new_home().folder, database_url, variables) as replica:
        key = ready(replica, vendor)
        with sdk(replica, key) as client:
            batch = begun(client)
            until(lambda: count_of(client, batch) == SAID_AT_ONCE, "what is answered at once has its result")
        assert replica.program.stop().code == 0
    states = "select state, count(*) from batch_line group by state order by state"
    assert sql(database_url, states) == [("done", SAID_AT_ONCE), ("waiting", LINES - SAID_AT_ONCE)]


class Peak:
    """The most memory that a process has had while the block ran, in megabytes, beyond what it had before."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._over = threading.Event()
        self._before = process.memory_info().rss
        self._most = self._before
        self._watch = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self._most = max(self._most, self._process.memory_info().rss)

    @property
    def grown_mb(self) -> float:
        return (self._most - self._before) / MB


def send_large(url: str, key: str, size_mb: int) -> str:
    """Upload a file of so many megabytes, piece by piece; give its id."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
    piece = (b"x" * (MB - 1)) + b"\n"
    connection.putrequest("POST", "/v1/files")
    connection.putheader("Authorization", f"Bearer {key}")
    connection.putheader("Content-Type", f"multipart/form-data; boundary={EDGE}")
    connection.putheader("Content-Length", str(len(PREFIX) + size_mb * MB + len(SUFFIX)))
    connection.endheaders(PREFIX)
    for _ in range(size_mb):
        connection.send(piece)
    connection.send(SUFFIX)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert (answer.status, told["bytes"]) == (200, size_mb * MB), told
    return str(told["id"])


def read_large(url: str, key: str, file_id: str) -> int:
    """Download a file, piece by piece; give how many bytes came."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
    connection.request("GET", f"/v1/files/{file_id}/content", headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    size = 0
    while piece := answer.read(MB):
        size += len(piece)
    connection.close()
    return size


def test_a_large_file_passes_through_in_bounded_memory(
    new_home: NewHome, new_database: NewDatabase, vendor: Cloud
) -> None:
    with serving(new_home().folder, new_database()) as replica:
        key = ready(replica, vendor)
        send_large(replica.url, key, 2)  # what the first one loads stays
        with Peak(psutil.Process(replica.program.process.pid)) as peak:
            name = send_large(replica.url, key, LARGE_MB)
            assert read_large(replica.url, key, name) == LARGE_MB * MB
        assert peak.grown_mb < RSS_GROWTH_MAX_MB
