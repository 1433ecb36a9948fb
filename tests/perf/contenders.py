"""Who is measured: the gateway, and what it is compared with. Each runs in a process of its own, on one processor.

A contender that cannot run here is absent with a reason, which the report shows; it is never left out silently.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from tests.perf import wire
from tests.perf.child import Child, child, started
from tests.perf.machine import other_cpus, subject_cpus
from tests.perf.proc import family
from tests.perf.wanted import LIMITS, NODE

READY_WITHIN_S = 60.0
"""LiteLLM imports for many seconds; everybody else listens within one."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One running contender. `pid` None: its processor time is not asked for (the direct upstream).

    `beside`: processes it has started that are counted apart from its own: the server of its leases and limits.
    `tells`: where it tells what it has booked; None: it books nothing.
    """

    name: str
    port: int
    pid: int | None
    key: str
    facts: dict[str, Any]
    beside: tuple[int, ...] = ()
    tells: Child | None = None

    @property
    def pids(self) -> list[int]:
        """All of its processes."""
        return [] if self.pid is None else [pid for pid in family(self.pid) if pid not in self.beside]


@dataclass(slots=True)
class LineUp:
    """All contenders of a run, the direct upstream first, and those that are absent with the reason."""

    load: Child
    contenders: list[Contender]
    absent: dict[str, str]

    def named(self, name: str) -> Contender | None:
        """Give a contender by name; None when absent."""
        return next((c for c in self.contenders if c.name == name), None)


DIRECT, GATEWAY, NGINX, BARE, COPY, LITELLM = "direct", "gateway", "nginx", "bare aiohttp", "byte copy", "LiteLLM"

LEASED = "gateway, own node"
"""The same gateway with the mock as a machine of ours: a slot on it is a lease in Redis."""

ALL_ON = "gateway, all on"
"""And with every kind of limit on key and tenant, counted in Redis, and prices: nothing is left out."""

GATEWAYS = (GATEWAY, LEASED, ALL_ON)


@contextmanager
def line_up(*, gateway: bool, litellm_venv: Path | None) -> Iterator[LineUp]:
    """Start everybody who can run here."""
    with ExitStack() as stack:
        mock = stack.enter_context(child("tests.perf.mock_upstream", cpus=other_cpus()))
        load = stack.enter_context(child("tests.perf.load", cpus=other_cpus()))
        running = LineUp(load, [Contender(DIRECT, mock.port, None, "direct", {})], {})
        if gateway:
            running.contenders.append(_own(stack, GATEWAY, "tests.perf.gateway_process", mock.port))
            running.contenders.append(_own(stack, LEASED, "tests.perf.gateway_process", mock.port, NODE))
            running.contenders.append(_own(stack, ALL_ON, "tests.perf.gateway_process", mock.port, NODE, LIMITS))
        _add_nginx(stack, running, mock.port)
        running.contenders.append(_own(stack, BARE, "tests.perf.bare_aiohttp", mock.port))
        running.contenders.append(_own(stack, COPY, "tests.perf.pass_through", mock.port))
        _add_litellm(stack, running, mock.port, litellm_venv)
        yield running


def _own(stack: ExitStack, name: str, module: str, upstream_port: int, *words: str) -> Contender:
    process = stack.enter_context(child(module, str(upstream_port), *words, cpus=subject_cpus()))
    return contender(name, process)


def contender(name: str, process: Child) -> Contender:
    """Take a started child in; what it has started beside itself moves to the processors of all others."""
    facts: dict[str, Any] = process.facts
    beside = tuple(facts.get("beside", ()))
    for pid in beside:
        os.sched_setaffinity(pid, other_cpus())
    return Contender(
        name,
        process.port,
        process.process.pid,
        str(facts.get("key", "any")),
        facts,
        beside,
        process if "per_request" in facts else None,
    )


def _add_nginx(stack: ExitStack, running: LineUp, upstream_port: int) -> None:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        running.absent[NGINX] = "not installed"
        return
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ktms-bench-")))
    folder.chmod(0o755)  # its worker runs as another user
    port = free_port()
    (folder / "nginx.conf").write_text(nginx_configuration(folder, port, upstream_port))
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = stack.enter_context(started(command, subject_cpus()))
    wait_for(port, process)
    running.contenders.append(Contender(NGINX, port, process.pid, "any", {}))


def nginx_configuration(folder: Path, port: int, upstream_port: int) -> str:
    """Write what nginx needs to be a fair proxy: one worker, kept-alive upstream connections, no buffering."""
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 10000; }}
http {{
access_log off;
keepalive_requests 1000000000;
{temporary}
upstream mock {{ server 127.0.0.1:{upstream_port}; keepalive 256; keepalive_requests 1000000000; }}
server {{
listen 127.0.0.1:{port} backlog=4096;
location / {{
proxy_pass http://mock;
proxy_http_version 1.1;
proxy_set_header Connection "";
proxy_buffering off;
}}
}}
}}
"""


def _add_litellm(stack: ExitStack, running: LineUp, upstream_port: int, venv: Path | None) -> None:
    if venv is None:
        running.absent[LITELLM] = "no environment given, see --litellm-venv"
        return
    program = venv / "bin" / "litellm"
    if not program.exists():
        running.absent[LITELLM] = "not installed in the environment given"
        return
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ktms-bench-")))
    key = f"sk-{token_hex(32)}"
    (folder / "config.yaml").write_text(litellm_configuration(upstream_port, key))
    port = free_port()
    # the price table inside the package, or the start waits for the network
    command = ["env", "LITELLM_LOCAL_MODEL_COST_MAP=True", str(program), "--config", str(folder / "config.yaml")]
    command += ["--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    process = stack.enter_context(started(command, subject_cpus()))
    try:
        wait_for(port, process)
    except DidNotListen as error:
        running.absent[LITELLM] = str(error)
    else:
        running.contenders.append(Contender(LITELLM, port, process.pid, key, {}))


def litellm_configuration(upstream_port: int, key: str) -> str:
    """Write what LiteLLM needs: one model, one key, everything else as it comes."""
    return f"""model_list:
- model_name: {wire.MODEL}
  litellm_params:
    model: openai/{wire.VENDOR_MODEL}
    api_base: http://127.0.0.1:{upstream_port}/v1
    api_key: any
general_settings:
  master_key: {key}
"""


class DidNotListen(Exception):
    """A contender ended, or was too slow, before it listened."""


def free_port() -> int:
    """Find a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Wait until a contender listens.

    Raises:
        DidNotListen: it ended instead, or took too long.
    """
    deadline = time.perf_counter() + READY_WITHIN_S
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise DidNotListen(f"ended with exit code {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise DidNotListen(f"did not listen within {READY_WITHIN_S:.0f} s")
