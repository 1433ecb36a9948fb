"""`ktms up` on a machine that knows nothing yet: what is found, what is printed, what is there the second time.

The printed commands are run as they are printed, by a shell and by Python: a person copies them.
"""

import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ktms.config.environment import process_environment
from tests.e2e.conftest import NewHome
from tests.e2e.embedding_engine import embedding_engine
from tests.e2e.engine.llama_process import LlamaServer, model_file
from tests.e2e.http import CHAT, Answer, ask, saying
from tests.e2e.ports import Busy, any_port, usual_ports
from tests.e2e.program import Done, run
from tests.e2e.up_process import Home, Up, up

pytestmark = [pytest.mark.engine, pytest.mark.service]

SECOND_START_S = 3.0

TOKEN = "ktms_sk_"


@dataclass(frozen=True)
class Story:
    """What happened to one user, start after start; `second` runs."""

    home: Home
    first: Up
    curl: Done
    snippet: Done
    made: Done
    stopped: Done
    second: Up
    listed: Done


@pytest.fixture(scope="module")
def quiet() -> Iterator[int]:
    """Nothing is found here but what the tests put here; gives a port where llama.cpp is looked for."""
    try:
        with usual_ports() as port:
            yield port
    except Busy as busy:
        if process_environment().get("CI"):
            raise
        pytest.skip(f"an engine of somebody else runs on this machine: {busy}")


@pytest.fixture(scope="module")
def story(new_home: NewHome, quiet: int) -> Iterator[Story]:
    home, port = new_home(), str(any_port())
    with up(home, "--port", port, name="first") as first:
        curl = run(["bash", "-c", first.curl], home.env())
        snippet = run([sys.executable, "-"], home.env(), text=first.snippet)
        made = first.ktms("admin", "keys", "create", "kept")
        stopped = first.program.stop()
    with up(home, "--port", port, name="second") as second:
        listed = second.ktms("admin", "keys", "list")
        yield Story(home, first, curl, snippet, made, stopped, second, listed)


def started_in_s(home: Home, name: str) -> float:
    with up(home, "--port", str(any_port()), name=name) as running:
        return running.started_in_s


def test_without_an_engine_the_demo_node_is_labelled_as_one(story: Story) -> None:
    assert "demo node   no engine found here: answers are a demonstration, not a model" in story.first.banner


def test_the_printed_call_streams_an_answer(story: Story) -> None:
    assert story.curl.code == 0, story.curl.err
    events = [line for line in story.curl.out.splitlines() if line.startswith("data: ")]
    assert len(events) > 5
    assert events[-1] == "data: [DONE]"


def test_the_printed_program_prints_an_answer(story: Story) -> None:
    assert (story.snippet.code, story.snippet.err) == (0, "")
    assert len(story.snippet.out.split()) > 3


def test_the_first_key_is_shown_and_kept_for_its_owner_alone(story: Story) -> None:
    assert f"(new: {story.first.key})" in story.first.banner
    assert stat.S_IMODE(story.home.key_file.stat().st_mode) == 0o600


def test_the_first_key_is_shown_once(story: Story) -> None:
    assert TOKEN not in story.second.banner


def test_the_first_key_works_after_the_second_start(story: Story) -> None:
    answer = ask(story.second.url, CHAT, key=story.first.key, body=saying("hi", model=story.second.models[0]))
    assert answer.status == 200


def test_a_key_made_in_the_first_run_works_in_the_second(story: Story) -> None:
    assert ask(story.second.url, "/v1/models", key=story.made.out.strip()).status == 200


def test_the_printed_admin_command_lists_the_keys(story: Story) -> None:
    assert "ktms admin keys list" in story.second.banner
    assert [name for name in ("first", "kept") if name in story.listed.out] == ["first", "kept"]


def test_nothing_a_person_did_not_do_is_in_the_second_run(story: Story) -> None:
    keys = [line for line in story.listed.out.splitlines() if "default" in line]
    assert len(keys) == 2, story.listed.out


def test_a_stop_is_clean(story: Story) -> None:
    assert story.stopped.code == 0
    assert story.stopped.lines == []


