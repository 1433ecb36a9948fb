"""The closed table of causes: what each is called, the one line that mends it, and what it may be a symptom of.

Order is that of the report: what stops the node first, nearest to the machine first. Remedies are for the owner
to carry out: the doctor changes nothing and restarts nothing, for a restart cures no cause that stands here. Not
here: when a cause is found (`judge.py`).
"""

from collections.abc import Mapping

from ktms.node.doctor.cause import Cause, Id, Weight

_STOPS, _WARNS, _REMARK = Weight.STOPS, Weight.WARNS, Weight.REMARK

_ENGINE = frozenset({Id.ENGINE_DOWN, Id.ENGINE_SILENT, Id.PORT_TAKEN, Id.ENGINE_SCHEME, Id.HOST_REFUSED})
_MODEL = frozenset({Id.MODEL_MISSING, Id.MODEL_NAME, Id.MODEL_CLOUD, Id.MODEL_NO_CHAT, Id.MODEL_TOO_LARGE})
_AGENT = frozenset({Id.AGENT_DOWN, Id.AGENT_PORT_TAKEN, Id.SUPERSEDED})
_GATEWAY = frozenset({Id.CLOCK_SKEW, Id.GATEWAY_AWAY, Id.GATEWAY_OTHER, Id.KEY_REFUSED})
_TUNNEL = frozenset({Id.UDP_BLOCKED, Id.TUNNEL_DOWN, Id.TUNNEL_ORIGIN})
_GPU = frozenset({Id.ROSETTA, Id.CONTAINER_ON_MAC, Id.GPU_LOST})
_WAITING = frozenset({Id.MODEL_COLD, Id.MODEL_LOADING, Id.DISK_FULL})

