"""What an uninstall removes, and what it leaves alone."""

from dataclasses import replace
from pathlib import Path

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.home import OURS, NodeHome
from ktms.node.install.actions import Note, Remove, StopService
from ktms.node.install.facts import Facts, Manager, ServiceHere
from ktms.node.install.removal import removal
from ktms.node.service.background import NODE, OLLAMA
from ktms.node.settings import NodeSettings
from tests.node.install.world import HOME, MAC_HOME, MAC_USER_HOME, NO_SERVICES, USER_HOME, linux_facts, mac_facts

SETTINGS = NodeSettings("https://g", Secret("k"), Secret("t"), EngineKind.OLLAMA, "http://127.0.0.1:11434")
UNITS = USER_HOME / ".config/systemd/user"


def node_here(facts: Facts, *names: str) -> Facts:
    services = {name: ServiceHere("text", runs=True) if name in names else ServiceHere() for name in NO_SERVICES}
    return replace(facts, settings=SETTINGS, services=services, agent_sha256="ab")


def test_the_agent_is_stopped_and_all_of_it_removed() -> None:
    made = removal(node_here(linux_facts(), NODE))
    unit = UNITS / "ktms-node.service"
    assert made.actions == (
        StopService(NODE, 40),
        Remove((unit, UNITS / "default.target.wants" / "ktms-node.service"), USER_HOME),
        Remove((HOME.folder,), USER_HOME),
    )


def test_an_engine_that_was_adopted_stays() -> None:
    assert (
        removal(node_here(linux_facts(), NODE)).afterwards[0].startswith("ollama at http://127.0.0.1:11434 stays")
    )


def test_an_ollama_of_this_node_is_removed_with_it() -> None:
    made = removal(node_here(linux_facts(), NODE, OLLAMA))
    assert [one.name for one in made.actions if isinstance(one, StopService)] == [NODE, OLLAMA]
    assert not any("stays as it is" in line for line in made.afterwards)


def test_on_a_mac_the_plist_goes_too() -> None:
    made = removal(node_here(mac_facts(), NODE))
    removed = [path for one in made.actions if isinstance(one, Remove) for path in one.paths]
    assert removed == [MAC_USER_HOME / "Library/LaunchAgents/ktms.node.plist", MAC_HOME.folder]


def test_of_a_folder_that_was_named_only_what_is_ours_is_removed() -> None:
    home = NodeHome(Path("/data"))
    (action,) = removal(node_here(linux_facts(home=home))).actions
    assert action == Remove(tuple(Path("/data") / name for name in OURS), Path("/"))


def test_an_agent_in_the_foreground_has_to_be_stopped_first() -> None:
    made = removal(replace(node_here(linux_facts()), agent_pid=42))
    assert [one.remedy for one in made.refusals] == ["stop it first: kill 42"]


def test_where_nothing_is_nothing_is_removed() -> None:
    (action,) = removal(linux_facts()).actions
    assert isinstance(action, Note)


def test_settings_that_cannot_be_read_are_removed_all_the_same() -> None:
    made = removal(linux_facts(settings_problem="no JSON"))
    assert Remove((HOME.folder,), USER_HOME) in made.actions


def test_the_key_at_the_gateway_and_linger_are_mentioned() -> None:
    said = "\n".join(removal(node_here(linux_facts(), NODE)).afterwards)
    assert "revoke-key" in said
    assert "disable-linger anna" in said


def test_without_systemd_nothing_is_said_of_linger() -> None:
    said = "\n".join(removal(node_here(linux_facts(manager=Manager.NONE))).afterwards)
    assert "linger" not in said