def test_no_secret_is_in_the_data_folder_beside_the_database(story: Story) -> None:
    config = {path.read_text().strip() for path in story.home.config.iterdir() if path.name != "config.toml"}
    files = [path for path in story.home.data.iterdir() if path.is_file()]
    assert [path.name for path in files if any(secret in path.read_text() for secret in config)] == []


def test_the_second_start_takes_less_than_three_seconds(story: Story, new_home: NewHome) -> None:
    if story.second.started_in_s >= SECOND_START_S:  # the machine was loaded: once more
        home = new_home()
        seconds = [started_in_s(home, name) for name in ("once", "again")]
        assert seconds[1] < SECOND_START_S


CLOUD_ALONE = "version: 1\nvendors:\n  - {name: c, kind: openai, base_url: 'https://c.example/v1'}\n"


@pytest.fixture(scope="module")
def declared(story: Story, new_home: NewHome, quiet: int) -> tuple[Up, str, Up]:
    """A user whose second start has a file, with its nodes, and whose third has none; after `story`."""
    home, port = new_home(), str(any_port())
    config = home.folder / "gateway.yaml"
    config.write_text(CLOUD_ALONE + "models:\n  - {name: house, targets: [{vendor: local, model: x}]}\n")
    with up(home, "--port", port, name="first"):
        pass
    with up(home, "--port", port, "--config", config, name="second") as second:
        nodes = second.ktms("admin", "nodes", "list").out
    with up(home, "--port", port, name="third") as third:
        return second, nodes, third


def test_a_file_switches_the_demo_node_of_an_earlier_start_off(declared: tuple[Up, str, Up]) -> None:
    second, nodes, _ = declared
    assert [line.split()[1] for line in nodes.splitlines()[1:]] == ["off"]
    assert "ktms-demo" not in second.banner


def test_what_is_probably_not_meant_in_a_file_is_said_at_the_start(declared: tuple[Up, str, Up]) -> None:
    assert "warning     model house: no enabled node serves x yet" in declared[0].banner


def test_a_start_without_a_file_says_that_an_earlier_one_is_in_force(declared: tuple[Up, str, Up]) -> None:
    third = declared[2]
    assert "config      as stored by an earlier --config or apply" in third.banner
    assert "demo" not in third.banner


@dataclass(frozen=True)
class Change:
    """A user whose first start found a llama.cpp that was gone at the second; `second` runs."""

    engine: LlamaServer
    first: Up
    answer: Answer
    metrics: str
    second: Up
    curl: Done


@pytest.fixture(scope="module")
def change(
    story: Story, new_home: NewHome, quiet: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Change]:
    """After `story`, which must not find this engine: it is known by the path of its file."""
    home, port = new_home(), str(any_port())
    log = tmp_path_factory.mktemp("found") / "server.log"
    with (
        embedding_engine(model_file(), log, port=quiet) as engine,
        up(home, "--port", port, name="first") as first,
    ):
        body = saying("hello", model=first.models[0], max_tokens=3)
        answer = ask(first.url, CHAT, key=first.key, body=body)
        metrics = ask(engine.url, "/metrics").body
    with up(home, "--port", port, name="second") as second:
        curl = run(["bash", "-c", second.curl], home.env())
        yield Change(engine, first, answer, metrics, second, curl)


def test_a_llama_cpp_of_this_machine_is_found(change: Change) -> None:
    engine = change.engine
    assert f"engine      llamacpp on port {engine.port}, {engine.slots} slots" in change.first.banner


def test_its_model_gets_the_name_of_its_file(change: Change) -> None:
    assert change.first.models == [Path(change.engine.model).name.removesuffix(".gguf")]


def test_its_answers_come_from_it(change: Change) -> None:
    assert change.answer.headers["x-ktms-attempts"] == f"local/llamacpp-{change.engine.port}:ok"
    assert change.answer.json["model"] == change.first.models[0]
    assert "llamacpp:tokens_predicted_total 3\n" in change.metrics


def test_no_demo_node_runs_beside_an_engine(change: Change) -> None:
    assert "demo" not in change.first.banner


def test_when_the_engine_is_gone_the_printed_call_is_answered_by_the_demo_node(change: Change) -> None:
    assert "demo node" in change.second.banner
    assert "data: [DONE]" in change.curl.out


def test_when_the_engine_is_gone_its_model_is_not_said_to_be_there(change: Change) -> None:
    assert change.second.models == ["ktms-demo"]