_STOPPING = (
    Cause(
        Id.SETTINGS_UNUSABLE,
        _STOPS,
        "this machine has no settings that can be used: {why}",
        "run the installer again",
    ),
    Cause(
        Id.DISK_FULL,
        _STOPS,
        "the disk at {mounted} is full: {free} are free",
        "make room: the agent needs {least}, a model its own size while it is pulled",
    ),
    Cause(
        Id.ENGINE_DOWN,
        _STOPS,
        "{engine} does not answer: nobody listens at {host}:{port}; {service}",
        "start it: {start}",
    ),
    Cause(
        Id.ENGINE_SILENT,
        _STOPS,
        "{engine} listens at {host}:{port} and does not answer; {service}",
        "look into its log, and start it again yourself once no answer is under way",
    ),
    Cause(
        Id.PORT_TAKEN,
        _STOPS,
        "{host}:{port} is where {engine} should be, and {program} listens there",
        "stop {program}, or run the installer again with --engine and --engine-url of the engine that is meant",
    ),
    Cause(
        Id.ENGINE_SCHEME,
        _STOPS,
        "the engine's URL says {says}, and its port speaks {speaks}",
        "run the installer again with --engine-url {url}",
    ),
    Cause(
        Id.HOST_REFUSED,
        _STOPS,
        "{engine} refuses requests in the name of {host}: 403 without a word",
        "run the installer again with --engine-url http://127.0.0.1:{port}; whatever stands before {engine} has "
        "to send that as the Host header",
    ),
    Cause(
        Id.ENGINE_UNSAFE,
        _STOPS,
        "{engine} {version} gives away what is in its memory (CVE-2026-7482)",
        "update it to {least} or newer",
    ),
    Cause(
        Id.MODEL_MISSING,
        _STOPS,
        "{model} is not on this machine{near}",
        "{pull}",
        after=frozenset({Id.DISK_FULL}),
    ),
    Cause(
        Id.MODEL_NAME,
        _STOPS,
        "{model} means {full}, and {engine} has {near}",
        "run the installer again with --model {first}, or: {pull}",
    ),
    Cause(
        Id.MODEL_CLOUD,
        _STOPS,
        "{model} is a stub without weights: {remote} would answer, and what is asked would leave this machine",
        "have the weights instead: {pull}",
    ),
    Cause(
        Id.MODEL_NO_CHAT,
        _STOPS,
        "{model} cannot chat, and a node serves chats alone",
        "run the installer again without it",
    ),
    Cause(
        Id.MODEL_TOO_LARGE,
        _STOPS,
        "{model} needs {size} of memory, and this machine has {memory} in all",
        "serve a smaller model, or one with fewer bits to a weight",
    ),
    Cause(
        Id.AGENT_PORT_TAKEN,
        _STOPS,
        "the agent cannot listen: {program} has port {port}",
        "stop {program}, or run the installer again with --listen-port",
    ),
    Cause(
        Id.SUPERSEDED,
        _STOPS,
        "another agent announces under the name of this node: {message}",
        "stop the other one, or have a key of its own made for this machine; then: {start}",
    ),
    Cause(
        Id.AGENT_DOWN,
        _STOPS,
        "the agent does not run{last}",
        "start it: {start}",
        after=frozenset({Id.AGENT_PORT_TAKEN, Id.SUPERSEDED}),
    ),
    Cause(
        Id.WRONG_TLS,
        _STOPS,
        "{says} is what the gateway is told, and port {port} of {where} speaks {speaks}",
        "run the installer again with --tls {tls}{and_url}",
        after=_AGENT,
    ),
    Cause(
        Id.CLOCK_SKEW,
        _STOPS,
        "the clock of this machine is {seconds} s {direction} that of the gateway",
        "have the system set the clock: {command}",
    ),
    Cause(
        Id.GATEWAY_AWAY,
        _STOPS,
        "the gateway {gateway} is not reached: {why}",
        "open that URL from here with curl; where it works elsewhere, a firewall or proxy of this network is in "
        "the way (HTTPS_PROXY is heeded)",
        after=frozenset({Id.CLOCK_SKEW}),
    ),
    Cause(
        Id.GATEWAY_OTHER,
        _STOPS,
        "{gateway} takes no announcements: it answers {status}",
        "run the installer again with --gateway and the gateway's own URL, without any path",
    ),
    Cause(
        Id.KEY_REFUSED,
        _STOPS,
        "the gateway refuses the node key: it is wrong or was revoked",
        "have a new one made with `ktms admin nodes create`, and run the installer again with it",
    ),
    Cause(
        Id.ANNOUNCEMENT_REFUSED,
        _STOPS,
        "the gateway does not take what this node says of itself: {message}",
        "mend what it names, or show it to whoever runs the gateway",
        after=_AGENT | _GATEWAY,
    ),
    Cause(
        Id.MODEL_FORBIDDEN,
        _STOPS,
        "the node key does not permit {models}",
        "have it permitted with `ktms admin nodes create`, or run the installer again without it",
    ),
    Cause(
        Id.UDP_BLOCKED,
        _STOPS,
        "the tunnel has no connection: UDP port 7844 is blocked on the way out",
        "have the network let it out; within a minute the agent goes over TCP 7844 by itself, where that is open",
        after=_AGENT,
    ),
    Cause(
        Id.TUNNEL_DOWN,
        _STOPS,
        "the tunnel is down: {why}",
        "{mend}",
        after=_AGENT | {Id.UDP_BLOCKED, Id.CLOCK_SKEW},
    ),
    Cause(
        Id.TUNNEL_ORIGIN,
        _STOPS,
        "the tunnel is up, and {url} does not lead to the agent: {answer}",
        "have the tunnel's public hostname lead to {origin}",
        after=_AGENT | {Id.WRONG_TLS, Id.UDP_BLOCKED, Id.TUNNEL_DOWN},
    ),
    Cause(
        Id.NOT_REACHED,
        _STOPS,
        "the gateway cannot reach this node: {reason}",
        "let the gateway's machines through to {url}, or run the installer again with --tunnel cloudflare",
        after=_ENGINE | _MODEL | _AGENT | _GATEWAY | _TUNNEL | _WAITING | {Id.WRONG_TLS, Id.MODEL_FORBIDDEN},
    ),
)

