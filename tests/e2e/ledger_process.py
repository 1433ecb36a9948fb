"""`ktms ledger` under test: started, asked for its health, stopped, killed, started again on the same port."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2

from tests.e2e.ports import any_port
from tests.e2e.program import KTMS, Done, Program, environment

LOOPBACK = "127.0.0.1"
CHECK = "/grpc.health.v1.Health/Check"

KNOWING = (KTMS,)
FORGETFUL = (sys.executable, "-m", "tests.e2e.ledger_without_keys")
"""The service as it is, and one that stores repeats."""


class LedgerProcess:
    """The service. There is at most one process of it at a time."""

    def __init__(self, command: tuple[str | Path, ...], home: Path, database_url: str) -> None:
        self.address = f"{LOOPBACK}:{any_port()}"
        self._command = (*command, "ledger")
        self._home = home
        self._env = environment(home, KTMS_DATABASE_URL=database_url, KTMS_LEDGER_ADDR=self.address)
        self._program: Program | None = None
        self._count = 0

    @property
    def program(self) -> Program:
        """The process that runs."""
        assert self._program is not None, "started first"
        return self._program

    def start(self) -> None:
        """Start it; it listens, healthy or not, some time later."""
        self._count += 1
        self._program = Program(self._command, self._env, self._home, f"ledger-{self._count}").__enter__()

    def until_healthy(self) -> None:
        """Wait until it can store events."""
        self.program.until(lambda: self.health() == "SERVING", "the ledger is healthy")

    def health(self) -> str:
        """Give what its health service says; empty while it does not answer."""
        with grpc.insecure_channel(self.address) as channel:
            check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(CHECK)
            try:
                data = check(health_pb2.HealthCheckRequest().SerializeToString(), timeout=1.0)
            except grpc.RpcError:
                return ""
        answer = health_pb2.HealthCheckResponse.FromString(data)
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))

    def kill(self) -> None:
        """Kill it without a word, and start it again."""
        self.program.signal(signal.SIGKILL)
        self.program.ended()
        self.start()

    def restart(self) -> Done:
        """Stop it in order, and start it again."""
        done = self.program.stop()
        self.start()
        return done

    def close(self) -> None:
        """End it."""
        if self._program is not None:
            self._program.__exit__(None, None, None)


@contextmanager
def ledger_service(
    home: Path, database_url: str, command: tuple[str | Path, ...] = KNOWING
) -> Iterator[LedgerProcess]:
    """Run the service while the block runs; healthy when it begins."""
    service = LedgerProcess(command, home, database_url)
    service.start()
    try:
        service.until_healthy()
        yield service
    finally:
        service.close()
