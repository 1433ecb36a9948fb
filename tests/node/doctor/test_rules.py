"""What the matrix does not reach: spellings, versions, bounds, and values that are not known."""

from dataclasses import replace

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.doctor.cause import Id
from ktms.node.doctor.engine_rules import engine_findings, is_container, title_of
from ktms.node.doctor.facts import (
    AgentFacts,
    Disk,
    EngineFacts,
    Facts,
    GatewayFacts,
    MachineFacts,
    OnDisk,
    Page,
    Port,
    Program,
    ServedModel,
    ServiceFacts,
    Speaks,
    TunnelFacts,
)
from ktms.node.doctor.finding import GB, Finding
from ktms.node.doctor.gateway_rules import SKEW_MAX_S, gateway_findings
from ktms.node.doctor.machine_rules import DISK_FREE_MIN_BYTES, machine_findings
from ktms.node.doctor.model_rules import model_findings
from ktms.node.doctor.node_rules import node_findings
from ktms.node.doctor.window_rules import window_findings
from ktms.node.engines.ollama_window import Serving
from ktms.node.settings import Tls, Tunnel
from tests.node.nodes import settings

LINUX, MAC = MachineFacts("linux"), MachineFacts("darwin")
OPEN = Port("127.0.0.1", 11434, is_open=True)
ENGINE = EngineFacts(EngineKind.OLLAMA, "http://127.0.0.1:11434", OPEN, answers=True, version="0.33.0", slots=4)


def facts(machine: MachineFacts = LINUX, **members: object) -> Facts:
    return Facts(machine, **({"settings": settings()} | members))  # type: ignore[arg-type]  # the test names members


def ids(found: object) -> list[Id]:
    return [one.id for one in found if isinstance(one, Finding)]  # type: ignore[attr-defined]  # rules give findings


@pytest.mark.parametrize(
    ("version", "is_unsafe"),
    [
        ("0.17.0", True),
        ("v0.9.6", True),
        ("0.17.0-rc1", True),
        ("0.17.1", False),
        ("0.32.1", False),
        ("1.0.0", False),
        ("0.0.0", False),
        ("main", False),
        (None, False),
    ],
)
def test_an_ollama_below_the_safe_version_is_unsafe(version: str | None, is_unsafe: bool) -> None:
    found = ids(engine_findings(facts(engine=replace(ENGINE, version=version))))
    assert found == ([Id.ENGINE_UNSAFE] if is_unsafe else [])


def test_versions_of_other_engines_are_their_own() -> None:
    assert ids(engine_findings(facts(engine=replace(ENGINE, kind=EngineKind.VLLM, version="0.11.0")))) == []
    assert title_of(EngineKind.DEMO) == "demo"


@pytest.mark.parametrize(
    ("port", "page", "cause"),
    [
        (replace(OPEN, speaks=Speaks.TLS), None, Id.ENGINE_SCHEME),
        (replace(OPEN, owner=Program(7, "nginx")), None, Id.PORT_TAKEN),
        (replace(OPEN, owner=Program(7, "ollama")), None, Id.ENGINE_SILENT),
        (replace(OPEN, owner=Program(7, "com.docker.backend")), None, Id.ENGINE_SILENT),
        (OPEN, Page(500), Id.ENGINE_SILENT),
        (OPEN, Page(404), Id.PORT_TAKEN),
        (OPEN, Page(403), Id.PORT_TAKEN),
        (OPEN, Page(403, is_empty=True), Id.HOST_REFUSED),
    ],
)
def test_an_engine_that_is_away_has_one_cause(port: Port, page: Page | None, cause: Id) -> None:
    engine = replace(ENGINE, answers=False, port=port, page=page)
    assert ids(engine_findings(facts(engine=engine))) == [cause]


@pytest.mark.parametrize("name", ["com.docke", "Docker", "OrbStack Helper", "podman", "limactl"])
def test_programs_of_containers_are_known_by_their_names(name: str) -> None:
    assert is_container(Program(1, name))


def test_a_container_on_linux_reaches_its_gpu() -> None:
    engine = replace(ENGINE, port=replace(OPEN, owner=Program(9, "docker-proxy")))
    assert ids(engine_findings(facts(engine=engine))) == []
    assert ids(engine_findings(facts(MAC, engine=engine))) == [Id.CONTAINER_ON_MAC]


def asked_for(*names: str, disk: tuple[OnDisk, ...] = (), served: tuple[str, ...] = ()) -> Finding:
    engine = replace(ENGINE, disk=disk, models=tuple(ServedModel(name, loaded=True) for name in served))
    (found,) = model_findings(facts(settings=settings(models=names), engine=engine))
    return found


