"""Children of the benchmark: how they begin, say where they listen, and end with their parent."""

import asyncio
import json
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES_MAX = 65_536
"""A thousand streams are two thousand sockets in a proxy."""

END_WITHIN_S = 3.0
"""A child has nothing to finish; one that does not end is killed."""

Cpus = Collection[int]
"""Processors by number; none means all."""

ROOT = Path(__file__).parents[2]


def allow_many_files() -> None:
    """Raise the limit of open files as far as this user may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def say(**facts: object) -> None:
    """Tell the parent something, as one line of JSON."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def run_until_told(listen: Callable[[], Awaitable[int]]) -> None:
    """Listen, say the port, and serve until standard input ends."""
    allow_many_files()
    say(port=await listen())
    async for _ in commands():
        pass


async def commands() -> AsyncIterator[dict[str, Any]]:
    """Yield what the parent says, line by line, until it closes our input, which its death does too."""
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


@dataclass(frozen=True, slots=True)
class Child:
    """A started child and the facts it said first."""

    process: subprocess.Popen[str]
    facts: dict[str, object]

    @property
    def port(self) -> int:
        """Where it listens."""
        port = self.facts["port"]
        assert isinstance(port, int)
        return port

    def ask(self, **command: object) -> dict[str, object]:
        """Send one line of JSON, give the line that answers it."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return read_line(self.process)


def read_line(process: subprocess.Popen[str]) -> dict[str, object]:
    """Read what a child says.

    Raises:
        RuntimeError: it ended instead.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args!r} ended early, exit code {process.wait()}")
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


@contextmanager
def child(module: str, *arguments: str, cpus: Cpus = ()) -> Iterator[Child]:
    """Run a module of ours in a process of its own, on these processors."""
    command = [sys.executable, "-m", module, *arguments]
    with started(command, cpus, output=subprocess.PIPE) as process:
        yield Child(process, read_line(process))


@contextmanager
def started(
    command: Sequence[str], cpus: Cpus = (), *, output: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and end it with the block; a pipe for its output must be read."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus or before)  # a child inherits it
    try:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=output, text=True)
    finally:
        os.sched_setaffinity(0, before)
    with process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
