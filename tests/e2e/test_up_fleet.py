"""README, "Two machines and a cloud behind": two real llama.cpp servers, shared, then full, then free again.

The file is docs/examples/two-machines.yaml; only its ports are replaced. Slots are held by streams whose client
pauses after the first word: each token comes with so many others that no buffer on the way takes the whole answer.
They are read to their end: a llama.cpp whose client has left keeps its slot for another 10 s.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.cloud import Cloud, cloud
from tests.e2e.conftest import NewHome
from tests.e2e.engine.llama_process import LlamaServer, llama_server, model_file
from tests.e2e.http import CHAT, Answer, Stream, ask, saying, streaming
from tests.e2e.ports import any_port
from tests.e2e.up_process import Up, up
from tests.e2e.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.service]

EXAMPLE = Path(__file__).parents[2] / "docs/examples/two-machines.yaml"

LONG = {"ignore_eos": True, "max_tokens": 3500, "logprobs": True, "top_logprobs": 20}
"""7 MB of answer, more than sockets hold (4 MB on Linux)."""

SHORT = {"max_tokens": 4}

UNHURRIED = (("KTMS_REDIS_TIMEOUT_MS", "2000"),)
"""Engines that share two cores with everything else starve it for longer than 100 ms now and then."""


@dataclass(frozen=True)
class Site:
    """The running gateway, its machines and what plays the cloud; `first` are the answers of its first calls.

    Those came before anything was measured; later the faster machine may well get all calls that come one by one.
    """

    up: Up
    machines: Sequence[LlamaServer]
    cloud: Cloud
    first: Sequence[Answer]

    def ask(self, model: str = "house") -> Answer:
        """Make a short call."""
        return short_call(self.up, model)

    @contextmanager
    def held(self) -> Iterator[Stream]:
        """Hold a slot while the block runs; the stream has begun, and comes to its end after the block."""
        with streaming(self.up.url, self.up.key, saying("hello", model="house", **LONG)) as stream:
            assert stream.status == 200
            assert "x-ktms-node" in stream.headers, stream.headers["x-ktms-attempts"]
            assert stream.event()
            yield stream
            assert stream.rest()[-1] == "data: [DONE]"

    @contextmanager
    def full(self) -> Iterator[list[Stream]]:
        """Hold the slots of both machines while the block runs."""
        with ExitStack() as slots:
            yield [slots.enter_context(self.held()) for _ in self.machines]

    def busy(self) -> list[int]:
        """Give the taken slots of each machine, as an operator sees them."""
        done = self.up.ktms("top", "--once", "--json")
        assert done.code == 0, done.err
        return [node["busy"] for node in json.loads(done.out)["nodes"]]

    def metric(self, series: str) -> float:
        """Give the value of one series; 0 where it is not shown yet."""
        page = ask(self.up.url, "/metrics").body
        return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(f"{series} "))


def short_call(running: Up, model: str) -> Answer:
    return ask(running.url, CHAT, key=running.key, body=saying("hello", model=model, **SHORT))


@pytest.fixture(scope="module")
def site(new_home: NewHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    logs, home = tmp_path_factory.mktemp("machines"), new_home()
    with (
        llama_server(model_file(), logs / "1.log", slots=1) as first,
        llama_server(model_file(), logs / "2.log", slots=1) as second,
        cloud() as behind,
    ):
        text = EXAMPLE.read_text()
        for written, real in (
            ("http://127.0.0.1:8091", first.url),
            ("http://127.0.0.1:8092", second.url),
            ("http://127.0.0.1:8093/v1", behind.url),
        ):
            assert written in text
            text = text.replace(written, real)
        config = home.folder / "gateway.yaml"
        config.write_text(text)
        with up(home, "--config", config, "--port", str(any_port()), variables=UNHURRIED) as running:
            answers = [short_call(running, "house") for _ in range(6)]
            yield Site(running, (first, second), behind, answers)


@pytest.fixture(autouse=True)
def all_free(site: Site) -> None:
    """No test begins while a slot of an earlier one is still taken."""
    until(lambda: site.busy() == [0, 0], "all slots are free")


def test_calls_one_after_the_other_are_shared_by_both_machines(site: Site) -> None:
    assert [answer.status for answer in site.first] == [200] * 6
    served = [answer.headers["x-ktms-node"] for answer in site.first]
    assert all(served.count(name) >= 2 for name in ("machine-1", "machine-2")), served


def test_calls_at_once_are_on_a_machine_each(site: Site) -> None:
    with site.full() as streams:
        attempts = [stream.headers["x-ktms-attempts"] for stream in streams]

    assert sorted(attempts) == ["local/machine-1:ok", "local/machine-2:ok"]


def test_when_both_are_full_the_cloud_answers_and_the_header_says_why(site: Site) -> None:
    before = site.cloud.dialled
    with site.full():
        answer = site.ask()

    assert (answer.status, answer.headers["x-ktms-attempts"]) == (200, "local:busy, cloud:ok")
    assert site.cloud.dialled == before + 1


def test_a_slot_that_came_free_is_used_again(site: Site) -> None:
    with site.held() as kept:
        with site.held():
            assert site.ask().headers["x-ktms-attempts"] == "local:busy, cloud:ok"
        answer = site.ask()

    assert answer.status == 200
    assert answer.headers["x-ktms-node"] not in {None, kept.headers["x-ktms-node"]}


def test_a_call_for_nodes_alone_waits_in_line_until_a_slot_is_free(site: Site) -> None:
    before = site.cloud.dialled
    with ThreadPoolExecutor(1) as patient, site.full():
        waiting = patient.submit(site.ask, "house-patient")
        until(lambda: site.metric('ktms_queue_waiting{model="house-patient"}') == 1, "the call stands in line")
    answer = waiting.result()

    assert answer.status == 200
    assert answer.headers["x-ktms-attempts"] in {"local/machine-1:ok", "local/machine-2:ok"}
    assert "queue;dur=0.00" not in answer.headers["server-timing"]
    assert site.cloud.dialled == before


def test_the_taken_slots_are_shown_to_an_operator(site: Site) -> None:
    with site.full():
        until(lambda: site.busy() == [1, 1], "both slots are seen as taken")