_WARNING = (
    Cause(
        Id.MODEL_COLD,
        _WARNS,
        "{model} is on the disk and not in memory: {need}",
        "have it stay in memory: {command}",
        after=frozenset({Id.MODEL_TOO_LARGE}),
    ),
    Cause(Id.MODEL_LOADING, _WARNS, "{model} is on its way into memory", "wait, and ask again"),
    Cause(
        Id.ROSETTA,
        _WARNS,
        "{engine} was made for Intel and runs under Rosetta: on the CPU, and many times slower",
        "install its version for Apple silicon; one that Homebrew keeps under /usr/local is for Intel",
    ),
    Cause(
        Id.CONTAINER_ON_MAC,
        _WARNS,
        "{engine} runs in a container ({program}): no GPU of a Mac reaches into one",
        "run it without a container",
    ),
    Cause(
        Id.GPU_LOST,
        _WARNS,
        "{engine} runs on the CPU since the machine slept: the driver of the GPU lost its memory",
        "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm, then start {engine} again",
    ),
    Cause(
        Id.SPLIT_LOAD,
        _WARNS,
        "only {share} of {model} is in the memory of the GPU, the rest on the CPU: it is slow",
        "free the GPU's memory, make window or slots smaller, or serve a smaller model",
        after=_GPU,
    ),
    Cause(
        Id.ON_CPU,
        _WARNS,
        "{model} runs on the CPU: {why}",
        "{mend}",
        after=_GPU,
    ),
    Cause(
        Id.WINDOW_MODELFILE,
        _WARNS,
        "{model} has a window of {tokens} tokens, not {promised}: num_ctx of its Modelfile decides",
        "make a model of it with another num_ctx, or without: `ollama create`",
    ),
    Cause(
        Id.WINDOW_ENVIRONMENT,
        _WARNS,
        "{model} has a window of {tokens} tokens, not {promised}: OLLAMA_CONTEXT_LENGTH, as Ollama was started "
        "with, decides, and it is not that of this shell",
        "set it where the service of Ollama is defined, and start Ollama again",
    ),
    Cause(
        Id.WINDOW_GPU_MEMORY,
        _WARNS,
        "{model} has a window of {tokens} tokens of the {promised} it was trained for: nobody asked for more, so "
        "the memory of the GPU decides",
        "start Ollama with OLLAMA_CONTEXT_LENGTH set to what calls need",
    ),
    Cause(
        Id.WINDOW_LOWERED,
        _WARNS,
        "{model} has a window of {tokens} tokens, not the {promised} that {decided_by} asks for: there was too "
        "little memory when it was loaded",
        "free memory and have it loaded again, or ask for a smaller window",
        after=_GPU,
    ),
    Cause(
        Id.WINDOW_SHARED,
        _WARNS,
        "{slots} slots of llama.cpp share one window: of {model} a call can count on {tokens} tokens",
        "start llama-server with -np and a number, and -c for all of them together",
    ),
    Cause(
        Id.SLOTS_FEWER,
        _WARNS,
        "{promised} calls at once were promised, and {engine} serves {slots}: {why}",
        "{mend}, or run the installer again with --slots {slots}",
    ),
    Cause(
        Id.TUNNEL_OVER_TCP,
        _WARNS,
        "the tunnel goes over TCP, since UDP port 7844 is blocked on the way out",
        "have the network let it out: answers come more evenly",
    ),
    Cause(
        Id.SERVICE_OFF,
        _WARNS,
        "the agent runs, and nothing starts it again after a crash or a restart of the machine",
        "{start}",
        after=_AGENT,
    ),
    Cause(
        Id.NO_LINGER,
        _WARNS,
        "the agent ends when {user} logs out, and does not start with the machine",
        "loginctl enable-linger {user}",
    ),
    Cause(
        Id.SLEEPS,
        _WARNS,
        "nothing keeps this machine from going to sleep",
        "{mend}",
        after=_AGENT,
    ),
)

_REMARKS = (
    Cause(
        Id.LOGIN_NEEDED,
        _REMARK,
        "FileVault is on: after a restart the node stays away until somebody logs in",
        "an administrator may restart it once with: sudo fdesetup authrestart",
    ),
    Cause(
        Id.FOREGROUND,
        _REMARK,
        "{why}: the agent runs no longer than whatever started it",
        "have `ktms-node run` be started with the machine, by whatever starts it",
    ),
)

CAUSES: Mapping[Id, Cause] = {cause.id: cause for cause in (*_STOPPING, *_WARNING, *_REMARKS)}
"""All of them, in the order of the report."""
