"""The faults: each makes one thing ill in a world that is well."""

from pathlib import Path

from ktms.domain.catalogue import EngineKind
from ktms.node.settings import NodeSettings, Tls
from tests.e2e.ports import any_port
from tests.node.doctor.world import MODEL, Answering, TunnelWorld, World, ollama
from tests.node.fakes.llamacpp import FakeLlamaCpp, LlamaModel
from tests.node.fakes.ollama import GIB, OllamaModel
from tests.node.recordings import (
    ASSERTIONS,
    DF,
    ENGINE_PID,
    INHIBITORS,
    LABEL,
    NO_GUI_SERVICE,
    NVIDIA,
    PS,
    SUSPENDS,
    UID,
    UNIT_SHOWN,
    assertions,
    container,
    disk,
    inhibitors,
    launchd_service,
    linux_processes,
    listener,
    mac_processes,
    started,
    systemd_service,
    wsl,
)


def is_mac(world: World) -> bool:
    return world.machine.system == "darwin"


def processes(world: World, *, engine: bool = True, agent: bool = True) -> None:
    """List the processes, without some of them."""
    listed = mac_processes() if is_mac(world) else linux_processes()
    kept = [
        line
        for line in listed.splitlines()
        if (engine or f" {ENGINE_PID} " not in line) and (agent or "ktms-node run" not in line)
    ]
    world.machine.answers(*PS, out="".join(f"{line}\n" for line in kept))


def owner(world: World, program: str, pid: int = 777) -> None:
    """Have a program be the one that listens."""
    world.machine.answers("lsof", out=f"p{pid}\nc{program}\n")
    world.machine.answers("ss", out=listener(program, pid))


def no_settings(world: World) -> None:
    world.is_installed = False


def full_disk(world: World) -> None:
    world.machine.answers(*DF, out=disk("/dev/disk3s5", free_kib=81_000, mounted="/System/Volumes/Data"))


def full_disk_and_no_model(world: World) -> None:
    full_disk(world)
    world.members["models"] = (MODEL, "phi4:14b")


def no_engine(world: World) -> None:
    world.engine = None
    processes(world, engine=False)


def silent_engine(world: World) -> None:
    world.ollama.silent = True


def other_engine(world: World) -> None:
    world.engine = FakeLlamaCpp()


def other_program(world: World) -> None:
    world.engine = Answering(404, "Not Found")
    owner(world, "nginx")
    processes(world, engine=False)


def engine_by_tls(world: World) -> None:
    world.members["engine_url"] = "https"


def engine_forbids(world: World) -> None:
    world.engine = Answering(403)


def old_engine(world: World) -> None:
    world.ollama.version = "0.16.3"


def no_model(world: World) -> None:
    world.members["models"] = (MODEL, "phi4:14b")


def bare_name(world: World) -> None:
    world.members["models"] = ("qwen3",)


def stub(world: World) -> None:
    world.ollama.models.append(OllamaModel("gpt-oss:120b-cloud", remote_host="https://ollama.com:443"))
    world.members["models"] = (MODEL, "gpt-oss:120b-cloud")


def embedder(world: World) -> None:
    world.ollama.models.append(OllamaModel("nomic-embed-text:latest", able=["embedding"]))
    world.members["models"] = (MODEL, "nomic-embed-text")


def huge_model(world: World) -> None:
    world.model.place, world.model.size = "disk", 400 * GIB


def cold_model(world: World) -> None:
    world.model.place = "disk"


def loading_model(world: World) -> None:
    world.model.place = "loading"


def dead_agent(world: World) -> None:
    processes(world, agent=False)
    world.filter_listens = False
    world.machine.answers(
        "launchctl", "print", f"gui/{UID}/{LABEL}", out=launchd_service(state="spawn scheduled", pid=None)
    )
    world.machine.answers(*UNIT_SHOWN, out=systemd_service(active="activating", sub="auto-restart", status=1))


def port_of_agent_taken(world: World) -> None:
    dead_agent(world)
    world.filter_listens = True


def ended_by_later_agent(world: World) -> None:
    dead_agent(world)
    if is_mac(world):
        world.log = "2026-11-30T10:00:00Z error   An agent that started later announces under this name.\n"
        told = launchd_service(state="not running", pid=None, last_exit="0")
        world.machine.answers("launchctl", "print", f"gui/{UID}/{LABEL}", out=told)
    world.machine.answers(*UNIT_SHOWN, out=systemd_service(active="failed", sub="failed", status=3))


def later_agent(world: World) -> None:
    world.has_later = True


def tls_that_is_not(world: World) -> None:
    world.members["tls"] = Tls.ON


def public_url_that_is_not(world: World) -> None:
    world.members["public_url"] = "https"


def clock_ahead(world: World) -> None:
    world.ahead_s = 90.0


def clock_behind(world: World) -> None:
    world.ahead_s = -7200.0


def no_gateway(world: World) -> None:
    world.gateway = f"http://127.0.0.1:{any_port()}"


def wrong_gateway(world: World) -> None:
    world.members["gateway"] = "engine"


def revoked_key(world: World) -> None:
    world.is_revoked = True


def address_not_allowed(world: World) -> None:
    world.status["url"] = "http://169.254.10.10:8790"


