import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.doctor.ask_engine import ask_engine, is_translated
from ktms.node.doctor.ask_ollama import SHOWS_MAX
from ktms.node.doctor.facts import EngineFacts
from ktms.node.engines.processes import processes
from tests.e2e.ports import any_port
from tests.node.fakes.ollama import GIB, FakeOllama, OllamaModel
from tests.node.fakes.serving import FakeEngine, serving
from tests.node.fakes.tgi import FakeTgi
from tests.node.fakes.vllm import FakeVllm
from tests.node.nodes import settings
from tests.node.recordings import ENGINE_PID, LABEL, PS, UID, RecordedMachine, linux, linux_processes, mac


async def asked(
    session: aiohttp.ClientSession, url: str, machine: RecordedMachine, kind: EngineKind = EngineKind.OLLAMA
) -> EngineFacts:
    of = settings(engine_url=url, engine=kind)
    return await ask_engine(machine, of, processes(machine, lambda _: True), session)


async def test_an_ollama_tells_models_stubs_sizes_and_windows(session: aiohttp.ClientSession) -> None:
    models = (
        OllamaModel("qwen3:4b", place="memory", window=8192, num_ctx=8192, trained=40_960),
        OllamaModel("gpt-oss:120b-cloud", remote_host="https://ollama.com:443"),
        OllamaModel("nomic-embed-text:latest", able=["embedding"]),
        OllamaModel("llama3:8b", size=5 * GIB),
    )
    async with serving(FakeOllama(*models)) as engine:
        told = await asked(session, engine.url, linux())
    assert (told.answers, told.version, told.slots, told.serving.context) == (True, "0.33.0", 4, 8192)
    assert [(one.name, one.remote, one.can_chat) for one in told.disk] == [
        ("qwen3:4b", None, True),
        ("gpt-oss:120b-cloud", "https://ollama.com:443", True),
        ("nomic-embed-text:latest", None, False),
        ("llama3:8b", None, True),
    ]
    warm, cold = told.models
    assert (warm.loaded, warm.in_memory, warm.modelfile, warm.trained) == (True, 8192, 8192, 40_960)
    assert (cold.loaded, cold.in_memory, cold.is_loading) == (False, None, False)


async def test_not_every_model_of_a_full_disk_is_read_in_detail(session: aiohttp.ClientSession) -> None:
    many = [OllamaModel(f"m{at}:1b") for at in range(2 * SHOWS_MAX)]
    async with serving(FakeOllama(*many)) as engine:
        told = await asked(session, engine.url, linux())
    assert len(told.models) == 2 * SHOWS_MAX


@pytest.mark.parametrize(("engine", "kind"), [(FakeVllm(), EngineKind.VLLM), (FakeTgi(), EngineKind.TGI)])
async def test_other_engines_tell_what_their_look_tells(
    session: aiohttp.ClientSession, engine: FakeEngine, kind: EngineKind
) -> None:
    async with serving(engine):
        told = await asked(session, engine.url, linux(), kind)
    assert (told.answers, told.kind, len(told.models)) == (True, kind, 1)
    assert told.models[0].loaded
    assert told.disk[0].name == told.models[0].name


async def test_who_should_run_an_engine_that_is_away_is_told(session: aiohttp.ClientSession) -> None:
    machine = linux()
    machine.answers("systemctl", "show", "ollama", out="LoadState=loaded\nActiveState=failed\nSubState=failed\n")
    machine.answers(*PS, out=linux_processes(engine=""))
    told = await asked(session, f"http://127.0.0.1:{any_port()}", machine)
    assert told.service == "no process of it runs, its service is failed (failed)"
    assert told.start == "sudo systemctl start ollama"


async def test_an_ollama_that_we_brought_is_started_by_its_service(session: aiohttp.ClientSession) -> None:
    url = f"http://127.0.0.1:{any_port()}"
    of_linux, of_mac = linux(), mac()
    of_linux.answers("systemctl", "--user", "show", "ktms-ollama.service", out="LoadState=loaded\n")
    ours = LABEL.replace("node", "ollama")
    of_mac.answers("launchctl", "print", f"gui/{UID}/{ours}", out="state = not running\n")
    told = await asked(session, url, of_linux)
    assert told.start == "systemctl --user start ktms-ollama.service"
    assert told.service == f"its process {ENGINE_PID} runs"
    assert (await asked(session, url, of_mac)).start == f"launchctl kickstart gui/{UID}/{ours}"


@pytest.mark.parametrize(
    ("flags", "is_so"), [("    4004\n", False), ("   24004\n", True), ("", None), ("?\n", None)]
)
def test_rosetta_is_a_flag_of_the_process(flags: str, is_so: bool | None) -> None:
    machine = mac()
    machine.answers("ps", "-o", "flags=", "-p", str(ENGINE_PID), out=flags)
    assert is_translated(machine, ENGINE_PID) is is_so


def test_only_a_known_process_of_a_mac_can_be_translated() -> None:
    assert is_translated(linux(), ENGINE_PID) is None
    assert is_translated(mac(), None) is None
