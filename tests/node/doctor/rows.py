"""The rows of the matrix: a fault, the one cause that is to be found of it, and the systems where it can be."""

from collections.abc import Callable
from dataclasses import dataclass

from ktms.node.doctor.cause import Id
from tests.node.doctor import faults
from tests.node.doctor.world import TunnelWorld, World

MAC, LINUX = "mac", "linux"
BOTH = (MAC, LINUX)


@dataclass(frozen=True)
class Fault:
    """One row: what is found of it, where it can be, and how it is done."""

    cause: Id
    make: Callable[[World], None]
    systems: tuple[str, ...] = BOTH


FAULTS: dict[str, Fault] = {
    "no settings": Fault(Id.SETTINGS_UNUSABLE, faults.no_settings),
    "the disk is full": Fault(Id.DISK_FULL, faults.full_disk),
    "a model could not be pulled for the disk is full": Fault(Id.DISK_FULL, faults.full_disk_and_no_model),
    "no engine runs": Fault(Id.ENGINE_DOWN, faults.no_engine),
    "the engine hangs": Fault(Id.ENGINE_SILENT, faults.silent_engine),
    "another engine has the port": Fault(Id.PORT_TAKEN, faults.other_engine),
    "another program has the port": Fault(Id.PORT_TAKEN, faults.other_program),
    "the engine's URL is https": Fault(Id.ENGINE_SCHEME, faults.engine_by_tls),
    "the engine refuses the Host header": Fault(Id.HOST_REFUSED, faults.engine_forbids),
    "the engine is old": Fault(Id.ENGINE_UNSAFE, faults.old_engine),
    "a model was not pulled": Fault(Id.MODEL_MISSING, faults.no_model),
    "a tag is missing": Fault(Id.MODEL_NAME, faults.bare_name),
    "a stub for a cloud": Fault(Id.MODEL_CLOUD, faults.stub),
    "a model that only embeds": Fault(Id.MODEL_NO_CHAT, faults.embedder),
    "a model larger than the machine": Fault(Id.MODEL_TOO_LARGE, faults.huge_model),
    "the agent is dead": Fault(Id.AGENT_DOWN, faults.dead_agent),
    "the agent's port is taken": Fault(Id.AGENT_PORT_TAKEN, faults.port_of_agent_taken),
    "the agent was ended by a later one": Fault(Id.SUPERSEDED, faults.ended_by_later_agent),
    "a later agent announces": Fault(Id.SUPERSEDED, faults.later_agent),
    "TLS is on, and the port speaks none": Fault(Id.WRONG_TLS, faults.tls_that_is_not),
    "the public URL is https, and its port speaks none": Fault(Id.WRONG_TLS, faults.public_url_that_is_not),
    "the clock is ahead": Fault(Id.CLOCK_SKEW, faults.clock_ahead),
    "the clock is behind": Fault(Id.CLOCK_SKEW, faults.clock_behind),
    "no gateway": Fault(Id.GATEWAY_AWAY, faults.no_gateway),
    "the gateway's URL is another server's": Fault(Id.GATEWAY_OTHER, faults.wrong_gateway),
    "the node key was revoked": Fault(Id.KEY_REFUSED, faults.revoked_key),
    "the address is not allowed": Fault(Id.ANNOUNCEMENT_REFUSED, faults.address_not_allowed),
    "the key does not permit the model": Fault(Id.MODEL_FORBIDDEN, faults.model_not_permitted),
    "the gateway does not get through": Fault(Id.NOT_REACHED, faults.not_dialled_back),
    "UDP 7844 is blocked": Fault(Id.UDP_BLOCKED, faults.udp_shut),
    "UDP and TCP 7844 are blocked": Fault(Id.TUNNEL_DOWN, faults.no_way_out),
    "cloudflared has no connection": Fault(Id.TUNNEL_DOWN, faults.no_connection),
    "cloudflared does not run": Fault(Id.TUNNEL_DOWN, faults.no_cloudflared),
    "the tunnel leads to nobody": Fault(Id.TUNNEL_ORIGIN, faults.tunnel_to_nobody),
    "the tunnel leads to the engine": Fault(Id.TUNNEL_ORIGIN, faults.tunnel_to_engine),
    "the tunnel goes over TCP": Fault(Id.TUNNEL_OVER_TCP, faults.tunnel_over_tcp),
    "a model is not in memory": Fault(Id.MODEL_COLD, faults.cold_model),
    "a llama.cpp sleeps": Fault(Id.MODEL_COLD, faults.cold_llamacpp),
    "a model is loading": Fault(Id.MODEL_LOADING, faults.loading_model),
    "the engine runs under Rosetta": Fault(Id.ROSETTA, faults.rosetta, (MAC,)),
    "the engine runs in a container on a Mac": Fault(Id.CONTAINER_ON_MAC, faults.docker, (MAC,)),
    "the GPU was lost in a sleep": Fault(Id.GPU_LOST, faults.suspended, (LINUX,)),
    "the GPU is not used": Fault(Id.ON_CPU, faults.no_gpu_used),
    "there is no GPU": Fault(Id.ON_CPU, faults.no_gpu, (LINUX,)),
    "a model is half on the GPU": Fault(Id.SPLIT_LOAD, faults.split),
    "a Modelfile decides": Fault(Id.WINDOW_MODELFILE, faults.modelfile),
    "the window is set in the shell alone": Fault(Id.WINDOW_ENVIRONMENT, faults.shell_only),
    "nobody set the window": Fault(Id.WINDOW_GPU_MEMORY, faults.default_window),
    "the window was lowered": Fault(Id.WINDOW_LOWERED, faults.lowered),
    "slots share a window": Fault(Id.WINDOW_SHARED, faults.shared_window),
    "more slots were promised": Fault(Id.SLOTS_FEWER, faults.fewer_slots),
    "slots are set in the shell alone": Fault(Id.SLOTS_FEWER, faults.slots_in_shell_only),
    "a model takes one at a time": Fault(Id.SLOTS_FEWER, faults.one_at_a_time),
    "there is no service": Fault(Id.SERVICE_OFF, faults.no_service),
    "the service is disabled": Fault(Id.SERVICE_OFF, faults.disabled_service, (LINUX,)),
    "no linger": Fault(Id.NO_LINGER, faults.no_linger, (LINUX,)),
    "nothing keeps the machine awake": Fault(Id.SLEEPS, faults.nothing_held),
    "only idling is held off": Fault(Id.SLEEPS, faults.only_idle_held, (LINUX,)),
    "FileVault is on": Fault(Id.LOGIN_NEEDED, faults.file_vault, (MAC,)),
    "a container": Fault(Id.FOREGROUND, faults.in_container, (LINUX,)),
    "a WSL without systemd": Fault(Id.FOREGROUND, faults.in_wsl, (LINUX,)),
}

WELL: dict[str, tuple[Callable[[World], None], tuple[str, ...]]] = {
    "with Ollama": (lambda _: None, BOTH),
    "with llama.cpp": (lambda world: faults.llamacpp(world, "-c 32768 -np 4"), BOTH),
    "behind a tunnel": (lambda world: setattr(world, "tunnel", TunnelWorld()), BOTH),
}
"""Worlds without a fault."""
