"""What is decided for machines of all kinds: what is done, in which order, and what is left alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.install import pins
from ktms.node.install.actions import (
    Action,
    AwaitAnnounced,
    Hold,
    InstallAgent,
    InstallProgram,
    Linger,
    MakeCertificate,
    Note,
    PullModel,
    StartService,
    StayWith,
    Verify,
    WriteFile,
    WriteSettings,
)
from ktms.node.install.engines_here import EngineHere
from ktms.node.install.facts import Facts, Manager, ServiceHere
from ktms.node.install.options import Asked
from ktms.node.install.plan import Plan, plan
from ktms.node.service.background import NODE, OLLAMA
from ktms.node.settings import NodeSettings, Tls, Tunnel
from tests.node.install.world import (
    GATEWAY,
    HOME,
    KEY,
    MAC_HOME,
    NO_SERVICES,
    RUNNING,
    TOKEN,
    USER_HOME,
    WHEEL_SHA256,
    asked,
    linux_facts,
    mac_facts,
)

NOBODY = {"engines": (), "programs": {"openssl": "/usr/bin/openssl", "zstd": "/usr/bin/zstd"}}


def kinds(made: Plan) -> list[str]:
    assert made.refusals == (), made.refusals
    return [type(action).__name__ for action in made.actions if not isinstance(action, Note)]


def only(made: Plan, kind: type[Action]) -> Action:
    found = [action for action in made.actions if isinstance(action, kind)]
    assert len(found) == 1, made.actions
    return found[0]


def settings_of(made: Plan) -> NodeSettings:
    action = only(made, WriteSettings)
    assert isinstance(action, WriteSettings)
    return action.settings


def installed(made: Plan, facts: Facts) -> Facts:
    """Give the same machine after all that was planned was done."""
    texts = {action.path: action.text for action in made.actions if isinstance(action, WriteFile)}
    programs = {action.program.name: action.path for action in made.actions if isinstance(action, StartService)}
    services = {
        name: ServiceHere(texts[programs[name]], runs=True) if name in programs else ServiceHere()
        for name in (NODE, OLLAMA)
    }
    pulled = tuple(action.model for action in made.actions if isinstance(action, PullModel))
    unpacked = {one.pin.name: one.pin.sha256 for one in made.actions if isinstance(one, InstallProgram)}
    found = {name: str(facts.home.programs / name / name) for name in unpacked}
    settings = settings_of(made)
    engine = EngineHere(settings.engine, settings.engine_url, "1", (*_listed(facts), *pulled))
    return replace(
        facts,
        settings=settings,
        services=services,
        agent_sha256=WHEEL_SHA256,
        agent_pid=4242,
        engines=(engine,),
        unpacked=unpacked,
        programs={**facts.programs, **found},
        has_certificate=any(isinstance(one, MakeCertificate) for one in made.actions),
        lingers=True,
        taken_ports=frozenset({settings.listen_port, 11434}),
        new_token=Secret("another-token"),
    )


def _listed(facts: Facts) -> tuple[str, ...]:
    return facts.engines[0].models if facts.engines else ()


def test_on_linux_a_running_engine_is_adopted_and_the_agent_becomes_a_service() -> None:
    made = plan(asked(), linux_facts(lingers=False))
    assert kinds(made) == [
        "InstallAgent",
        "WriteSettings",
        "Remove",
        "Linger",
        "WriteFile",
        "StartService",
        "AwaitAnnounced",
        "Verify",
    ]


def test_the_settings_are_those_that_were_asked_for() -> None:
    settings = settings_of(plan(asked(slots=4, listen_port=9000), linux_facts()))
    assert settings == NodeSettings(
        gateway=GATEWAY,
        node_key=Secret(KEY),
        node_token=Secret(TOKEN),
        engine=EngineKind.OLLAMA,
        engine_url="http://127.0.0.1:11434",
        models=("qwen3:4b",),
        listen_host="0.0.0.0",
        listen_port=9000,
        slots=4,
    )


@pytest.mark.parametrize("facts", [linux_facts(lingers=False), mac_facts(), linux_facts(**NOBODY)])
@pytest.mark.parametrize("tls", list(Tls))
@pytest.mark.parametrize("tunnel", [Tunnel.NONE, Tunnel.QUICK])
def test_a_second_run_changes_nothing(facts: Facts, tls: Tls, tunnel: Tunnel) -> None:
    wanted = asked(facts.home, tls=tls, tunnel=tunnel)
    first = plan(wanted, facts)
    assert kinds(plan(wanted, installed(first, facts))) == ["AwaitAnnounced", "Verify"]


def test_a_second_run_says_that_nothing_is_changed() -> None:
    made = plan(asked(), installed(plan(asked(), linux_facts()), linux_facts()))
    assert "all is as it should be: nothing is changed" in [action.line for action in made.actions]


def test_a_second_run_keeps_the_nodes_token_and_what_is_not_named() -> None:
    facts = installed(plan(asked(tls=Tls.ON), linux_facts()), linux_facts())
    settings = settings_of(plan(asked(bare=True, models=("llama3",)), facts))
    assert (settings.node_token, settings.tls, settings.models) == (Secret(TOKEN), Tls.ON, ("llama3",))


def test_another_option_restarts_the_agent_and_installs_nothing() -> None:
    facts = installed(plan(asked(), linux_facts()), linux_facts())
    made = plan(asked(bare=True, slots=2), facts)
    assert kinds(made) == ["WriteSettings", "Remove", "StartService", "AwaitAnnounced", "Verify"]


def test_another_release_replaces_the_agent_and_restarts_it() -> None:
    facts = replace(installed(plan(asked(), linux_facts()), linux_facts()), wheel_sha256="ef" * 32)
    assert kinds(plan(asked(), facts))[:3] == ["InstallAgent", "Remove", "StartService"]


def test_a_service_that_has_ended_is_started_again() -> None:
    facts = installed(plan(asked(), linux_facts()), linux_facts())
    text = facts.services[NODE].text
    facts = replace(facts, services={**facts.services, NODE: ServiceHere(text, runs=False)}, agent_pid=None)
    facts = replace(facts, taken_ports=frozenset())
    assert "StartService" in kinds(plan(asked(), facts))


def test_where_no_engine_runs_an_ollama_is_installed_started_and_given_the_model() -> None:
    made = plan(asked(), linux_facts(**NOBODY))
    assert kinds(made)[:5] == ["InstallProgram", "WriteFile", "StartService", "AwaitEngine", "PullModel"]


def test_an_ollama_of_ours_keeps_all_it_has_in_our_folder() -> None:
    made = plan(asked(), linux_facts(**NOBODY))
    started = next(action for action in made.actions if isinstance(action, StartService))
    assert started.program.words == (str(HOME.programs / "ollama" / "bin" / "ollama"), "serve")
    assert dict(started.program.variables)["HOME"] == str(HOME.folder / "engine")
    assert dict(started.program.variables)["OLLAMA_NO_CLOUD"] == "1"


def test_an_ollama_that_is_here_and_does_not_run_is_started_with_its_own_models() -> None:
    programs = {"ollama": "/usr/local/bin/ollama", "openssl": "/usr/bin/openssl"}
    made = plan(asked(), linux_facts(engines=(), programs=programs))
    started = next(action for action in made.actions if isinstance(action, StartService))
    assert "InstallProgram" not in kinds(made)
    assert started.program.words == ("/usr/local/bin/ollama", "serve")
    assert "HOME" not in dict(started.program.variables)


def test_slots_become_those_of_an_ollama_that_is_started() -> None:
    made = plan(asked(slots=4), linux_facts(**NOBODY))
    started = next(action for action in made.actions if isinstance(action, StartService))
    assert dict(started.program.variables)["OLLAMA_NUM_PARALLEL"] == "4"


def test_where_another_program_has_ollamas_port_the_next_one_is_taken() -> None:
    made = plan(asked(), linux_facts(**NOBODY, taken_ports=frozenset({11434})))
    assert settings_of(made).engine_url == "http://127.0.0.1:11435"


def test_an_older_ollama_of_ours_is_replaced_by_the_pinned_one() -> None:
    facts = installed(plan(asked(), linux_facts(**NOBODY)), linux_facts(**NOBODY))
    made = plan(asked(), replace(facts, unpacked={"ollama": "00" * 32}))
    assert kinds(made)[:3] == ["InstallProgram", "StartService", "AwaitEngine"]


def test_models_that_are_there_are_not_pulled_again() -> None:
    assert "PullModel" not in kinds(plan(asked(models=("QWEN3:4b", "llama3")), linux_facts()))


def test_models_that_are_missing_are_pulled() -> None:
    made = plan(asked(models=("qwen3:4b", "qwen3:8b")), linux_facts())
    assert only(made, PullModel) == PullModel(RUNNING.url, "qwen3:8b")


def test_other_engines_that_run_are_named_and_left_alone() -> None:
    other = EngineHere(EngineKind.VLLM, "http://127.0.0.1:8000", "0.32", ("big",))
    made = plan(asked(), linux_facts(engines=(other, RUNNING)))
    assert settings_of(made).engine is EngineKind.OLLAMA
    assert any("vllm at http://127.0.0.1:8000 is left alone" in action.line for action in made.actions)


def test_behind_a_tunnel_the_agent_listens_on_loopback_alone() -> None:
    made = plan(asked(tunnel=Tunnel.QUICK), linux_facts())
    assert settings_of(made).listen_host == "127.0.0.1"
    assert only(made, InstallProgram) == InstallProgram(
        pins.CLOUDFLARED["linux", "amd64"], HOME.programs / "cloudflared"
    )


def test_a_cloudflared_that_is_here_is_used() -> None:
    programs = {"cloudflared": "/usr/bin/cloudflared"}
    made = plan(asked(tunnel=Tunnel.QUICK), linux_facts(programs=programs))
    started = only(made, StartService)
    assert isinstance(started, StartService)
    assert "InstallProgram" not in kinds(made)
    assert started.program.words[-2:] == ("--cloudflared", "/usr/bin/cloudflared")


def test_for_a_gateway_on_this_machine_the_agent_listens_on_loopback_alone() -> None:
    assert settings_of(plan(asked(), linux_facts(address="127.0.0.1"))).listen_host == "127.0.0.1"


def test_towards_a_gateway_with_ipv6_the_agent_listens_there() -> None:
    assert settings_of(plan(asked(), linux_facts(address="fd00::7"))).listen_host == "::"


def test_a_certificate_is_made_for_the_address_that_the_gateway_dials() -> None:
    made = plan(asked(tls=Tls.ON), linux_facts())
    assert only(made, MakeCertificate) == MakeCertificate(HOME.certificate, HOME.certificate_key, "10.0.0.7")


def test_a_certificate_is_made_for_the_public_host_where_one_is_named() -> None:
    made = plan(asked(tls=Tls.ON, public_url="https://node.example:8443"), linux_facts())
    action = only(made, MakeCertificate)
    assert isinstance(action, MakeCertificate)
    assert action.address == "node.example"


def test_on_a_mac_the_agent_is_a_launch_agent_with_a_log_of_its_own() -> None:
    made = plan(asked(MAC_HOME), mac_facts())
    started = only(made, StartService)
    assert isinstance(started, StartService)
    assert str(started.path).endswith("Library/LaunchAgents/ktms.node.plist")
    assert started.program.words[-3:] == ("--log-file", str(MAC_HOME.log), "--superseded-is-success")


def test_a_mac_is_told_that_somebody_has_to_log_in() -> None:
    assert any("logged in" in line for line in plan(asked(MAC_HOME), mac_facts()).afterwards)


def test_without_services_nothing_is_started_and_the_command_is_printed() -> None:
    facts = linux_facts(manager=Manager.NONE, why_no_service="this is a container")
    made = plan(asked(), facts)
    assert kinds(made) == ["InstallAgent", "WriteSettings"]
    assert made.afterwards[0].startswith("this is a container: ")
    assert made.afterwards[1].strip() == f"{HOME.environment}/bin/ktms-node run --home {HOME.folder}"


def test_without_services_an_ollama_of_ours_runs_while_the_model_is_pulled_and_both_commands_are_printed() -> None:
    facts = linux_facts(manager=Manager.NONE, why_no_service="this is a container", **NOBODY)
    made = plan(asked(), facts)
    assert kinds(made)[:4] == ["InstallProgram", "Hold", "AwaitEngine", "PullModel"]
    assert "ollama serve" in made.afterwards[1]
    assert "ktms-node run" in made.afterwards[2]


def test_in_the_foreground_the_agent_runs_as_long_as_the_installer() -> None:
    facts = linux_facts(manager=Manager.NONE, why_no_service="this is a container")
    made = plan(asked(in_foreground=True), facts)
    assert kinds(made)[-5:] == ["Remove", "Hold", "AwaitAnnounced", "Verify", "StayWith"]
    assert made.afterwards == ()


def test_proxies_of_the_shell_go_into_the_service() -> None:
    made = plan(asked(), linux_facts(carried=(("HTTPS_PROXY", "http://proxy:3128"),)))
    written = only(made, WriteFile)
    assert isinstance(written, WriteFile)
    assert "Environment=HTTPS_PROXY=http://proxy:3128\n" in written.text


def test_no_line_of_any_step_shows_a_secret() -> None:
    for facts in (linux_facts(**NOBODY), mac_facts(**NOBODY), linux_facts(manager=Manager.NONE, **NOBODY)):
        made = plan(asked(facts.home, tls=Tls.ON, tunnel=Tunnel.QUICK, slots=2), facts)
        shown = "\n".join((*(action.line for action in made.actions), *made.afterwards))
        assert KEY not in shown
        assert TOKEN not in shown


def test_root_is_told_that_it_is_not_needed() -> None:
    assert any("root" in action.line for action in plan(asked(), linux_facts(uid=0)).actions)


def test_where_the_key_travels_in_the_clear_that_is_said() -> None:
    made = plan(asked(gateway="http://10.0.0.1:8080"), linux_facts())
    assert any("without TLS" in action.line for action in made.actions)


def test_an_own_home_is_used_throughout() -> None:
    home = replace(HOME, folder=Path("/data/node"))
    made = plan(asked(home), linux_facts(home=home))
    agent = only(made, InstallAgent)
    assert isinstance(agent, InstallAgent)
    assert agent.environment == Path("/data/node/venv")


def test_the_check_is_that_of_the_installed_command() -> None:
    made = plan(asked(), linux_facts())
    assert only(made, Verify) == Verify(HOME.environment / "bin" / "ktms-node", HOME.folder)
    assert isinstance(only(made, AwaitAnnounced), AwaitAnnounced)


def test_linger_is_asked_for_where_it_is_off_and_only_there() -> None:
    assert only(plan(asked(), linux_facts(lingers=False)), Linger) == Linger("anna")
    assert "Linger" not in kinds(plan(asked(), linux_facts()))


def test_nothing_named_is_refused_with_what_to_name() -> None:
    made = plan(Asked(HOME), linux_facts())
    assert ["--gateway" in one.remedy or "KTMS_NODE_KEY" in one.remedy for one in made.refusals] == [True, True]


def test_the_units_of_this_user_lie_where_systemd_looks() -> None:
    written = only(plan(asked(), linux_facts(services=NO_SERVICES)), WriteFile)
    assert isinstance(written, WriteFile)
    assert written.path == USER_HOME / ".config/systemd/user/ktms-node.service"


def test_a_model_of_an_engine_in_the_foreground_is_stayed_with() -> None:
    facts = linux_facts(manager=Manager.NONE, **NOBODY)
    made = plan(asked(in_foreground=True), facts)
    held = [action.program.name for action in made.actions if isinstance(action, Hold)]
    assert held == [OLLAMA, NODE]
    assert isinstance(made.actions[-1], StayWith)
