"""One container, run by testcontainers: started, frozen, killed, started again, removed; each in a thread.

It uses the network of this machine, so that its server listens on loopback alone and keeps its port when it starts
again, which a published port does not. We remove it ourselves: the cleaner that testcontainers would start beside
it is an image of its own, which may be out of reach. Not here: what is run (`contained.py`).
"""

import asyncio
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container as Engine
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient, get_docker_host

from chaos.services.service import ServiceFailed, Unavailable

CALL_TIMEOUT_S = 60
"""One request to the engine; while it pulls an image it says something every few seconds."""

DEADLINE_S = 300.0
"""All of one act; the longest is pulling an image on a slow line."""

PING_TIMEOUT_S = 5
"""An engine of this machine answers at once, and a socket without one refuses."""

NAME_PREFIX = "ktms-chaos-"
"""Of every container's name: the only trace by which those of a run that was killed are found."""

LAST_WORDS_LINES = 3
"""What a server prints as it ends: the last line often says only that it ends, the reason stands before."""

SOCKET = "unix://"
DEFAULT_ENGINE = f"{SOCKET}/var/run/docker.sock"
"""Where an engine listens that nobody has named."""

RUNS = {"running", "paused"}
"""The engine's names of states in which there are processes to end."""

testcontainers_config.ryuk_disabled = True  # as TESTCONTAINERS_RYUK_DISABLED does


def engine_missing() -> str | None:
    """Say why no container can be run, None when a Docker engine answers; blocks, so call it in a thread."""
    url = get_docker_host() or DEFAULT_ENGINE
    try:
        _knock(url)
        client = DockerClient(timeout=PING_TIMEOUT_S).client
        try:
            client.ping()
        finally:
            client.close()
    except (DockerException, OSError) as error:
        return f"no Docker engine answers at {url} ({type(error).__name__}): start one, or name it by DOCKER_HOST"
    return None


def _knock(url: str) -> None:
    """Connect to the engine's socket: its client leaks one when there is nobody."""
    if url.startswith(SOCKET):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(PING_TIMEOUT_S)
            probe.connect(url.removeprefix(SOCKET))


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is run."""

    name: str
    image: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


class Container:
    """Nothing runs before `start`, and nothing is left after `remove`."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._name = f"{NAME_PREFIX}{secrets.token_hex(6)}"
        self._made: DockerContainer | None = None

    async def start(self) -> None:
        """Start it with all that its disk holds; the first time, and after `remove`, it is made anew.

        Raises:
            Unavailable: the image is not to be had.
            ServiceFailed: it cannot be started.
        """
        await self._act(self._make if self._made is None else self._engine().start)

    async def must_run(self) -> None:
        """Make sure that it has not ended, frozen or not.

        Raises:
            ServiceFailed: it has; the message ends with its last words.
        """
        await self._act(self._must_run)

    async def freeze(self) -> None:
        """Stop all its processes where they stand; harmless when none runs."""
        await self._act(self._freeze)

    async def thaw(self) -> None:
        """Let them go on; harmless when they do."""
        await self._act(self._thaw)

    async def kill(self) -> None:
        """End all its processes at once, frozen or not; returns when they are gone, harmless when they are."""
        await self._act(self._kill)

    async def remove(self) -> None:
        """End and remove it with its disk; harmless when there is none."""
        await self._act(self._remove)

    def _engine(self) -> Engine:
        assert self._made is not None, "started first"
        return self._made.get_wrapped_container()

    def _state(self) -> str:
        engine = self._engine()
        engine.reload()
        return str(engine.status)

    def _make(self) -> None:
        recipe = self._recipe
        made = DockerContainer(recipe.image, docker_client_kw={"timeout": CALL_TIMEOUT_S})
        made.with_name(self._name).with_command(list(recipe.command)).with_envs(**recipe.environment)
        made.with_kwargs(network="host")
        self._made = made  # before it starts: what is half made is removed too
        try:
            made.start()
        except APIError as error:
            self._remove()
            raise Unavailable(
                f"{recipe.name} cannot be made from the image {recipe.image} ({error.explanation}): "
                f"pull it, or name another one by KTMS_CHAOS_IMAGE_*"
            ) from error

    def _must_run(self) -> None:
        if self._state() in RUNS:
            return
        # No secret: a server that ends as it starts takes its password with it.
        lines = self._engine().logs(tail=LAST_WORDS_LINES).decode(errors="replace").strip().splitlines()
        said = "; ".join(line.strip() for line in lines) or "it says nothing"
        raise ServiceFailed(f"{self._recipe.name} has ended: {said}")

    def _freeze(self) -> None:
        if self._state() == "running":
            self._engine().pause()

    def _thaw(self) -> None:
        if self._state() == "paused":
            self._engine().unpause()

    def _kill(self) -> None:
        if self._state() in RUNS:
            self._engine().kill()
            self._engine().wait(timeout=CALL_TIMEOUT_S)

    def _remove(self) -> None:
        """By name: an engine that answered too late has made one that nobody here has heard of."""
        if self._made is None:
            return
        client = self._made.get_docker_client().client
        with suppress(NotFound):
            client.api.remove_container(self._name, v=True, force=True)
        client.close()
        self._made = None

    async def _act(self, act: Callable[[], object]) -> None:
        """Do it in a thread that is waited for even when we are cancelled: it may be making a container."""
        acting = asyncio.get_running_loop().run_in_executor(None, act)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await asyncio.shield(acting)
        except (DockerException, OSError) as error:
            why = error.explanation if isinstance(error, APIError) else type(error).__name__
            raise ServiceFailed(f"{self._recipe.name}: the Docker engine fails ({why})") from error
        finally:
            await asyncio.wait([acting], timeout=CALL_TIMEOUT_S)
