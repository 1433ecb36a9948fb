"""What stands in the way, with the one thing that helps."""

from dataclasses import replace

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.install.engines_here import EngineHere
from ktms.node.install.facts import Facts, ServiceHere
from ktms.node.install.options import Asked
from ktms.node.install.plan import plan
from ktms.node.service.background import NODE
from ktms.node.settings import Tls, Tunnel
from tests.node.install.world import NO_SERVICES, asked, linux_facts, mac_facts

BARE = {"engines": (), "programs": {"openssl": "/usr/bin/openssl"}}
LLAMA = EngineHere(EngineKind.LLAMACPP, "http://127.0.0.1:8080", "b1", ("small-model", "other"))
SERVED = {**NO_SERVICES, NODE: ServiceHere("unit", runs=True)}


def lines(wanted: Asked, facts: Facts) -> str:
    made = plan(wanted, facts)
    assert made.actions == ()
    return "\n".join(one.line for one in made.refusals)


@pytest.mark.parametrize(
    ("wanted", "facts", "what", "remedy"),
    [
        (
            asked(),
            linux_facts(settings_problem="x is open to other users"),
            "open to other users",
            "mend or remove",
        ),
        (asked(), linux_facts(wheel=None), "the agent is not installed", "install.sh"),
        (asked(), linux_facts(not_ours=("logs", "venv")), "holds logs, venv already, and no node", "--home"),
        (asked(), linux_facts(engines=(LLAMA,)), "does not serve qwen3:4b", "small-model"),
        (asked(), linux_facts(free_bytes=1 << 20), "GiB free", "make room"),
        (asked(), linux_facts(**BARE, free_bytes=1 << 30), "GiB free", "6.2 GiB"),
        (
            asked(),
            linux_facts(**BARE, cpu="riscv64"),
            "no Ollama is known for linux on riscv64",
            "start an engine",
        ),
        (asked(), linux_facts(**BARE, is_musl=True), "with musl", "start an engine"),
        (asked(), linux_facts(**BARE, unpacks_zstd=False), "zstd", "apt-get install zstd"),
        (asked(), mac_facts(**BARE, major_version=13), "macOS 14", "update macOS"),
        (asked(tunnel=Tunnel.NAMED), linux_facts(), "hostname of yours", "--public-url"),
        (asked(tunnel=Tunnel.QUICK), linux_facts(cpu="riscv64"), "no cloudflared is known", "install it"),
        (asked(tls=Tls.ON), linux_facts(programs={}), "openssl", "--tls off"),
        (asked(), linux_facts(taken_ports=frozenset({8790})), "port 8790 is taken", "--listen-port"),
        (asked(), linux_facts(agent_pid=42), "in the foreground: process 42", "kill 42"),
        (asked(in_foreground=True), linux_facts(services=SERVED), "a service runs the agent", "--foreground"),
    ],
)
def test_it_is_named_with_its_remedy(wanted: Asked, facts: Facts, what: str, remedy: str) -> None:
    said = lines(wanted, facts)
    assert what in said
    assert remedy in said


def test_all_of_them_are_named_at_once() -> None:
    facts = linux_facts(free_bytes=0, taken_ports=frozenset({8790}))
    assert len(plan(asked(tunnel=Tunnel.NAMED), facts).refusals) == 3


def test_an_engine_that_still_loads_lists_nothing_and_refuses_nothing() -> None:
    facts = linux_facts(engines=(replace(LLAMA, models=()),))
    assert plan(asked(), facts).refusals == ()


def test_a_port_that_the_running_agent_has_is_its_own() -> None:
    facts = linux_facts(taken_ports=frozenset({8790}), agent_pid=42, services=SERVED)
    assert plan(asked(), facts).refusals == ()
