"""Starts a real llama.cpp server on the generated model, and makes sure that it is one."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.engine import bigram, corpus, gguf_file, template, vocabulary, weights
from tests.e2e.engine.serve_llama import ALIAS

SLOTS = 4
CONTEXT_TOKENS = 16_384
"""Of the whole server; each slot has its part of it."""

ANSWER_WITHIN_S = 10.0
"""The server is ready when it says its address, so an answer takes milliseconds; this bounds a hang."""

_SOURCES = (bigram, corpus, gguf_file, template, vocabulary, weights)


class NotLlamaCpp(AssertionError):
    """Something else answers, or nothing: the test would prove nothing about a real engine."""


@dataclass(frozen=True, slots=True)
class LlamaServer:
    """A running llama.cpp server; `url` has no path."""

    host: str
    port: int
    pid: int
    model: str = ALIAS
    slots: int = SLOTS
    slot_context_tokens: int = CONTEXT_TOKENS // SLOTS

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        return f"http://{self.host}:{self.port}"


def model_file() -> Path:
    """Give the generated model, written once per version of its generator."""
    digest = hashlib.sha256()
    for module in _SOURCES:
        assert module.__file__ is not None
        digest.update(Path(module.__file__).read_bytes())
    folder = Path(tempfile.gettempdir()) / f"ktms-models-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{gguf_file.NAME}-{digest.hexdigest()[:16]}.gguf"
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        gguf_file.write_model(unfinished)
        unfinished.replace(path)
    return path


@contextmanager
def llama_server(model: Path, log: Path, *, port: int = 0, slots: int = SLOTS) -> Iterator[LlamaServer]:
    """Run a server in a process of its own, on a free port unless one is given.

    Raises:
        NotLlamaCpp: it did not start, or what answers is not llama.cpp.
    """
    command = [sys.executable, "-m", "tests.e2e.engine.serve_llama", str(model), str(port)]
    command += [str(slots), str(CONTEXT_TOKENS)]
    root = Path(__file__).parents[3]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().strip())
            if address.hostname is None or address.port is None:
                raise NotLlamaCpp(f"llama.cpp did not start, see {log}")
            server = LlamaServer(address.hostname, address.port, process.pid, slots=slots)
            prove(server)
            yield server
        finally:
            process.kill()


def prove(server: LlamaServer) -> None:
    """Make sure that the server is llama.cpp itself.

    Raises:
        NotLlamaCpp: its header or its metrics say otherwise.
    """
    _, name, _ = ask(server, "/health")
    if name != "llama.cpp":
        raise NotLlamaCpp(f"the server calls itself {name!r}")
    status, _, metrics = ask(server, "/metrics")
    if status != 200 or "llamacpp:" not in metrics:  # HTTP OK
        raise NotLlamaCpp(f"no llamacpp: metrics, status {status}")


def ask(server: LlamaServer, path: str) -> tuple[int, str | None, str]:
    """GET a page: status, Server header, text."""
    connection = HTTPConnection(server.host, server.port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Server"), answer.read().decode()
    finally:
        connection.close()
