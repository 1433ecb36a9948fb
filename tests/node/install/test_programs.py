"""The programs that are kept running, as their service starts them."""

from dataclasses import replace
from pathlib import Path

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.install.engine_choice import Choice, How
from ktms.node.install.facts import Manager
from ktms.node.install.pins import OLLAMA
from ktms.node.install.programs import node_program, ollama_program, service_files, service_text
from ktms.node.service.background import NODE
from ktms.node.settings import NodeSettings
from tests.node.install.world import HOME, MAC_USER_HOME, USER_HOME, linux_facts, mac_facts

SETTINGS = NodeSettings("https://g", Secret("k"), Secret("t"), EngineKind.OLLAMA, "http://127.0.0.1:11435")
CHOICE = Choice(EngineKind.OLLAMA, SETTINGS.engine_url, How.START, "/usr/bin/ollama")


def test_the_agent_gets_longer_to_end_than_its_answers() -> None:
    assert node_program(linux_facts(), replace(SETTINGS, drain_s=120.0), None).stops_in_s == 130


def test_every_path_is_absolute_since_a_service_has_no_shell() -> None:
    words = node_program(mac_facts(), SETTINGS, Path("/x/cloudflared")).words
    assert [word for word in words if "/" in word and not word.startswith("/")] == []
    assert Path(words[0]).is_absolute()


def test_no_word_of_the_agents_command_is_a_secret() -> None:
    secret = replace(SETTINGS, node_key=Secret("canary-key"), node_token=Secret("canary-token"))
    assert "canary" not in service_text(linux_facts(), node_program(linux_facts(), secret, None))


def test_ollama_listens_where_the_agent_asks_it() -> None:
    assert (
        dict(ollama_program(linux_facts(), CHOICE, SETTINGS, None).variables)["OLLAMA_HOST"] == "127.0.0.1:11435"
    )


def test_the_machines_own_ollama_keeps_its_home() -> None:
    program = ollama_program(linux_facts(), CHOICE, SETTINGS, None)
    assert program.words == ("/usr/bin/ollama", "serve")
    assert "HOME" not in dict(program.variables)


def test_the_one_that_was_installed_goes_before_another_of_this_machine() -> None:
    program = ollama_program(linux_facts(), CHOICE, SETTINGS, OLLAMA["linux", "amd64"])
    assert program.words[0] == str(HOME.programs / "ollama" / "bin" / "ollama")


def test_a_service_leaves_no_more_than_these_files() -> None:
    units = USER_HOME / ".config/systemd/user"
    assert service_files(linux_facts(), NODE) == (
        units / "ktms-node.service",
        units / "default.target.wants" / "ktms-node.service",
    )
    assert service_files(mac_facts(), NODE) == (MAC_USER_HOME / "Library/LaunchAgents/ktms.node.plist",)


def test_the_text_is_that_of_the_system() -> None:
    program = node_program(linux_facts(), SETTINGS, None)
    assert "[Service]" in service_text(linux_facts(), program)
    assert "<plist" in service_text(linux_facts(manager=Manager.LAUNCHD), program)