def model_not_permitted(world: World) -> None:
    world.permits = ("llama3:8b",)


def not_dialled_back(world: World) -> None:
    world.reason = "http://10.0.0.7:8790: nobody listens there (refused)"


def udp_shut(world: World) -> None:
    world.tunnel = TunnelWorld(connections=0, udp=False)


def no_way_out(world: World) -> None:
    world.tunnel = TunnelWorld(connections=0, udp=False, tcp=False)


def no_connection(world: World) -> None:
    world.tunnel = TunnelWorld(connections=0)


def no_cloudflared(world: World) -> None:
    world.tunnel = TunnelWorld(connections=None)


def tunnel_to_nobody(world: World) -> None:
    world.tunnel = TunnelWorld(leads_to=Answering(502, "error code: 502"))


def tunnel_to_engine(world: World) -> None:
    world.tunnel = TunnelWorld(leads_to=ollama())


def tunnel_over_tcp(world: World) -> None:
    world.tunnel = TunnelWorld(protocol="http2", udp=False)


def rosetta(world: World) -> None:
    world.machine.answers("ps", "-o", "flags=", "-p", str(ENGINE_PID), out="   24004\n")
    world.model.size_vram = 0


def docker(world: World) -> None:
    owner(world, "com.docker.backend", 900)
    processes(world, engine=False)
    world.model.size_vram = 0


def suspended(world: World) -> None:
    world.machine.files[SUSPENDS] = "2\n"
    world.model.size_vram = 0


def no_gpu_used(world: World) -> None:
    world.model.size_vram = 0


def no_gpu(world: World) -> None:
    world.machine.lacks(*NVIDIA)
    world.model.size_vram = 0


def split(world: World) -> None:
    world.model.size_vram = world.model.size // 2


def modelfile(world: World) -> None:
    world.model.num_ctx = world.model.window = 2048


def shell_only(world: World) -> None:
    world.machine.variables = {**world.machine.variables, "OLLAMA_CONTEXT_LENGTH": "32768"}


def default_window(world: World) -> None:
    started(world.machine, OLLAMA_NUM_PARALLEL="4")
    world.machine.answers(*NVIDIA, out="8192\n")
    world.model.window = 4096


def lowered(world: World) -> None:
    world.model.window = 4096


def fewer_slots(world: World) -> None:
    world.members["slots"] = 8


def slots_in_shell_only(world: World) -> None:
    world.machine.variables = {**world.machine.variables, "OLLAMA_NUM_PARALLEL": "8"}


def one_at_a_time(world: World) -> None:
    world.model.family = "qwen35"
    world.members["slots"] = 4


def llamacpp(world: World, options: str) -> None:
    """Have llama.cpp in the place of Ollama."""
    world.engine = FakeLlamaCpp(LlamaModel(MODEL, window=8192, slots=4))
    world.members["engine"] = EngineKind.LLAMACPP
    processes(world, engine=False)

    def run(made: World, of: NodeSettings) -> None:
        port = of.engine_url.rpartition(":")[2]
        made.runs(f" {ENGINE_PID}     1 /opt/llama/llama-server -m a.gguf --port {port} {options}")
        owner(made, "llama-server", ENGINE_PID)

    world.late.append(run)


def shared_window(world: World) -> None:
    llamacpp(world, "-c 8192")


def cold_llamacpp(world: World) -> None:
    llamacpp(world, "-c 32768 -np 4 --sleep-idle-seconds 60")
    assert isinstance(world.engine, FakeLlamaCpp)
    world.engine.sleeping = True


def no_service(world: World) -> None:
    for domain in ("gui", "user"):
        world.machine.answers(
            "launchctl", "print", f"{domain}/{UID}/{LABEL}", code=113, err=NO_GUI_SERVICE.format(label=LABEL)
        )
    world.machine.answers(*UNIT_SHOWN, out=systemd_service(load="not-found", active="inactive", enabled=""))


def disabled_service(world: World) -> None:
    world.machine.answers(*UNIT_SHOWN, out=systemd_service(enabled="disabled"))


def no_linger(world: World) -> None:
    world.machine.answers("loginctl", "show-user", "anna", "--property=Linger", out="Linger=no\n")


def nothing_held(world: World) -> None:
    world.machine.answers(*ASSERTIONS, out=assertions(caffeinated=False))
    world.machine.answers(*INHIBITORS, out=inhibitors(what=None))


def only_idle_held(world: World) -> None:
    world.machine.answers(*INHIBITORS, out=inhibitors(what="idle"))


def file_vault(world: World) -> None:
    world.machine.answers("fdesetup", "status", out="FileVault is On.\n")


def in_container(world: World) -> None:
    _become(world, container().ran, container().files)


def in_wsl(world: World) -> None:
    _become(world, wsl().ran, wsl().files)


def _become(world: World, ran: object, files: dict[Path, str]) -> None:
    assert isinstance(ran, dict)
    kept = {words: said for words, said in world.machine.ran.items() if words == PS}
    world.machine.ran, world.machine.files = ran | kept, dict(files)
    started(world.machine, OLLAMA_CONTEXT_LENGTH="8192", OLLAMA_NUM_PARALLEL="4")
