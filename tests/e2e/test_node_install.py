"""The printed line on a machine that knows nothing: installed, announced, answering, drained, removed.

The gateway is `ktms up`, the engine a real llama.cpp, packages come from the registry that this machine reaches.
The agent stays in the foreground here; as a service it is in `test_node_service.py`.
"""

import re
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e import declared
from tests.e2e.conftest import NewHome
from tests.e2e.engine.llama_process import LlamaServer
from tests.e2e.http import Answer
from tests.e2e.node_install import Owner, announced, answered_by_the_node, owner_of
from tests.e2e.ports import any_port
from tests.e2e.program import Done
from tests.e2e.up_process import Up, up

pytestmark = [pytest.mark.engine, pytest.mark.service, pytest.mark.timeout(400)]

NODE = "mac-1"


@dataclass
class Story:
    """What happened, in this order."""

    owner: Owner
    before: list[str]
    dry: Done
    names_after_dry: list[str]
    said: str
    modes: dict[str, int]
    settings: str
    answer: Answer
    status: Done
    listed: Done
    verified: Done
    again: Done
    removed_while_it_ran: Done
    drained: Done
    foreground_said: str
    removed: Done
    after: list[str]


@pytest.fixture(scope="module")
def gateway(new_home: NewHome, llama_server: LlamaServer) -> Iterator[Up]:
    home = new_home()
    config = declared.write_gateway(
        home.folder / "gateway.yaml",
        models=[declared.model(declared.HOUSE, ("local", llama_server.model))],
        client_keys=[declared.client_key("app", declared.APP_KEY)],
    )
    with up(home, "--config", config, "--port", str(any_port())) as running:
        yield running


@pytest.fixture(scope="module")
def story(gateway: Up, new_home: NewHome, llama_server: LlamaServer) -> Story:
    owner = owner_of(gateway, new_home().folder, NODE, llama_server.model)
    options = ("--engine-url", llama_server.url, "--listen-port", str(any_port()), "--foreground")
    before = owner.names()
    dry = owner.runs(*options, "--dry-run")
    names_after_dry = owner.names()
    with owner.stays("installer", *options) as program:
        announced(program, owner)
        said = program.err
        files = ("node.json", "status.json")
        modes = {name: stat.S_IMODE((owner.home / name).stat().st_mode) for name in files}
        settings = (owner.home / "node.json").read_text()
        answer = answered_by_the_node(gateway)
        status, listed = owner.ktms_node("status"), gateway.ktms("admin", "nodes", "list", "--json")
        verified = owner.ktms_node("verify")
        again = owner.runs(*options)
        removed_while_it_ran = owner.ktms_node("uninstall", "--yes")
        owner.tells(signal.SIGTERM)
        drained = program.ended(40.0)
    with owner.stays("again", *options) as program:
        announced(program, owner)
        foreground_said = program.err
        assert (owner.home / "node.json").read_text() == settings
        owner.tells(signal.SIGTERM)
        program.ended()
    removed = owner.runs("--uninstall", "--yes")
    return Story(
        owner,
        before,
        dry,
        names_after_dry,
        said,
        modes,
        settings,
        answer,
        status,
        listed,
        verified,
        again,
        removed_while_it_ran,
        drained,
        foreground_said,
        removed,
        owner.names(),
    )


def test_a_dry_run_says_every_step_and_does_none(story: Story) -> None:
    assert story.dry.code == 0
    assert "would install the agent" in story.dry.err
    assert story.names_after_dry == story.before


def test_no_line_shows_a_key(story: Story) -> None:
    assert not re.search(r"ktms_node_\w", story.dry.err + story.said + story.status.out)


def test_the_engine_that_ran_is_adopted(story: Story) -> None:
    assert "adopt llamacpp" in story.said


def test_the_gateway_calls_the_node_before_the_installer_is_content(story: Story) -> None:
    assert "the gateway reached this node and got a token" in story.said


def test_what_holds_keys_is_for_the_owner_alone(story: Story) -> None:
    assert set(story.modes.values()) == {0o600}


def test_a_call_is_answered_by_the_node(story: Story) -> None:
    assert story.answer.status == 200
    assert NODE in story.answer.headers.get("x-ktms-target", "") + str(story.answer.headers)


def test_the_status_names_the_gateway_and_the_model(story: Story, llama_server: LlamaServer) -> None:
    assert (story.status.code, "announced" in story.status.out) == (0, True)
    assert llama_server.model in story.status.out


def test_the_gateway_lists_the_node(story: Story) -> None:
    assert NODE in story.listed.out


def test_it_can_be_verified_again_without_taking_the_agents_place(story: Story) -> None:
    assert (story.verified.code, story.verified.err) == (0, "")


def test_a_second_agent_is_not_started_beside_the_first(story: Story) -> None:
    assert story.again.code == 2
    assert "an agent runs here already" in story.again.err


def test_what_runs_in_the_foreground_is_not_removed_under_its_feet(story: Story) -> None:
    assert story.removed_while_it_ran.code == 2


def test_a_signal_lets_the_agent_drain_and_end_well(story: Story) -> None:
    assert story.drained.code == 0


def test_a_second_run_installs_nothing_again(story: Story) -> None:
    assert "would" not in story.foreground_said
    assert "install the agent" not in story.foreground_said
    assert "write" not in story.foreground_said


def test_an_uninstall_leaves_nothing(story: Story) -> None:
    assert story.removed.code == 0, story.removed.err
    assert story.after == story.before
