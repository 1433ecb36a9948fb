"""The printed line on a Linux whose user has a systemd: the agent as a service, until it is removed.

The systemd is a real one, in a namespace of its own. It has no logind, so linger cannot be had and is only told.
"""

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from ktms.config.environment import process_environment
from tests.e2e import declared
from tests.e2e.conftest import NewHome
from tests.e2e.engine.llama_process import LlamaServer
from tests.e2e.http import Answer
from tests.e2e.node_install import INSTALLED_WITHIN_S, Owner, answered_by_the_node, owner_of
from tests.e2e.own_systemd import NoSystemd, OwnSystemd, own_systemd
from tests.e2e.ports import any_port
from tests.e2e.program import Done
from tests.e2e.up_process import Up, up
from tests.e2e.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.service, pytest.mark.timeout(400)]

BACK_WITHIN_S = 40.0
"""Ten seconds until it is started again, the rest for a loaded machine."""


@dataclass
class Story:
    """What happened, in this order."""

    before: list[str]
    installed: Done
    unit: str
    answer: Answer
    again: Done
    pids: tuple[int, int, int]
    changed: Done
    slots: object
    stopped_well: str
    removed: Done
    after: list[str]


@pytest.fixture(scope="module")
def owner(new_home: NewHome, gateway: Up, llama_server: LlamaServer) -> Iterator[Owner]:
    folder = new_home().folder
    try:
        with own_systemd(folder) as system:
            yield _at_home(owner_of(gateway, folder, "linux-1", llama_server.model), system)
    except NoSystemd as why:
        if process_environment().get("CI"):
            raise
        pytest.skip(f"no systemd of a user can run here: {why}")


def _at_home(owner: Owner, system: OwnSystemd) -> Owner:
    return replace(owner, inside=system.inside, runtime=system.runtime)


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


def _status(owner: Owner) -> dict[str, object]:
    try:
        found = json.loads((owner.home / "status.json").read_text())
    except (OSError, ValueError):
        return {}
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def story(gateway: Up, owner: Owner, llama_server: LlamaServer) -> Story:
    options = ("--engine-url", llama_server.url, "--listen-port", str(any_port()))
    before = owner.names()
    with owner.stays("install-service", *options) as program:
        installed = program.ended(INSTALLED_WITHIN_S)
    assert installed.code == 0, installed.err
    unit = (owner.folder / ".config/systemd/user/ktms-node.service").read_text()
    answer, first = answered_by_the_node(gateway), owner.pid()
    again = owner.runs(*options)
    owner.tells(signal.SIGKILL)
    until(
        lambda: _status(owner).get("pid") != first and _status(owner).get("announced"), "it is back", BACK_WITHIN_S
    )
    second = owner.pid()
    changed = owner.ktms_node("install", "--slots", "3")
    third, said = owner.pid(), _status(owner)["said"]
    removed = owner.runs("--uninstall", "--yes")
    assert isinstance(said, dict)
    return Story(
        before,
        installed,
        unit,
        answer,
        again,
        (first, second, third),
        changed,
        said["slots"],
        gateway.ktms("admin", "nodes", "list").out,
        removed,
        owner.names(),
    )


def test_the_agent_is_installed_as_a_service_and_called_by_the_gateway(story: Story) -> None:
    assert story.installed.code == 0, story.installed.err
    assert "start in the background" in story.installed.err
    assert "got a token" in story.installed.err


def test_a_user_who_cannot_linger_is_told_the_line_for_an_administrator(story: Story) -> None:
    assert "sudo loginctl enable-linger" in story.installed.err


def test_a_call_is_answered_by_the_service(story: Story) -> None:
    assert story.answer.status == 200


def test_a_second_run_changes_nothing_and_says_so(story: Story) -> None:
    assert story.again.code == 0, story.again.err
    assert "nothing is changed" in story.again.err or "outlive the logout" in story.again.err
    assert "start in the background" not in story.again.err


def test_a_killed_agent_is_started_again(story: Story) -> None:
    assert story.pids[0] != story.pids[1]


def test_another_option_is_all_that_is_needed_for_a_change(story: Story) -> None:
    assert story.changed.code == 0, story.changed.err
    assert (story.slots, story.pids[1] != story.pids[2]) == (3, True)


def test_the_agent_that_is_removed_says_goodbye_to_the_gateway(story: Story) -> None:
    assert "draining" in story.stopped_well


def test_an_uninstall_leaves_nothing(story: Story) -> None:
    assert story.removed.code == 0, story.removed.err
    assert story.after == story.before
