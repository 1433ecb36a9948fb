"""Runs llama.cpp's own HTTP server in this process.

Called as `python -m tests.e2e.engine.serve_llama MODEL PORT SLOTS CONTEXT`; prints its address when it listens.
One thread: on a small machine, more of them only wait for each other.
"""

import sys

import xllamacpp

ALIAS = "switchboard"
"""The name the server gives its model."""


def parameters(model: str, port: int, slots: int, context: int) -> xllamacpp.CommonParams:
    """Give the settings of a server with metrics, slots and properties open to be asked."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.endpoint_props = True
    params.model_alias = {ALIAS}
    params.warmup = False
    return params


def main() -> None:
    """Serve until SIGTERM, or until whoever started this closes our standard input, which its death does too."""
    model, port, slots, context = sys.argv[1], *(int(word) for word in sys.argv[2:5])
    server = xllamacpp.Server(parameters(model, port, slots, context))
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
