"""Runs llama.cpp with embeddings on: `python -m tests.e2e.embedding_engine MODEL PORT`; ends with its input.

It is given no name for its model, so it calls it by the path of its file, as a llama.cpp started by hand does.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import xllamacpp

from tests.e2e.engine.llama_process import LlamaServer, NotLlamaCpp, prove
from tests.e2e.engine.serve_llama import parameters

SLOTS = 2
CONTEXT_TOKENS = 2048


@contextmanager
def embedding_engine(model: Path, log: Path, *, port: int = 0) -> Iterator[LlamaServer]:
    """Run it in a process of its own, on a free port unless one is given.

    Raises:
        NotLlamaCpp: it did not start, or what answers is not llama.cpp.
    """
    command = [sys.executable, "-m", "tests.e2e.embedding_engine", str(model), str(port)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().strip())
            if address.hostname is None or address.port is None:
                raise NotLlamaCpp(f"llama.cpp did not start, see {log}")
            server = LlamaServer(
                address.hostname,
                address.port,
                process.pid,
                model=str(model),
                slots=SLOTS,
                slot_context_tokens=CONTEXT_TOKENS // SLOTS,
            )
            prove(server)
            yield server
        finally:
            process.kill()


def main() -> None:
    """Serve until standard input ends."""
    params = parameters(sys.argv[1], int(sys.argv[2]), SLOTS, CONTEXT_TOKENS)
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.model_alias = set()
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