def test_near_names_are_told_without_stubs() -> None:
    disk = (OnDisk("qwen3:8b"), OnDisk("phi4:14b"), OnDisk("qwen3:4b-cloud"))
    found = asked_for("qwen3:4b", disk=disk)
    assert (found.id, found.title) == (Id.MODEL_MISSING, "qwen3:4b is not on this machine; there is qwen3:8b")
    assert found.remedy == "ollama pull qwen3:4b"


def test_a_missing_tag_is_told_with_those_there_are() -> None:
    found = asked_for("qwen3", disk=(OnDisk("qwen3:4b"), OnDisk("Qwen3:8b"), OnDisk("qwen3-coder:30b")))
    assert (found.id, found.title) == (
        Id.MODEL_NAME,
        "qwen3 means qwen3:latest, and Ollama has qwen3:4b, Qwen3:8b",
    )


def test_a_name_in_other_letters_is_told_as_the_engine_spells_it() -> None:
    found = asked_for("registry.ollama.ai/library/QWEN3:4b", disk=(OnDisk("qwen3:4b"),))
    assert (found.id, dict(found.values)["first"]) == (Id.MODEL_NAME, "qwen3:4b")


def test_a_stub_is_told_whether_or_not_it_is_listed() -> None:
    assert asked_for("gpt-oss:120b-cloud").id is Id.MODEL_CLOUD
    listed = asked_for("big", disk=(OnDisk("big:latest", remote="https://ollama.com:443"),))
    assert (listed.id, dict(listed.values)["remote"]) == (Id.MODEL_CLOUD, "https://ollama.com:443")
    assert listed.remedy == "have the weights instead: ollama pull big"


def test_a_model_of_another_engine_is_not_pulled() -> None:
    engine = replace(ENGINE, kind=EngineKind.VLLM)
    (found,) = model_findings(facts(settings=settings(models=("a",)), engine=engine))
    assert found.remedy == "start vLLM with it"


def test_an_engine_without_any_model_serves_nothing() -> None:
    assert asked_for().title == "a model is not on this machine"


def test_what_a_cold_model_needs_is_told_beside_what_is_free() -> None:
    engine = replace(ENGINE, models=(ServedModel("m:1b", loaded=False),), disk=(OnDisk("m:1b", 9 * GB),))
    machine = replace(LINUX, memory_bytes=8 * GB, free_bytes=3 * GB, gpu_bytes=4 * GB)
    (found,) = model_findings(facts(machine, engine=engine))
    assert (found.id, "it needs 9.0 GB" in found.title, "3.0 GB are free" in found.title) == (
        Id.MODEL_COLD,
        True,
        True,
    )
    on_mac = replace(machine, system="darwin")
    assert ids(model_findings(facts(on_mac, engine=engine))) == [Id.MODEL_TOO_LARGE]


def test_a_cold_model_of_unknown_size_is_cold() -> None:
    engine = replace(ENGINE, kind=EngineKind.LLAMACPP, models=(ServedModel("m", loaded=False),))
    (found,) = model_findings(facts(engine=engine))
    assert (found.id, "llama.cpp" in found.remedy) == (Id.MODEL_COLD, True)


def test_shares_that_are_nearly_all_are_all() -> None:
    for share, expected in ((0.9995, []), (0.98, [Id.SPLIT_LOAD]), (None, [])):
        engine = replace(ENGINE, models=(ServedModel("m:1b", loaded=True, on_gpu=share),))
        assert ids(model_findings(facts(engine=engine))) == expected


WINDOW = ServedModel("m:1b", loaded=True, window=4096, trained=40_960)


def window(model: ServedModel, serving: Serving, **wishes: int) -> list[Id]:
    engine = replace(ENGINE, models=(model,), serving=serving)
    return ids(window_findings(facts(replace(LINUX, wishes=wishes), engine=engine)))


def test_nobody_gets_more_than_a_model_was_trained_for() -> None:
    small = replace(WINDOW, trained=2048)
    assert window(small, Serving(context=8192), OLLAMA_CONTEXT_LENGTH=32_768) == []


def test_a_default_that_is_large_enough_is_not_told() -> None:
    assert window(WINDOW, Serving(context=0, gpu_bytes=30 << 30)) == []
    assert window(WINDOW, Serving(context=0, gpu_bytes=8 << 30)) == [Id.WINDOW_GPU_MEMORY]
    assert window(replace(WINDOW, trained=None), Serving(context=0, gpu_bytes=8 << 30)) == []


def test_a_window_that_cannot_be_known_is_not_told() -> None:
    assert window(WINDOW, Serving()) == []
    assert window(WINDOW, Serving(context=0)) == []


def test_a_wish_of_the_shell_that_the_engine_heard_is_none() -> None:
    assert window(WINDOW, Serving(context=8192), OLLAMA_CONTEXT_LENGTH=8192) == []
    assert window(WINDOW, Serving(context=0, gpu_bytes=8 << 30), OLLAMA_CONTEXT_LENGTH=8192) == [
        Id.WINDOW_ENVIRONMENT
    ]


def test_slots_that_are_not_known_promise_nothing() -> None:
    of = settings(slots=8)
    assert ids(window_findings(facts(settings=of, engine=replace(ENGINE, slots=None)))) == []
    assert ids(window_findings(facts(settings=of, engine=replace(ENGINE, slots=8)))) == []


@pytest.mark.parametrize("kind", [EngineKind.VLLM, EngineKind.LLAMACPP, EngineKind.TGI, EngineKind.OLLAMA])
def test_each_engine_has_its_own_word_for_slots(kind: EngineKind) -> None:
    (found,) = window_findings(facts(settings=settings(slots=8), engine=replace(ENGINE, kind=kind)))
    assert (found.id, "8, or" in found.remedy) == (Id.SLOTS_FEWER, True)


@pytest.mark.parametrize(("free", "is_full"), [(DISK_FREE_MIN_BYTES - 1, True), (DISK_FREE_MIN_BYTES, False)])
def test_a_disk_is_full_below_a_bound(free: int, is_full: bool) -> None:
    found = ids(machine_findings(Facts(replace(LINUX, disks=(Disk("/", free), Disk("/data", GB))))))
    assert found == ([Id.DISK_FULL] if is_full else [])


def test_each_system_has_its_own_way_to_stay_awake() -> None:
    service = ServiceFacts(sleep_prevented=False)
    (of_mac,) = machine_findings(Facts(MAC, service=service))
    (of_linux,) = machine_findings(Facts(LINUX, service=service))
    assert ("caffeinate" in of_mac.remedy, of_linux.remedy.startswith("sudo systemctl mask")) == (True, True)


ALIVE = AgentFacts(alive=True, pid=1)


def test_a_filter_that_speaks_tls_where_none_is_meant_is_told() -> None:
    port = replace(OPEN, number=8790, speaks=Speaks.TLS)
    (found,) = node_findings(facts(agent=ALIVE, filter=port))
    assert (found.id, found.remedy) == (Id.WRONG_TLS, "run the installer again with --tls on")


def test_a_certificate_that_nobody_checks_is_tls_all_the_same() -> None:
    port = replace(OPEN, speaks=Speaks.TLS)
    assert ids(node_findings(facts(settings=settings(tls=Tls.INSECURE), agent=ALIVE, filter=port))) == []


def test_the_last_words_of_a_dead_agent_are_told() -> None:
    agent = AgentFacts(alive=False, said_last="error the filter cannot listen")
    (found,) = node_findings(facts(agent=agent, service=ServiceFacts(last_exit=2, start="x")))
    assert found.title == (
        "the agent does not run, it ended with code 2; it said last: error the filter cannot listen"
    )


def test_a_tunnel_whose_address_does_not_answer_from_here_accuses_nobody() -> None:
    tunnel = TunnelFacts(runs=True, connections=4, url="https://a.example", origin=None)
    assert ids(node_findings(facts(agent=ALIVE, tunnel=tunnel))) == []


def test_a_quick_tunnel_is_set_right_by_a_new_start() -> None:
    of = settings(tunnel=Tunnel.QUICK)
    tunnel = TunnelFacts(runs=True, connections=1, url="https://a.example", origin=Page(502))
    (found,) = node_findings(facts(settings=of, agent=ALIVE, tunnel=tunnel))
    assert (found.id, "starting the agent again" in found.remedy) == (Id.TUNNEL_ORIGIN, True)


@pytest.mark.parametrize(("ahead_s", "is_wrong"), [(SKEW_MAX_S, False), (SKEW_MAX_S + 1, True), (-61.0, True)])
def test_a_clock_is_wrong_beyond_a_bound(ahead_s: float, is_wrong: bool) -> None:
    found = ids(gateway_findings(facts(gateway=GatewayFacts(ahead_s=ahead_s, key=200))))
    assert found == ([Id.CLOCK_SKEW] if is_wrong else [])


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (200, []),
        (400, []),
        (429, []),
        (401, [Id.KEY_REFUSED]),
        (404, [Id.GATEWAY_OTHER]),
        (308, [Id.GATEWAY_OTHER]),
        (503, [Id.GATEWAY_AWAY]),
    ],
)
def test_the_status_tells_whether_there_is_a_gateway_that_knows_the_key(status: int, cause: list[Id]) -> None:
    assert ids(gateway_findings(facts(gateway=GatewayFacts(key=status)))) == cause


def test_the_clock_of_another_server_is_no_measure() -> None:
    assert ids(gateway_findings(facts(gateway=GatewayFacts(ahead_s=7200, key=404)))) == [Id.GATEWAY_OTHER]


def test_a_gateway_that_gives_no_reason_is_told_all_the_same() -> None:
    (found,) = gateway_findings(facts(gateway=GatewayFacts(key=200, announced=200, verified=False)))
    assert (found.id, "says no more" in found.title) == (Id.NOT_REACHED, True)
